//! What verbs print: `print!` and `eprintln!` panic where nobody reads any more or a disk is full.

use std::fmt::Display;
use std::io::{self, Write as _};

use crate::report::outside::line;
use crate::report::terminal::{can_redraw, standard_error, standard_output};
use crate::session::remote::{Occasion, Tell};

/// Writes what was asked for to standard output.
///
/// # Errors
/// It takes no more: a full disk. A reader that is gone is none.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut stream = standard_output();
    write!(stream, "{text}")?;
    stream.flush()
}

/// A line on standard error. That it takes none is nothing that could be said anywhere.
pub fn say(line: impl Display) {
    drop(writeln!(standard_error(), "{line}"));
}

/// Says what a session is to tell people while it goes on, and may be drawing its progress there:
/// that is left as it stands. What is said of an app that is put back is no progress, and is said
/// where that is not wanted, too.
pub fn telling(is_quiet: bool) -> Tell {
    Box::new(move |occasion: Occasion, text: &str| {
        if !is_quiet || occasion == Occasion::PuttingBack {
            let apart = if can_redraw() && !is_quiet { "\n" } else { "" };
            say(format!("{apart}{}", line(text)));
        }
    })
}
