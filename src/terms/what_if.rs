//! What `predict` answers, in the shape that `predict --json` prints (names are a promise to
//! scripts).

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::decision::{MemoryParts, PredictedLimit};
use super::duration::parse_duration;
use super::goals::GoalList;
use super::limit::LimitKind;
use super::machine::Machine;
use super::obstacle::Obstacle;
use super::stated::Stated;
use super::units::Ratio;
use super::warning::Warning;

/// What a request waits for, in relation to what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wait {
    /// This many times as long; 1: as measured.
    Times(f64),
    /// This many seconds more.
    Longer(f64),
    /// This many seconds in all.
    Of(f64),
}

impl Default for Wait {
    fn default() -> Self {
        Self::Times(1.0)
    }
}

/// Text that is no wait.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no wait; write 2s (in all), +500ms (more) or x2 (as long)")]
pub struct WaitError(String);

impl FromStr for Wait {
    type Err = WaitError;

    fn from_str(text: &str) -> Result<Self, WaitError> {
        let error = || WaitError(text.to_string());
        if let Some(factor) = text.strip_prefix('x') {
            let factor = factor.parse().map_err(|_| error())?;
            return if (0.0..=1e6).contains(&factor) {
                Ok(Self::Times(factor))
            } else {
                Err(error())
            };
        }
        let seconds =
            |text: &str| parse_duration(text).map(|time| time.as_secs_f64()).map_err(|_| error());
        match text.strip_prefix('+') {
            Some(more) => seconds(more).map(Self::Longer),
            None => seconds(text).map(Self::Of),
        }
    }
}

/// Requests of another kind besides those that were measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherRequests {
    /// Of all requests.
    pub share: Ratio,
    pub cpu_s: f64,
    pub wait_s: f64,
}

/// Text that is no kind of requests.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no kind of requests; write SHARE:CPU:WAIT, as in 5%:300ms:0s or 0.02:5ms:2s")]
pub struct OtherRequestsError(String);

impl FromStr for OtherRequests {
    type Err = OtherRequestsError;

    fn from_str(text: &str) -> Result<Self, OtherRequestsError> {
        let error = || OtherRequestsError(text.to_string());
        let mut fields = text.split(':').map(str::trim);
        let mut next = || fields.next().ok_or_else(error);
        let (share, cpu, wait) = (next()?, next()?, next()?);
        let seconds =
            |text: &str| parse_duration(text).map(|time| time.as_secs_f64()).map_err(|_| error());
        let share = share.parse().map_err(|_| error())?;
        if next().is_ok() {
            return Err(error());
        }
        let other = Self { share, cpu_s: seconds(cpu)?, wait_s: seconds(wait)? };
        // What takes no time at all comes as often as can be said.
        if other.cpu_s + other.wait_s > 0.0 { Ok(other) } else { Err(error()) }
    }
}

/// A fitted number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FittedFigure {
    pub value: f64,
    pub interval: [f64; 2],
}

/// What one request costs on average, as fitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FittedDemand {
    /// CPU under the interpreter's lock, seconds.
    pub cpu_s: FittedFigure,
    /// CPU outside it.
    pub cpu_free_s: FittedFigure,
    /// Waits for anything that is neither CPU nor the lock.
    pub wait_s: FittedFigure,
    /// Lock time lost when the lock passes from one thread straight to another.
    pub handoff_s: FittedFigure,
    /// How long a thread that finds the lock held waits for that hold to end, in mean holds.
    pub contention: FittedFigure,
    /// By how much waits grow with the requests in the server: n of them wait
    /// `1 + crowding n (n - 1)` times as long as one alone.
    pub crowding: FittedFigure,
    /// With T threads of a worker at work a request takes `e^(switching (1 - 1/T))` times as much
    /// CPU as with one.
    #[serde(default)]
    pub switching: f64,
    /// A worker of several that has a request takes in the next one when a request ends, and else
    /// not before this has passed, seconds; 0: at once.
    #[serde(default)]
    pub accept_gap_s: f64,
    /// CPU of the load generator, where it shared the server's cores; 0 where it did not.
    pub generator_s: f64,
    /// Squared coefficient of variation of the latency of one client alone.
    pub cv2: f64,
}

/// A measured throughput beside the fitted one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitResidual {
    pub workers: u16,
    pub threads: u16,
    /// Of a saturating closed load.
    pub measured_rps: f64,
    pub fitted_rps: f64,
}

/// The form of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelForm {
    /// Workers with threads, one request each, under one lock a worker.
    Threads,
    /// Workers that each take in as many requests as come.
    EventLoop,
    /// A server that is not known: throughput by its own curve over its threads (the universal
    /// scalability law), nothing of latency.
    Scalability,
}

/// What the predictions are made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitReport {
    pub form: ModelForm,
    pub demand: FittedDemand,
    /// Root mean square of the residuals, relative.
    pub misfit: f64,
    pub residuals: Vec<FitResidual>,
    /// Null when no memory of the server's processes could be read.
    pub memory: Option<MemoryParts>,
}

/// What is expected over a grid of cores, waits, workers and threads, for a page whose reader moves
/// about in it. One value a place, at `((core * waits + wait) * workers + worker) * threads +
/// thread`, each the index in its list; null where nothing is expected to hold the goal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct PredictTable {
    pub cores: Vec<f64>,
    /// What a request waits for, in relation to what was measured.
    pub waits: Vec<f64>,
    pub workers: Vec<u16>,
    pub threads: Vec<u16>,
    pub capacity_rps: Vec<Option<f64>>,
    /// Of the 95 % interval.
    pub low_rps: Vec<Option<f64>>,
    pub high_rps: Vec<Option<f64>>,
    pub memory_bytes: Vec<Option<u64>>,
    pub limit: Vec<Option<LimitKind>>,
    pub measured_cores: f64,
    /// What the prediction can't know.
    #[serde(skip)]
    pub doubts: Vec<Warning>,
}

