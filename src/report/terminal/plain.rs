//! For pipes, logs and CI: plain lines, one per noteworthy event, nothing ever drawn over.

use std::io;

use super::{Channel, conclude, noteworthy};
use crate::report::Reporter;
use crate::report::figures;
use crate::report::knob_words;
use crate::report::story::{Stored, Story};
use crate::report::words;
use crate::terms::{Event, EventKind};

/// Plain lines.
pub struct Plain {
    progress: Channel,
    result: Channel,
    story: Story,
}

impl Plain {
    /// `progress` gets a line for each noteworthy event, `result` the decision at the end.
    pub fn new(progress: Channel, result: Channel, stored: Option<Stored>) -> Self {
        Self { progress, result, story: Story { stored, ..Story::default() } }
    }
}

impl Reporter for Plain {
    fn take(&mut self, event: &Event) -> io::Result<()> {
        self.story.take(event);
        let style = self.progress.style;
        let lines = match &event.kind {
            EventKind::Second(_) => return Ok(()),
            EventKind::ServerStarting { configuration, variant, .. } => {
                vec![format!(
                    "starting the server with {}",
                    knob_words::name(&self.story, *configuration, *variant)
                )]
            }
            EventKind::TrialStarted {
                id,
                purpose,
                configuration,
                variant,
                offered,
                duration,
                left,
            } => {
                let left = left
                    .map(|left| format!("; about {} left", figures::span(left.as_secs_f64())))
                    .unwrap_or_default();
                vec![format!(
                    "trial {id}: {}, {}, {} for {}{left}",
                    knob_words::name(&self.story, *configuration, *variant),
                    words::purpose(*purpose),
                    words::offered(offered),
                    figures::span(duration.as_secs_f64())
                )]
            }
            EventKind::SessionEnded { .. } => {
                return conclude(&mut self.progress, &mut self.result, &self.story);
            }
            _ => noteworthy(&self.story, event, style),
        };
        self.progress.print(&lines)
    }
}
