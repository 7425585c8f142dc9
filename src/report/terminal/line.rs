//! One line of a terminal that is drawn over itself, below full lines that stay.

use std::io::{self, Write};

use super::Channel;
use crate::report::Language;
use crate::report::outside::truncate;

/// The line, and the channel it is on. Dropping it clears it.
pub struct ProgressLine {
    channel: Channel,
    is_shown: bool,
}

impl ProgressLine {
    /// Nothing is shown yet.
    pub fn on(channel: Channel) -> Self {
        Self { channel, is_shown: false }
    }

    /// Columns that it may take.
    pub fn columns(&self) -> usize {
        usize::from(self.channel.style.width)
    }

    /// In which language it is.
    pub fn language(&self) -> Language {
        self.channel.style.language
    }

    /// Draws the line over itself. Wrapping is off meanwhile, so that a terminal that was made
    /// narrower cuts the line instead of leaving its rest behind.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        let text = truncate(text, self.columns().saturating_sub(1));
        write!(self.channel.writer, "\r\u{1b}[2K\u{1b}[?7l{text}\u{1b}[?7h")?;
        self.is_shown = true;
        self.channel.writer.flush()
    }

    /// Takes it away, and gives the channel for full lines.
    pub fn clear(&mut self) -> io::Result<&mut Channel> {
        if self.is_shown {
            write!(self.channel.writer, "\r\u{1b}[2K")?;
            self.channel.writer.flush()?;
            self.is_shown = false;
        }
        Ok(&mut self.channel)
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        // Nothing more can be done for a terminal that is gone.
        let _ = self.clear();
    }
}
