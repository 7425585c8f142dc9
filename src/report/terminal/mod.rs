//! A session as it goes, on a terminal ([`Live`]) or where there is none ([`Plain`]).
//!
//! In: events. Out: what is noteworthy and a progress line on one channel, the decision on another.
//! Writes to the channels it is given and nowhere else.

mod channel;
mod line;
mod lines;
mod live;
mod plain;
mod stream;
pub mod watch;

use super::story::Stored;
use super::{Language, Reporter};
pub use channel::{Channel, can_redraw, standard_output_size};
pub use line::ProgressLine;
pub use lines::server_words;
pub use live::Live;
pub use plain::Plain;
pub use stream::{standard_error, standard_output};

/// What the user wants to see while a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Progress on standard error, the decision on standard output.
    Everything,
    /// Standard output is for something else, such as JSON: all goes to standard error.
    NothingOnStandardOutput,
    /// The decision alone, on standard output.
    Quiet,
}

/// The reporter for this program's own standard streams: [`Live`] when standard error is a
/// terminal.
pub fn for_standard_streams(
    wanted: Wanted,
    stored: Option<Stored>,
    language: Language,
) -> Box<dyn Reporter> {
    let (progress, result) = match wanted {
        Wanted::Everything => (Channel::standard_error(), Channel::standard_output()),
        Wanted::NothingOnStandardOutput => (Channel::standard_error(), Channel::standard_error()),
        Wanted::Quiet => (Channel::nowhere(), Channel::standard_output()),
    };
    let (progress, result) = (progress.in_language(language), result.in_language(language));
    let shows_progress = matches!(wanted, Wanted::Everything | Wanted::NothingOnStandardOutput);
    if shows_progress && can_redraw() {
        Box::new(Live::new(progress, result, stored))
    } else {
        Box::new(Plain::new(progress, result, stored))
    }
}
