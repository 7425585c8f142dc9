//! A trial as text, as it stands in a report and as it ends.
//!
//! In: a [`TrialLine`]. Out: lines that keep to the style's width. Computes only.

use super::{Style, sparkline};
use crate::report::document::TrialLine;
use crate::report::outside::{line, pad, pad_left, truncate, width, wrap};
use crate::report::story::Outcome;

/// Columns that a trial's figures take before its seconds: `   271/s answered  p95 912 ms`.
const FIGURES: usize = 28;

/// One trial in a line; a second says why when it could not be decided.
pub fn trial(trial: &TrialLine, style: Style) -> Vec<String> {
    let (say, labels) = (style.language.phrases(), style.language.labels());
    let padded = pad(say.outcome(trial.outcome), 13);
    let painted = match trial.outcome {
        Outcome::Held => style.green(&padded),
        Outcome::Measured => padded,
        Outcome::DidNotHold => style.yellow(&padded),
        Outcome::Undecided => style.dim(&padded),
        _ => style.red(&padded),
    };
    // `16 x 16`, or `16 workers`.
    let columns = if trial.has_threads { 7 } else { 3 + width(labels.workers) };
    let configuration = pad(&trial.configuration, columns);
    // What stands before: id, configuration, purpose, load, outcome, and the spaces between.
    let rest = style.columns() - (4 + 2 + columns + 2 + 8 + 2 + 10 + 2 + 13);
    let figures = match &trial.answered {
        None => labels.no_reply.to_string(),
        Some((rate, [_, p95, _])) => say.answered(&pad_left(rate, 7), p95),
    };
    let figures = truncate(&figures, rest);
    let seconds = seconds(trial, rest.saturating_sub(FIGURES), style);
    let figures = if seconds.is_empty() { figures } else { pad(&figures, FIGURES) };
    let mut text = vec![format!(
        "{}  {configuration}  {}  {}  {painted}{figures}{seconds}",
        pad_left(&trial.id.to_string(), 4),
        pad(trial.purpose, 8),
        pad_left(&trial.load, 10),
    )];
    if let Some(doubt) = &trial.doubt {
        let parts = wrap(doubt, style.columns().saturating_sub(6));
        text.extend(parts.iter().map(|part| style.dim(&format!("      {part}"))));
    }
    if let Some(changes) = &trial.changes {
        let with = format!("     {}", say.with("", changes));
        text.push(style.dim(&truncate(&line(&with), style.columns())));
    }
    text
}

/// The measured seconds of a trial as sparklines, as far as `columns` suffice.
fn seconds(trial: &TrialLine, columns: usize, style: Style) -> String {
    let mut text = String::new();
    for (at, values) in trial.seconds.iter().enumerate() {
        if values.len() > 1 && columns >= (at + 1) * (2 + sparkline::COLUMNS) {
            text.push_str(&format!("  {}", style.dim(&sparkline::draw(values))));
        }
    }
    text
}
