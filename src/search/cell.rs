//! What is known of one configuration.

use super::belief::Most;
use super::constants::{START_SD_LOG, USUAL_CV2};
use crate::model::Costs;
use crate::stats::RatePosterior;
use crate::terms::{Limit, Obstacle, TrialPurpose, TrialSummary, Verdict};

/// One cell of the grid.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// What the last saturating closed load got through, replies/s.
    pub burst_rps: Option<f64>,
    /// What the last saturating load with clients for every thread got through, replies/s.
    pub saturated_rps: Option<f64>,
    /// Replies of that load.
    pub burst_replies: u64,
    /// The clients of that load.
    pub burst_clients: Option<u32>,
    /// What the first such load got through, where that was less than one client alone gets.
    pub collapsed_rps: Option<f64>,
    /// CPU seconds of the server for one request, under saturation.
    pub cpu_per_request_s: Option<f64>,
    /// What of the cores the generator took for one request.
    pub generator_per_request_s: Option<f64>,
    /// CPU of the busiest worker under saturation, cores.
    pub worker_busy_cores: Option<f64>,
    /// Belief about the capacity from the race.
    pub race: Option<RatePosterior>,
    pub probes: u32,
    /// Of the windows at a rate one seemed to hold it.
    pub has_held: bool,
    /// Capacity of each fresh start measured after the choice: (median, sd of the logarithm),
    /// oldest first, by block.
    pub blocks: Vec<(u32, f64, f64)>,
    /// p95 at one rate, seconds, a fresh start each: at the rate to be served where latency is
    /// asked for, else at the one that decides between settings that hold as much.
    pub latencies_s: Vec<f64>,
    /// Total PSS of the server's processes, largest seen in the short loads that any setting may
    /// get: settings are compared by it.
    pub memory_bytes: Option<u64>,
    /// Total PSS of the server's processes, largest seen in the long loads that only a recommended
    /// setting gets: memory grows with time, so that it compares no settings.
    pub lasting_bytes: Option<u64>,
    /// What the app's platform recorded, largest seen: of long loads alone, and of all that runs
    /// beside the workers too, so that it compares no settings and says nothing of others.
    pub recorded_bytes: Option<u64>,
    /// Limits named by trials that pushed it: of each kind the sum of confidence, and the surest.
    limits: Vec<(f64, Limit)>,
    /// Why it can't be recommended.
    pub ruled_out: Option<Obstacle>,
}

impl Cell {
    /// The first reason stays.
    pub fn rule_out(&mut self, reason: Obstacle) {
        self.ruled_out.get_or_insert(reason);
    }

    /// Median of the capacity by the race.
    pub fn capacity_rps(&self) -> Option<f64> {
        self.race.as_ref().filter(|_| self.probes > 0).map(RatePosterior::median)
    }

    /// Logarithm of the race's capacity and its standard deviation.
    pub fn race_mean_sd(&self) -> Option<(f64, f64)> {
        let belief = self.race.as_ref()?;
        Some((belief.median().ln(), belief.sd_log()))
    }

    /// Logarithm of the capacity by its blocks.
    pub fn blocks_mean(&self) -> f64 {
        self.blocks.iter().map(|block| block.1.ln()).sum::<f64>() / self.blocks.len().max(1) as f64
    }

    /// Logarithm of the capacity by its blocks and by the race, each as far as it is to be trusted.
    /// `spread`: variance of one block.
    pub fn score(&self, spread: f64) -> f64 {
        let blocks = self.blocks.len() as f64 / spread.max(1e-6);
        let (race, sd) = self.race_mean_sd().unwrap_or((0.0, f64::INFINITY));
        let race_weight = 1.0 / (sd.powi(2) + START_SD_LOG.powi(2));
        (self.blocks_mean() * blocks + race * race_weight) / (blocks + race_weight)
    }

    /// Its capacity and the other's in the blocks that measured both, by block.
    pub fn paired_blocks(&self, other: &Self) -> impl Iterator<Item = (f64, f64)> {
        self.blocks.iter().filter_map(|&(block, rps, _)| {
            let beside = other.blocks.iter().find(|(of, ..)| *of == block)?;
            Some((rps, beside.1))
        })
    }

    pub fn is_open(&self) -> bool {
        self.ruled_out.is_none()
    }

    /// The most memory that any trial saw; of what the platform recorded only where nothing else
    /// was seen.
    pub fn memory_bytes_max(&self) -> Option<u64> {
        self.memory_bytes.max(self.lasting_bytes).or(self.recorded_bytes)
    }

    /// Takes what every trial tells, whatever it was for.
    pub fn take(&mut self, summary: &TrialSummary) {
        let is_long = matches!(summary.purpose, TrialPurpose::Hold | TrialPurpose::Soak);
        let memory = match summary.is_seen_by_platform() {
            true => &mut self.recorded_bytes,
            false if is_long => &mut self.lasting_bytes,
            false => &mut self.memory_bytes,
        };
        *memory = (*memory).max(summary.memory_bytes);
        self.has_held |= summary.offered.rate().is_some() && summary.leaning == Verdict::Yes;
        let is_pushed = summary.purpose == TrialPurpose::Saturate || summary.verdict == Verdict::No;
        if is_pushed {
            self.take_limit(&summary.limit);
        }
        if summary.purpose == TrialPurpose::Saturate {
            self.take_burst(summary);
        }
    }

    /// What most of its trials say: one disturbed trial must not have the last word.
    pub fn limit(&self) -> Option<&Limit> {
        let most = self.limits.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        most.map(|(_, limit)| limit)
    }

    fn take_limit(&mut self, limit: &Limit) {
        match self.limits.iter_mut().find(|(_, known)| known.kind == limit.kind) {
            Some((sum, known)) => {
                *sum += limit.confidence;
                if limit.confidence >= known.confidence {
                    known.clone_from(limit);
                }
            }
            None => self.limits.push((limit.confidence, limit.clone())),
        }
    }

    fn take_burst(&mut self, summary: &TrialSummary) {
        self.burst_rps = Some(summary.summary.got_through_rps());
        self.saturated_rps = Most::of(summary, USUAL_CV2).map(|most| most.rps);
        self.burst_replies = summary.summary.completed;
        self.burst_clients = summary.offered.clients();
        if summary.summary.completed == 0 {
            return;
        }
        let costs = Costs::of(summary);
        self.cpu_per_request_s = costs.server_s;
        self.generator_per_request_s = costs.generator_s;
        self.worker_busy_cores = costs.worker_busy_cores;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;

    #[test]
    fn memory_of_a_long_load_is_printed_and_compares_no_settings() {
        let mut cell = Cell::default();
        for (purpose, bytes) in [
            (TrialPurpose::Saturate, 100),
            (TrialPurpose::Confirm, 110),
            (TrialPurpose::Hold, 130),
            (TrialPurpose::Confirm, 105),
        ] {
            let trial = tests_trial(purpose, 60.0, (1800, 0));
            cell.take(&TrialSummary { memory_bytes: Some(bytes), ..trial });
        }
        assert_eq!((cell.memory_bytes, cell.memory_bytes_max()), (Some(110), Some(130)));
    }
}