/// Latency at one rate, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLatency {
    /// Requests/s, arriving independently of each other.
    pub at_rps: f64,
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl PredictedLatency {
    /// With `by_s` seconds more for every request.
    pub fn later(self, by_s: f64) -> Self {
        let Self { at_rps, mean, p50, p95, p99 } = self;
        Self { at_rps, mean: mean + by_s, p50: p50 + by_s, p95: p95 + by_s, p99: p99 + by_s }
    }
}

/// What is expected of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedSetting {
    pub workers: u16,
    pub threads: u16,
    pub cores: f64,
    /// What a saturating closed load gets.
    pub throughput_rps_max: f64,
    pub throughput_rps_max_interval: [f64; 2],
    /// 0 when no rate meets the goal.
    pub capacity_rps: f64,
    pub capacity_rps_interval: [f64; 2],
    /// At 70 % of the capacity, or at the rate asked for; null when it cannot keep up.
    pub latency_s: Option<PredictedLatency>,
    /// Latency of the requests that were measured, when others were added with `--mix`; else null.
    pub latency_of_measured_s: Option<PredictedLatency>,
    pub memory_bytes: Option<u64>,
    pub limit: PredictedLimit,
    /// Why it can't be run (memory); null when it can.
    pub ruled_out: Option<Stated<Obstacle>>,
    /// How far it lies outside what was measured: a factor of e in cores, workers or threads counts
    /// as 1; 0 within.
    pub distance: f64,
}

/// One machine of a fleet, simulated request by request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedMachine {
    /// What comes to it, requests/s.
    pub rate_rps: f64,
    pub requests: u64,
    /// Share without a reply in ten seconds, or in twice the goal's limit where that is longer.
    pub failed: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// A day of an autoscaled fleet. Latencies in seconds, of the requests that got a reply.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDay {
    pub requests: f64,
    /// Share of them without a reply.
    pub failed: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    /// p95, and the share that failed, of the worst five minutes.
    pub worst_p95: f64,
    pub worst_failed: f64,
    /// At the quietest and the busiest time.
    pub machines: [u64; 2],
    pub machine_hours: f64,
}

/// The days of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetDays {
    /// The lowest rate of the day as a share of the highest.
    pub trough: f64,
    pub ordinary: FleetDay,
    /// With a zone lost at the busiest time; null with one zone.
    pub zone_lost: Option<FleetDay>,
    /// Of an ordinary day's machines; null without a price.
    pub cost: Option<f64>,
}

/// How many machines of one kind a load needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetReport {
    /// As it was called.
    pub machine: String,
    pub cores: f64,
    pub memory_bytes: u64,
    /// Null when no setting fits its memory, or none meets the goal.
    pub fleet: Option<FleetNeed>,
}

/// A fleet of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetNeed {
    pub machines: u64,
    /// With the upper and the lower end of the capacity's interval.
    pub machines_interval: [u64; 2],
    pub workers: u16,
    pub threads: u16,
    /// Of one machine.
    pub capacity_rps: f64,
    pub capacity_rps_interval: [f64; 2],
    /// One machine on an ordinary day.
    pub ordinary: SimulatedMachine,
    /// One machine with a zone lost; null with one zone.
    pub zone_lost: Option<SimulatedMachine>,
    /// Of all machines; null without a price.
    pub cost_per_hour: Option<f64>,
    pub cost_per_hour_interval: Option<[f64; 2]>,
    /// Scaled with the load over a day; null unless asked for.
    pub days: Option<FleetDays>,
}

/// What `predict --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictReport {
    /// Its number in the store.
    pub session: i64,
    pub app: String,
    pub server: String,
    /// As in `p95<200ms,errors<0.1%`.
    pub slo: GoalList,
    /// On which it was measured.
    pub machine: Machine,
    pub fit: FitReport,
    /// The highest capacity first, for each number of cores in the order asked for.
    pub predicted: Vec<PredictedSetting>,
    /// The cheapest first where prices are known, else in the order asked for; empty unless asked
    /// for.
    pub fleets: Vec<FleetReport>,
    pub warnings: Vec<Warning>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_requests_are_read_with_share_cpu_and_wait() {
        let read = |text: &str| text.parse::<OtherRequests>();
        let slow = read("5%:300ms:2s").unwrap();
        assert_eq!((slow.share.get(), slow.cpu_s, slow.wait_s), (0.05, 0.3, 2.0));
        for text in
            ["", "5%", "5%:1ms", "5%:1ms:1s:1", "105%:1ms:1s", "x:1ms:1s", "5%:fast:1s", "5%:0s:0s"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn waits_are_read_in_all_more_and_times() {
        for (text, expected) in [
            ("2s", Wait::Of(2.0)),
            ("+500ms", Wait::Longer(0.5)),
            ("x2", Wait::Times(2.0)),
            ("x0.5", Wait::Times(0.5)),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        for text in ["", "x", "xx", "x-1", "xNaN", "+", "fast"] {
            assert!(text.parse::<Wait>().is_err(), "{text}");
        }
    }
}
