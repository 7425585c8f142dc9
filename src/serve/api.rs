//! What the page asks for once, as JSON.

use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::served::{Kept, Served};
use crate::report::facts::with_sentences;
use crate::report::page::{self, ComparePage, Content, Page};
use crate::session::compare::{self, Source};
use crate::session::predict::{self, Places};
use crate::session::report::{ReportError, Which, replay_readable};
use crate::session::sessions::{self, SessionEntry};
use crate::store::{SessionId, Store, StoreError, StoreErrorKind};
use crate::terms::SessionState;

/// Why a question has no answer, as the page shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failure {
    error: String,
    #[serde(skip)]
    status: StatusCode,
}

impl Failure {
    fn new(status: StatusCode, error: impl ToString) -> Self {
        Self { error: error.to_string(), status }
    }

    /// Something of ours went wrong.
    pub fn broken(error: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    fn asked_wrongly(error: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let status = match error.kind {
            StoreErrorKind::NoSuchSession | StoreErrorKind::Missing => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Store(error) => error.into(),
            other => Self::new(StatusCode::NOT_FOUND, other),
        }
    }
}

impl Served {
    /// The session as it is now. Whoever moves a slider asks again and again, and putting a long
    /// session together takes longer than answering: the last one is kept.
    fn session(&self, session: SessionId) -> Result<Arc<Kept>, Failure> {
        let store = Store::open_existing(&self.store)?;
        let last_event = store.last_event(session)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &&Arc<Kept>| (it.session, it.last_event) == (session, last_event);
        if let Some(kept) = kept.as_ref().filter(is_it) {
            return Ok(Arc::clone(kept));
        }
        let story = replay_readable(&store, Which::Id(session))?;
        // While it is measured nothing else should take its cores.
        let has_ended = story.state != SessionState::Running;
        let predict = if has_ended { predict::usual_table(&story) } else { None };
        let new = Arc::new(Kept { session, last_event, story, predict });
        *kept = Some(Arc::clone(&new));
        Ok(new)
    }
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ListRow {
    id: i64,
    started_at: String,
    app: String,
    server: String,
    state: SessionState,
    pub is_alive: bool,
    /// What it decided, or why not all of it can be read.
    decision: Option<String>,
}

/// The list, newest first; empty as long as nothing was stored.
pub fn rows(store: &Store) -> Result<Vec<ListRow>, StoreError> {
    let said = |it: crate::store::SessionRow| match it.fault {
        Some(fault) => Some(fault.message),
        None => it.decision.is_some().then(|| sessions::decided(&SessionEntry::from(it))),
    };
    let row = |it: crate::store::SessionRow| ListRow {
        id: it.id.0,
        started_at: it.started_at.clone(),
        app: it.head.app.clone(),
        server: it.head.server.clone(),
        state: it.state,
        is_alive: it.is_alive,
        decision: said(it),
    };
    Ok(store.sessions()?.into_iter().map(row).collect())
}

/// Reading a store takes time that other requests need not wait for.
async fn answer<T: Send + 'static>(
    served: Arc<Served>,
    ask: impl FnOnce(&Served) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let answered = tokio::task::spawn_blocking(move || ask(&served)).await;
    answered.unwrap_or_else(|error| Err(Failure::broken(error)))
}

pub async fn sessions(State(served): State<Arc<Served>>) -> Result<Json<Vec<ListRow>>, Failure> {
    answer(served, |served| match Store::open_existing(&served.store) {
        Ok(store) => Ok(Json(rows(&store)?)),
        Err(error) if error.kind == StoreErrorKind::Missing => Ok(Json(Vec::new())),
        Err(error) => Err(error.into()),
    })
    .await
}

pub async fn session(
    State(served): State<Arc<Served>>,
    Path(id): Path<i64>,
) -> Result<Json<serde_json::Value>, Failure> {
    answer(served, move |served| {
        let kept = served.session(SessionId(id))?;
        let page = page::session(&kept.story, kept.predict.as_ref());
        Ok(Json(with_sentences(&Page::of(Content::Session(Box::new(page))))))
    })
    .await
}

/// Two sessions, by number.
#[derive(Debug, Deserialize)]
pub struct Two {
    a: String,
    b: String,
}

pub async fn compare(
    State(served): State<Arc<Served>>,
    Query(two): Query<Two>,
) -> Result<Json<serde_json::Value>, Failure> {
    let source = |text: &str| {
        let source = text.parse::<Source>().map_err(Failure::asked_wrongly)?;
        // A file of this machine is nothing that a page may ask for.
        match source.is_of_own_store() {
            true => Ok(source),
            false => Err(Failure::asked_wrongly(format!("'{text}' is no session"))),
        }
    };
    let (a, b) = (source(&two.a)?, source(&two.b)?);
    answer(served, move |served| {
        let question =
            compare::Question { a: &a, b: &b, store: &served.store, compares_machines: false };
        let report = compare::compare(&question).map_err(Failure::asked_wrongly)?;
        Ok(Json(with_sentences(&Page::of(Content::Compare(ComparePage::of(&report))))))
    })
    .await
}

/// Places of the sliders, as lists with commas.
#[derive(Debug, Deserialize)]
pub struct Sliders {
    session: i64,
    cores: String,
    wait: String,
    workers: String,
    threads: String,
}

/// More take longer than a slider may.
const PLACES_MOST: usize = 500;

pub async fn predict(
    State(served): State<Arc<Served>>,
    Query(sliders): Query<Sliders>,
) -> Result<Json<serde_json::Value>, Failure> {
    let places = Places {
        cores: list(&sliders.cores, |it: f64| (0.1..=1024.0).contains(&it))?,
        waits: list(&sliders.wait, |it: f64| (0.0..=1000.0).contains(&it))?,
        workers: list(&sliders.workers, |it: u16| it > 0)?,
        threads: list(&sliders.threads, |it: u16| it > 0)?,
    };
    let count = places.cores.len() * places.waits.len();
    if count * places.workers.len() * places.threads.len() > PLACES_MOST {
        return Err(Failure::asked_wrongly(format!("at most {PLACES_MOST} places at once")));
    }
    answer(served, move |served| {
        let kept = served.session(SessionId(sliders.session))?;
        let table = predict::table(&kept.story, &places).ok_or_else(|| {
            Failure::new(StatusCode::NOT_FOUND, "nothing can be fitted to this session")
        })?;
        Ok(Json(with_sentences(&page::predictions(&kept.story, &table))))
    })
    .await
}

fn list<T: std::str::FromStr + Copy>(
    text: &str,
    is_fit: impl Fn(T) -> bool,
) -> Result<Vec<T>, Failure> {
    let one = |part: &str| part.trim().parse::<T>().ok().filter(|&it| is_fit(it));
    let all: Option<Vec<T>> = text.split(',').map(one).collect();
    all.ok_or_else(|| Failure::asked_wrongly(format!("'{text}' is no list of such numbers")))
}
