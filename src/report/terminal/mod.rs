//! A session as it goes, on a terminal ([`Live`]) or where there is none ([`Plain`]).
//!
//! In: events. Out: what is noteworthy and a progress line on one channel, the decision on another.
//! Writes to the channels it is given and nowhere else.

mod line;
mod live;
mod plain;
pub mod watch;

use std::io::{self, IsTerminal, Write};

use super::document::{self, knobs, tables};
use super::render::text;
use super::story::{Stored, Story};
use super::{Language, Reporter, Style, decision};
use crate::terms::{Event, EventKind};
pub use line::ProgressLine;
pub use live::Live;
pub use plain::Plain;

/// Where to write, and how it may look there.
pub struct Channel {
    pub writer: Box<dyn Write + Send>,
    pub style: Style,
}

impl Channel {
    /// Writes nowhere.
    pub fn nowhere() -> Self {
        Self { writer: Box::new(io::sink()), style: Style::PLAIN }
    }

    /// Standard output; colours on a terminal unless `NO_COLOR` is set.
    pub fn standard_output() -> Self {
        let stdout = io::stdout();
        Self {
            style: style_of(stdout.is_terminal(), libc::STDOUT_FILENO),
            writer: Box::new(stdout),
        }
    }

    /// Standard error; colours on a terminal unless `NO_COLOR` is set.
    pub fn standard_error() -> Self {
        let stderr = io::stderr();
        Self {
            style: style_of(stderr.is_terminal(), libc::STDERR_FILENO),
            writer: Box::new(stderr),
        }
    }

    /// Writes there too, in a language.
    pub fn in_language(self, language: Language) -> Self {
        Self { style: Style { language, ..self.style }, ..self }
    }

    fn print(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            writeln!(self.writer, "{line}")?;
        }
        self.writer.flush()
    }
}

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

/// Is standard error a terminal on which a line can be drawn over itself?
pub fn can_redraw() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

fn style_of(is_terminal: bool, descriptor: libc::c_int) -> Style {
    if !is_terminal {
        return Style::PLAIN;
    }
    // https://no-color.org: any value that is not empty.
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (columns, _) = terminal_size(descriptor);
    let colour = !is_refused && !is_dumb();
    Style { colour, width: columns.clamp(40, 100), ..Style::PLAIN }
}

/// Columns and lines of the terminal on standard output, as far as it says; else 80 and 24.
pub fn standard_output_size() -> (u16, u16) {
    terminal_size(libc::STDOUT_FILENO)
}

fn terminal_size(descriptor: libc::c_int) -> (u16, u16) {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel fills the structure, which is ours; on failure it stays as it is.
    unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    let or = |value: u16, otherwise: u16| if value == 0 { otherwise } else { value };
    (or(size.ws_col, 80), or(size.ws_row, 24))
}

/// What both kinds say in full lines as it happens: plan, doubts, trials, failures.
fn noteworthy(story: &Story, event: &Event, style: Style) -> Vec<String> {
    let language = style.language;
    match &event.kind {
        EventKind::SessionStarted { .. } => {
            let mut lines = text::text(&document::plan_alone(story, language), style);
            lines.push(String::new());
            lines
        }
        EventKind::Resumed { session, trials } => {
            vec![language.phrases().taking_up(*session, *trials)]
        }
        EventKind::Warned(warning) => {
            text::labelled(language.labels().warning, &language.say_warning(warning), style)
        }
        EventKind::BootFailed { configuration, variant, failure } => {
            let what = knobs::did_not_start(story, *configuration, *variant, failure, language);
            text::failure(&what, &failure.last_lines, style)
        }
        EventKind::TrialFinished { summary, .. } => {
            text::trial(&tables::trial(story, summary, language), style)
        }
        _ => Vec::new(),
    }
}

/// The decision, set off from the progress above it.
fn conclude(progress: &mut Channel, result: &mut Channel, story: &Story) -> io::Result<()> {
    progress.print(&[String::new()])?;
    let style = result.style;
    result.print(&decision(story, style))
}
