//! What `sweetspot sessions` does: the list of what is stored, one session shown, one removed.
//!
//! In: a store. Out: text or JSON. Must not measure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::{ReportError, Which, find};
use crate::report::outside::{self, pad};
use crate::report::{self, Style};
use crate::server;
use crate::store::{SessionRow, Store};
use crate::terms::{Configuration, Decision, SessionState, code};

/// How a stored session stands, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    Running,
    /// Its program died before the session ended; `tune` takes it up.
    Interrupted,
    Done,
    Stopped,
    Failed,
}

/// One entry of `sessions list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionEntry {
    pub id: i64,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The app's folder.
    pub app: String,
    pub server: String,
    pub state: ListedState,
    /// The session whose recommendation it verifies; null for one that looks for one itself.
    pub verifies: Option<i64>,
    /// Null while there is none; of a session that verifies another, that one's decision with what
    /// it holds now.
    pub decision: Option<Decision>,
    /// Why not all of it can be read: which row of which table is damaged, or that a newer version
    /// wrote it; what is damaged of this entry is empty then. Null where all of it can be listed.
    pub error: Option<String>,
}

impl From<SessionRow> for SessionEntry {
    fn from(row: SessionRow) -> Self {
        let state = match row.state {
            SessionState::Running if row.is_alive => ListedState::Running,
            SessionState::Running => ListedState::Interrupted,
            SessionState::Done => ListedState::Done,
            SessionState::Stopped => ListedState::Stopped,
            SessionState::Failed => ListedState::Failed,
        };
        Self {
            id: row.id.0,
            started_at: row.started_at,
            app: row.head.app,
            server: row.head.server,
            state,
            verifies: row.verifies,
            decision: row.decision,
            error: row.fault.map(|fault| fault.message),
        }
    }
}

/// All sessions, newest first.
///
/// # Errors
/// The store cannot be read.
pub fn list(store: &Store) -> Result<Vec<SessionEntry>, ReportError> {
    Ok(store.sessions()?.into_iter().map(SessionEntry::from).collect())
}

/// Removes a session and returns its number.
///
/// # Errors
/// No such session, one that is being written, or a store that cannot be written.
pub fn remove(store: &mut Store, which: Which) -> Result<i64, ReportError> {
    let id = find(store, which)?.id;
    store.remove(id)?;
    Ok(id.0)
}

/// The list as JSON, with a line end.
pub fn list_json(entries: &[SessionEntry]) -> String {
    report::json::render(entries)
}

/// The list as a table that keeps to the style's width; the app's folder gives way.
pub fn list_text(entries: &[SessionEntry], style: Style) -> String {
    if entries.is_empty() {
        return "no session is stored here yet; 'sweetspot tune' makes one\n".to_string();
    }
    let head = ["id", "started (UTC)", "state", "server", "decision", "app"].map(String::from);
    let mut rows = vec![head];
    rows.extend(entries.iter().map(cells));
    let widths: Vec<usize> = (0..5)
        .map(|at| rows.iter().map(|row| outside::width(&row[at])).max().unwrap_or(0))
        .collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let rest = usize::from(style.width).saturating_sub(taken).max(10);
    let mut text = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&pad(cell, *width));
            text.push_str("  ");
        }
        text.push_str(&outside::shorten(&row[5], rest));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    for entry in entries {
        let Some(error) = &entry.error else { continue };
        let said = format!("\nsession {}: {}\n", entry.id, outside::line(error));
        text.push_str(&said);
    }
    text
}

fn cells(entry: &SessionEntry) -> [String; 6] {
    // 2026-11-20T18:46:44Z: to the minute is enough in a list.
    let started: String = entry.started_at.replace('T', " ").chars().take(16).collect();
    [
        entry.id.to_string(),
        outside::line(&started),
        entry.error.as_ref().map_or_else(|| code(&entry.state), |_| "unreadable".to_string()),
        outside::truncate(&outside::line(&entry.server), 12),
        decided(entry),
        outside::line(&entry.app),
    ]
}

/// What it decided, or of which session it asked whether that decided rightly.
pub fn decided(entry: &SessionEntry) -> String {
    let decision = entry.decision.as_ref().map(|found| in_short(entry, found));
    match (entry.verifies, decision) {
        (Some(session), Some(decision)) => format!("of {session} again: {decision}"),
        (Some(session), None) => format!("of {session} again"),
        (None, decision) => decision.unwrap_or_else(|| "-".to_string()),
    }
}

fn in_short(entry: &SessionEntry, decision: &Decision) -> String {
    let server = entry.server.split_whitespace().next().unwrap_or_default();
    let has_threads = server::find(server).is_none_or(|adapter| adapter.about().has_threads);
    let name = match Configuration::new(decision.workers, decision.threads) {
        Ok(configuration) if !has_threads => configuration.in_workers(),
        _ => format!("{} x {}", decision.workers, decision.threads),
    };
    report::in_short(&name, decision)
}
