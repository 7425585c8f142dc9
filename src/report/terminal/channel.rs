//! A stream that is written to, and how it may look there.
//!
//! In: what the terminal says of itself, and the environment. Out: lines on the stream it is given.

use std::io::{self, IsTerminal, Write};

use super::stream::{standard_error, standard_output};
use crate::report::{Language, Style};

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
        Self {
            style: style_of(io::stdout().is_terminal(), libc::STDOUT_FILENO),
            writer: Box::new(standard_output()),
        }
    }

    /// Standard error; colours on a terminal unless `NO_COLOR` is set.
    pub fn standard_error() -> Self {
        Self {
            style: style_of(io::stderr().is_terminal(), libc::STDERR_FILENO),
            writer: Box::new(standard_error()),
        }
    }

    /// Writes there too, in a language.
    pub fn in_language(self, language: Language) -> Self {
        Self { style: Style { language, ..self.style }, ..self }
    }

    /// Writes full lines.
    pub fn print(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            writeln!(self.writer, "{line}")?;
        }
        self.writer.flush()
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
