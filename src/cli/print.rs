//! Standard output, of which `print!` panics where nobody reads it any more or a disk is full.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes what was asked for.
pub fn print(text: impl Display) -> io::Result<()> {
    write!(io::stdout(), "{text}")
}
