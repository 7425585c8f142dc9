//! A session that was killed goes on: its stored trials are given to a new search, which thereby
//! comes to the same state.

use crate::search::{Search, SearchPlan, Told};
use crate::store::{SessionId, Store, StoreError};
use crate::terms::{Event, EventKind, TrialSummary, Warning};

/// What is known of the session that goes on.
pub struct Resumed {
    pub session: SessionId,
    pub search: Search,
    /// All its events so far.
    pub events: Vec<Event>,
    /// Its clock at the last of them, seconds.
    pub at_s: f64,
    /// Its trials, oldest first.
    pub finished: Vec<TrialSummary>,
    pub warned: Vec<Warning>,
}

/// The newest unfinished session of this plan that has trials and whose trials fit this program's
/// search, with that search brought up to date; `None` when there is none.
///
/// # Errors
/// The store cannot be read.
pub fn find(
    store: &Store,
    fingerprint: &str,
    plan: &SearchPlan,
) -> Result<Option<Resumed>, StoreError> {
    for session in store.unfinished(fingerprint)? {
        let resumed = resumed(session, store.events(session)?, plan);
        if resumed.is_some() {
            return Ok(resumed);
        }
    }
    Ok(None)
}

/// A session with these events, as it goes on; `None` when it has no trial or does not fit.
fn resumed(session: SessionId, events: Vec<Event>, plan: &SearchPlan) -> Option<Resumed> {
    let finished: Vec<TrialSummary> = events.iter().filter_map(trial).cloned().collect();
    if finished.is_empty() {
        return None;
    }
    let search = replay(&events, plan)?;
    Some(Resumed {
        session,
        at_s: events.last().map_or(0.0, |event| event.at_s),
        finished,
        warned: events.iter().filter_map(warning).cloned().collect(),
        search,
        events,
    })
}

/// The search after it was given what the events hold; `None` when it would have asked for
/// something else (another version of this program chose the trials).
pub fn replay(events: &[Event], plan: &SearchPlan) -> Option<Search> {
    let mut search = Search::new(plan.clone());
    for event in events {
        let told = match &event.kind {
            EventKind::TrialFinished { summary, .. } => Told::Trial(summary.clone()),
            EventKind::BootFailed { configuration, failure, .. } => Told::BootFailed {
                configuration: *configuration,
                reason: failure.message.clone(),
                ended_s: event.at_s,
            },
            _ => continue,
        };
        let request = *search.ask().first()?;
        let asked = (request.configuration, request.variant);
        let fits = match &event.kind {
            EventKind::TrialFinished { summary, .. } => {
                (summary.configuration, summary.variant) == asked
                    && summary.purpose == request.purpose
            }
            EventKind::BootFailed { configuration, variant, .. } => {
                (*configuration, *variant) == asked
            }
            _ => false,
        };
        if !fits {
            return None;
        }
        search.tell(told);
    }
    Some(search)
}

fn trial(event: &Event) -> Option<&TrialSummary> {
    match &event.kind {
        EventKind::TrialFinished { summary, .. } => Some(summary),
        _ => None,
    }
}

fn warning(event: &Event) -> Option<&Warning> {
    match &event.kind {
        EventKind::Warned(warning) => Some(warning),
        _ => None,
    }
}
