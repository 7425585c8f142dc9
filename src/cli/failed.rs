//! What is printed when a verb fails.
//!
//! In: its error. Out: lines on standard error: ours, then the last that the server itself said,
//! and what to do.

use super::say;
use crate::report::outside::lines;
use crate::report::terminal::{Channel, server_words};
use crate::session::unusable::words_of;

pub fn print(error: &anyhow::Error) {
    // What an app, a server or a file said may be part of it.
    say(lines(&format!("sweetspot: {}", with_causes(error))).join("\n"));
    let Some((last_lines, advice)) = words_of(error.as_ref()) else { return };
    let mut channel = Channel::standard_error();
    // Nobody is left to be told that standard error takes nothing.
    let _ = channel.print(&server_words(last_lines, &advice, channel.style));
}

/// The error with what caused it; a cause whose text an error before it has already stands once.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let joint = if text.is_empty() { "" } else { ": " };
            text += joint;
            text += &cause;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("could not write a.md: {source}")]
        WithCause { source: io::Error },
        #[error("could not write a.md")]
        Alone { source: io::Error },
    }

    #[test]
    fn a_cause_is_said_once_whether_or_not_its_error_says_it_too() {
        let source = || io::Error::other("no room");
        let expected = "could not write a.md: no room";
        for failed in [Failed::WithCause { source: source() }, Failed::Alone { source: source() }] {
            assert_eq!(with_causes(&failed.into()), expected);
        }
        let told = Err::<(), _>(Failed::WithCause { source: source() }).context("nothing done");
        assert_eq!(with_causes(&told.unwrap_err()), format!("nothing done: {expected}"));
    }
}
