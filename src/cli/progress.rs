//! What goes on, on standard error: of a load, of a comparison of revisions.

use std::io::Write as _;

use super::say;
use crate::report::terminal::{Channel, ProgressLine, can_redraw};

/// One line that is redrawn on a terminal, and lines that stay. A closed standard error must not
/// end what is measured, so that what cannot be written is dropped.
pub enum Progress {
    Nothing,
    Line(ProgressLine),
    Lines,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        match () {
            () if is_quiet => Self::Nothing,
            () if can_redraw() => Self::Line(ProgressLine::on(Channel::standard_error())),
            () => Self::Lines,
        }
    }

    /// What is drawn over, and shown nowhere but on a terminal.
    pub fn draw(&mut self, text: &str) {
        if let Self::Line(line) = self {
            drop(line.show(text));
        }
    }

    /// As [`draw`](Self::draw), and elsewhere a line that stays.
    pub fn draw_or_say(&mut self, text: &str) {
        match self {
            Self::Line(_) => self.draw(text),
            Self::Nothing | Self::Lines => self.say(text),
        }
    }

    /// A line that stays.
    pub fn say(&mut self, text: &str) {
        match self {
            Self::Nothing => {}
            Self::Line(line) => {
                drop(line.clear().and_then(|to| writeln!(to.writer, "{text}")));
            }
            Self::Lines => say(text),
        }
    }
}
