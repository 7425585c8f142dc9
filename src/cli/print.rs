//! What verbs print: `print!` and `eprintln!` panic where nobody reads any more or a disk is full.

use std::fmt::Display;
use std::io::{self, Write as _};

use crate::report::terminal::{standard_error, standard_output};

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
