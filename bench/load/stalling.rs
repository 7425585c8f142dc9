//! A server that stands still for one second in every ten, to see who notices.
//!
//! In: nothing. Out: a URL on loopback and a count. It has ended when it is dropped.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot::{Sender, channel};

use crate::common::Result;

/// From the beginning of one stall to that of the next; the first comes after half of it.
const PERIOD: Duration = Duration::from_secs(10);
/// How long it stands still.
const STALL: Duration = Duration::from_secs(1);

/// A running server, whose first stall begins five seconds after its start.
pub struct Stalling {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stalling {
    pub fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicU64::new(0));
        let (seen, began) = (requests.clone(), Instant::now());
        let app = Router::new().route("/", get(move || answer(seen.clone(), began)));
        let (end, ended) = channel();
        let serve = async move {
            tokio::select! {
                _ = axum::serve(listener, app) => {}
                _ = ended => {}
            }
        };
        let thread = Some(thread::spawn(move || runtime.block_on(serve)));
        Ok(Self { address, requests, end: Some(end), thread })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It only fails by a panic, which has told of itself.
            drop(thread.join());
        }
    }
}

async fn answer(seen: Arc<AtomicU64>, began: Instant) -> &'static str {
    seen.fetch_add(1, Ordering::Relaxed);
    let phase = (began.elapsed() + PERIOD / 2).as_secs_f64() % PERIOD.as_secs_f64();
    let left = Duration::from_secs_f64((STALL.as_secs_f64() - phase).max(0.0));
    if !left.is_zero() {
        tokio::time::sleep(left).await;
    }
    "hello world"
}
