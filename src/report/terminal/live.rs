//! For a terminal: finished trials as lines, and below them one line that shows the running one.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use super::lines::{conclude, noteworthy};
use super::{Channel, ProgressLine};
use crate::report::Reporter;
use crate::report::document::{knobs, names};
use crate::report::figures;
use crate::report::outside::width;
use crate::report::render::sparkline;
use crate::report::story::{Stored, Story};
use crate::report::wording::{Counted, Language};
use crate::terms::{Event, EventKind, LiveSecond, Phase};

/// Lines above, a progress line below.
pub struct Live {
    progress: ProgressLine,
    result: Channel,
    story: Story,
    running: Option<Running>,
}

/// The trial that runs.
struct Running {
    trial: String,
    purpose: &'static str,
    offered: String,
    duration: Duration,
    left: Option<Duration>,
    /// The last seconds' replies and p95 in seconds, oldest first.
    last: VecDeque<[f64; 2]>,
}

const BAR: usize = 8;

impl Live {
    /// `progress` gets finished trials and the progress line, `result` the decision at the end.
    pub fn new(progress: Channel, result: Channel, stored: Option<Stored>) -> Self {
        Self {
            progress: ProgressLine::on(progress),
            result,
            story: Story { stored, ..Story::default() },
            running: None,
        }
    }
}

impl Reporter for Live {
    fn take(&mut self, event: &Event) -> io::Result<()> {
        self.story.take(event);
        let language = self.progress.language();
        let say = language.phrases();
        match &event.kind {
            EventKind::Second(second) => {
                let columns = self.progress.columns();
                let Some(running) = &mut self.running else { return Ok(()) };
                let p95_s = second.p95.map_or(0.0, |p95| p95.as_secs_f64());
                running.last.push_back([second.replies as f64, p95_s]);
                if running.last.len() > sparkline::COLUMNS {
                    running.last.pop_front();
                }
                self.progress.show(&running.line(second, columns, language))
            }
            EventKind::ServerStarting { configuration, variant, .. } => {
                self.running = None;
                let name = knobs::name(&self.story, *configuration, *variant, language);
                self.progress.show(&say.starting(&name))
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
                let name = knobs::name(&self.story, *configuration, *variant, language);
                let running = Running {
                    trial: format!("{}  {name}", say.trial(*id)),
                    purpose: say.purpose(*purpose),
                    offered: names::offered(offered, language),
                    duration: *duration,
                    left: *left,
                    last: VecDeque::new(),
                };
                self.progress
                    .show(&format!("{}  {} {}", running.trial, running.purpose, running.offered))?;
                self.running = Some(running);
                Ok(())
            }
            EventKind::SessionEnded { .. } => {
                conclude(self.progress.clear()?, &mut self.result, &self.story)
            }
            _ => {
                let channel = self.progress.clear()?;
                channel.print(&noteworthy(&self.story, event, channel.style))
            }
        }
    }
}

impl Running {
    /// The trial, how far it is, what happens now with the last seconds' replies and p95 beside
    /// it, and the time left; where the columns don't suffice the bar goes first, then the purpose,
    /// the sparkline of replies, that of p95, and then the times.
    fn line(&self, second: &LiveSecond, columns: usize, language: Language) -> String {
        let (say, labels) = (language.phrases(), language.labels());
        let done = second.at.min(self.duration);
        let now = match second.phase {
            Phase::WarmUp => format!("{}{}", second.replies, labels.warming_up),
            Phase::Measure => format!("{}{}", second.replies, labels.per_second_now),
            Phase::Drain => labels.last_replies.to_string(),
        };
        let errors = match second.errors {
            0 => String::new(),
            count => say.count(count, Counted::Errors),
        };
        let mut parts = [
            self.trial.clone(),
            self.purpose.to_string(),
            self.offered.clone(),
            self.bar(done),
            format!("{}/{}", figures::clock(done), figures::clock(self.duration)),
            now,
            self.drawn(0),
            second
                .p95
                .map(|p95| format!("p95 {}", figures::latency(p95.as_secs_f64())))
                .unwrap_or_default(),
            self.drawn(1),
            errors,
            self.left
                .map(|left| say.left(&figures::clock(left.saturating_sub(second.at))))
                .unwrap_or_default(),
        ];
        for dispensable in [3, 1, 6, 8, 4] {
            if width(&join(&parts)) < columns {
                break;
            }
            parts[dispensable].clear();
        }
        join(&parts)
    }

    /// One figure of the last seconds; empty before there are two.
    fn drawn(&self, figure: usize) -> String {
        let values: Vec<f64> = self.last.iter().map(|second| second[figure]).collect();
        if values.len() > 1 { sparkline::draw(&values) } else { String::new() }
    }

    fn bar(&self, done: Duration) -> String {
        let share = done.as_secs_f64() / self.duration.as_secs_f64().max(1e-9);
        let filled = ((share * BAR as f64).round() as usize).min(BAR);
        format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled))
    }
}

fn join(parts: &[String]) -> String {
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    shown.join("  ")
}
