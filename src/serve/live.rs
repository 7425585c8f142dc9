//! Server-sent events: what a session's program writes, handed on as it comes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream::poll_fn;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use super::api::Failure;
use super::follow::{Follower, Message};
use super::served::Served;
use crate::store::{SessionId, StoreError};

/// A second is shown before the next one has passed; looking costs a few microseconds.
const EVERY: Duration = Duration::from_millis(250);
/// Of messages that the browser has not taken yet; more are not read from the store.
const WAITING_MOST: usize = 64;

type Messages = Sse<axum::response::sse::KeepAliveStream<Boxed>>;
type Boxed = std::pin::Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>>;

/// One session, and the list. A browser that was cut off says which event it had last.
pub async fn session(
    State(served): State<Arc<Served>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Result<Messages, Failure> {
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok()?.parse().ok());
    let begun = tokio::task::spawn_blocking(move || {
        let mut follower = Follower::new(&served, SessionId(id), last.unwrap_or(0))?;
        let first = follower.look()?;
        Ok::<_, StoreError>((follower, first))
    });
    let (follower, first) = begun.await.map_err(Failure::broken)??;
    let (sender, mut receiver) = mpsc::channel(WAITING_MOST);
    tokio::spawn(follow(follower, first, sender));
    let messages: Boxed = Box::pin(poll_fn(move |context| receiver.poll_recv(context)));
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()))
}

/// Looks again and again, until the receiver is dropped or the store is gone.
async fn follow(
    mut follower: Follower,
    first: Vec<Message>,
    sender: mpsc::Sender<Result<Event, Infallible>>,
) {
    let mut messages = first;
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        for message in messages {
            if sender.send(Ok(event(&message))).await.is_err() {
                return;
            }
        }
        tokio::select! {
            _ = ticks.tick() => {}
            () = sender.closed() => return,
        }
        let looked = tokio::task::spawn_blocking(move || {
            let new = follower.look();
            (follower, new)
        });
        // Whoever listens sees the stream end, and asks anew.
        let Ok((same, Ok(new))) = looked.await else { return };
        (follower, messages) = (same, new);
    }
}

fn event(message: &Message) -> Event {
    let event = Event::default().event(message.name).data(message.data.to_string());
    if message.seq > 0 { event.id(message.seq.to_string()) } else { event }
}
