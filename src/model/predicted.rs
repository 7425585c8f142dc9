//! What is expected of a configuration, in the shape that is printed.
//!
//! In: an [`Expected`]. Out: a [`PredictedSetting`].

use super::{Expected, fits};
use crate::stats::Estimate;
use crate::terms::{Bytes, Configuration, Cores, Obstacle, PredictedLimit, PredictedSetting};

impl Expected {
    /// Of `at` on `cores`, where there is so much `memory`.
    pub fn as_setting(&self, at: Configuration, cores: Cores, memory: Bytes) -> PredictedSetting {
        let (throughput, throughput_interval) = figure(self.throughput_rps.as_ref());
        let (capacity, capacity_interval) = figure(self.capacity_rps.as_ref());
        let too_much = self.memory_bytes.filter(|&needs| !fits(needs, memory));
        PredictedSetting {
            workers: at.workers.get(),
            threads: at.threads.get(),
            cores: cores.get(),
            throughput_rps_max: throughput,
            throughput_rps_max_interval: throughput_interval,
            capacity_rps: capacity,
            capacity_rps_interval: capacity_interval,
            latency_s: self.latency,
            latency_of_measured_s: self.latency_of_measured,
            memory_bytes: self.memory_bytes,
            limit: PredictedLimit { kind: self.limit },
            ruled_out: too_much.map(|needed_bytes| {
                Obstacle::NeedsMemory { needed_bytes, limit_bytes: memory.0 }.into()
            }),
            distance: self.distance,
        }
    }
}

fn figure(estimate: Option<&Estimate>) -> (f64, [f64; 2]) {
    estimate.map_or((0.0, [0.0, 0.0]), |it| (it.value, it.interval()))
}
