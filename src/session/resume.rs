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
    let (mut finished, mut warned) = (Vec::new(), Vec::new());
    for event in &events {
        match &event.kind {
            EventKind::TrialFinished { summary, .. } => finished.push(*summary.clone()),
            EventKind::Warned(warning) => warned.push(warning.clone()),
            _ => {}
        }
    }
    if finished.is_empty() {
        return None;
    }
    let search = replay(&events, plan)?;
    let at_s = events.last().map_or(0.0, |event| event.at_s);
    Some(Resumed { session, search, events, at_s, finished, warned })
}

/// The search after it was given what the events hold; `None` when it would have asked for
/// something else (another version of this program chose the trials).
pub fn replay(events: &[Event], plan: &SearchPlan) -> Option<Search> {
    let mut search = Search::new(plan.clone());
    for event in events {
        let (setting, purpose, told) = match &event.kind {
            EventKind::TrialFinished { summary, .. } => {
                let setting = (summary.configuration, summary.variant);
                (setting, Some(summary.purpose), Told::Trial(summary.clone()))
            }
            EventKind::BootFailed { configuration, variant, failure } => {
                let (reason, ended_s) = (failure.message.clone(), event.at_s);
                let told = Told::BootFailed { configuration: *configuration, reason, ended_s };
                ((*configuration, *variant), None, told)
            }
            _ => continue,
        };
        let request = *search.ask().first()?;
        let is_asked = setting == (request.configuration, request.variant)
            && purpose.is_none_or(|it| it == request.purpose);
        if !is_asked {
            return None;
        }
        search.tell(told);
    }
    Some(search)
}
