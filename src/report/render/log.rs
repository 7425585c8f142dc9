//! The last lines of a server's log as text.
//!
//! In: lines of a server. Out: lines that keep to the style's width. Computes only.

use super::Style;
use crate::report::outside::{line, truncate, width, wrap, wrap_log};

/// The last lines of a server's log that are shown.
const LOG_LINES: usize = 10;

/// Rows that one of them may take.
const ROWS_OF_A_LOG_LINE: usize = 3;

/// What failed, as it happens, and the last lines of its log.
pub fn failure(what: &str, last_lines: &[String], style: Style) -> Vec<String> {
    let what = wrap(what, style.columns());
    what.iter().map(|part| style.red(part)).chain(log(last_lines, style)).collect()
}

/// A server's own last lines, as text.
pub fn log(last_lines: &[String], style: Style) -> Vec<String> {
    let skipped = last_lines.len().saturating_sub(LOG_LINES);
    last_lines[skipped..]
        .iter()
        .flat_map(|l| log_line(&line(l), style))
        .map(|l| style.dim(&format!("    | {l}")))
        .collect()
}

/// What is wrong often stands at the end of a long line, so it goes on below.
fn log_line(text: &str, style: Style) -> Vec<String> {
    let columns = style.columns() - 6;
    if width(text) <= columns {
        return vec![text.to_string()];
    }
    let mut rows = wrap_log(text, columns - 2);
    if rows.len() > ROWS_OF_A_LOG_LINE {
        rows.truncate(ROWS_OF_A_LOG_LINE);
        if let Some(last) = rows.last_mut() {
            *last = truncate(&format!("{last} …"), columns - 2);
        }
    }
    rows.iter_mut().skip(1).for_each(|row| row.insert_str(0, "  "));
    rows
}
