//! For a terminal: finished trials as lines, and below them one line that shows the running one.

use std::io::{self, Write};
use std::time::Duration;

use super::{Channel, conclusion, noteworthy};
use crate::report::Reporter;
use crate::report::figures;
use crate::report::outside::truncate;
use crate::report::story::{Stored, Story};
use crate::report::words;
use crate::terms::{Event, EventKind, LiveSecond, Phase};

/// Lines above, a progress line below.
pub struct Live {
    progress: Channel,
    result: Channel,
    story: Story,
    running: Option<Running>,
    is_line_shown: bool,
}

/// The trial that runs.
struct Running {
    title: String,
    duration: Duration,
    left: Option<Duration>,
}

const BAR: usize = 8;

impl Live {
    /// `progress` gets finished trials and the progress line, `result` the decision at the end.
    pub fn new(progress: Channel, result: Channel, stored: Option<Stored>) -> Self {
        Self {
            progress,
            result,
            story: Story { stored, ..Story::default() },
            running: None,
            is_line_shown: false,
        }
    }

    /// Draws the progress line over itself. Wrapping is off meanwhile, so that a terminal that was made
    /// narrower cuts the line instead of leaving its rest behind.
    fn show(&mut self, text: &str) -> io::Result<()> {
        let text = truncate(text, usize::from(self.progress.style.width).saturating_sub(1));
        let text = self.progress.style.dim(&text);
        write!(self.progress.writer, "\r\u{1b}[2K\u{1b}[?7l{text}\u{1b}[?7h")?;
        self.is_line_shown = true;
        self.progress.writer.flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        if self.is_line_shown {
            write!(self.progress.writer, "\r\u{1b}[2K")?;
            self.progress.writer.flush()?;
            self.is_line_shown = false;
        }
        Ok(())
    }
}

impl Reporter for Live {
    fn take(&mut self, event: &Event) -> io::Result<()> {
        self.story.take(event);
        match &event.kind {
            EventKind::Second(second) => {
                let columns = usize::from(self.progress.style.width);
                match self.running.as_ref().map(|running| running.line(second, columns)) {
                    Some(line) => self.show(&line),
                    None => Ok(()),
                }
            }
            EventKind::ServerStarting { configuration, .. } => {
                self.running = None;
                self.show(&format!("starting the server with {configuration}"))
            }
            EventKind::TrialStarted { id, purpose, configuration, offered, duration, left } => {
                let title = format!(
                    "trial {id}  {configuration}  {} {}",
                    words::purpose(*purpose),
                    words::offered(offered)
                );
                self.show(&title)?;
                self.running = Some(Running { title, duration: *duration, left: *left });
                Ok(())
            }
            EventKind::SessionEnded { .. } => {
                self.clear()?;
                let style = self.result.style;
                self.result.print(&conclusion(&self.story, style))
            }
            _ => {
                self.clear()?;
                let style = self.progress.style;
                self.progress.print(&noteworthy(&self.story, event, style))
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Nothing more can be done for a terminal that is gone.
        let _ = self.clear();
    }
}

impl Running {
    /// The trial, how far it is, what happens now, and the time left; the bar goes first when it's tight.
    fn line(&self, second: &LiveSecond, columns: usize) -> String {
        let done = second.at.min(self.duration);
        let times = format!("{}/{}", figures::clock(done), figures::clock(self.duration));
        let mut parts = vec![self.title.clone(), self.bar(done), times];
        parts.push(match second.phase {
            Phase::WarmUp => format!("{}/s warming up", second.replies),
            Phase::Measure => format!("{}/s now", second.replies),
            Phase::Drain => "waiting for the last replies".to_string(),
        });
        if let Some(p95) = second.p95 {
            parts.push(format!("p95 {}", figures::latency(p95.as_secs_f64())));
        }
        if second.errors > 0 {
            parts.push(figures::count(second.errors, "error", "errors"));
        }
        if let Some(left) = self.left {
            parts.push(format!("{} left", figures::clock(left.saturating_sub(second.at))));
        }
        let line = parts.join("  ");
        if crate::report::outside::width(&line) < columns {
            return line;
        }
        parts.remove(1);
        parts.join("  ")
    }

    fn bar(&self, done: Duration) -> String {
        let share = done.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        let filled = ((share * BAR as f64).round() as usize).min(BAR);
        format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled))
    }
}
