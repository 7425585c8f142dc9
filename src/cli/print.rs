//! Standard output, of which `print!` panics where nobody reads it any more or a disk is full.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes what was asked for. A reader that is gone wanted no more, and hears the verdict from the
/// exit code.
pub fn print(text: impl Display) -> io::Result<()> {
    match say(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The same, for what has no use without a reader.
pub fn say(text: impl Display) -> io::Result<()> {
    write!(io::stdout(), "{text}")
}
