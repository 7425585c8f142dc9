//! For pipes, logs and CI: plain lines, one per noteworthy event, nothing ever drawn over.

use std::io;

use super::Channel;
use super::lines::{conclude, noteworthy};
use crate::report::Reporter;
use crate::report::document::knobs;
use crate::report::story::{Stored, Story};
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
        let (language, say) = (style.language, style.language.phrases());
        let lines = match &event.kind {
            EventKind::Second(_) => return Ok(()),
            EventKind::ServerStarting { configuration, variant, .. } => {
                let name = knobs::name(&self.story, *configuration, *variant, language);
                vec![say.starting(&name)]
            }
            started @ EventKind::TrialStarted { .. } => {
                knobs::trial_begins(&self.story, started, language).into_iter().collect()
            }
            EventKind::SessionEnded { .. } => {
                return conclude(&mut self.progress, &mut self.result, &self.story);
            }
            _ => noteworthy(&self.story, event, style),
        };
        self.progress.print(&lines)
    }
}
