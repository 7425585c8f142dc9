//! What a trial says of the cost of a request.

use super::Sizes;
use crate::terms::{Configuration, TrialPurpose, TrialSummary};

/// What was measured of one configuration; `None` for what was not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    pub configuration: Configuration,
    /// Throughput under a saturating closed load, requests/s.
    pub saturated_rps: Option<f64>,
    /// Replies from which that is known; `None`: so many that chance has no part in it.
    pub saturated_replies: Option<u64>,
    /// CPU of all the server's processes, seconds a request.
    pub cpu_per_request_s: Option<f64>,
    /// Mean latency with one client, seconds.
    pub unloaded_latency_s: Option<f64>,
    /// As `saturated_replies`.
    pub unloaded_replies: Option<u64>,
    /// How those requests differed.
    pub unloaded_sizes: Option<Sizes>,
    /// Cores that the busiest worker used while saturated: above 1 it computes outside its lock.
    pub worker_busy_cores: Option<f64>,
    /// CPU of a load generator that shares the server's cores, seconds a request.
    pub generator_s: Option<f64>,
}

impl Observation {
    /// Nothing measured yet.
    pub fn of(configuration: Configuration) -> Self {
        Self {
            configuration,
            saturated_rps: None,
            saturated_replies: None,
            cpu_per_request_s: None,
            unloaded_latency_s: None,
            unloaded_replies: None,
            unloaded_sizes: None,
            worker_busy_cores: None,
            generator_s: None,
        }
    }

    /// `None` when the trial says nothing of it: not valid, nothing answered, its server died, or
    /// it asked whether a rate holds.
    pub fn from_trial(trial: &TrialSummary) -> Option<Self> {
        if !trial.valid || trial.failure.is_some() || trial.summary.completed == 0 {
            return None;
        }
        let costs = Costs::of(trial);
        let observation = Self {
            cpu_per_request_s: costs.server_s,
            generator_s: costs.generator_s,
            ..Self::of(trial.configuration)
        };
        match trial.purpose {
            TrialPurpose::Unloaded => Some(Self {
                unloaded_latency_s: Some(trial.summary.latency_s.mean),
                unloaded_replies: Some(trial.summary.completed),
                unloaded_sizes: Sizes::of(&trial.summary.latency_s),
                ..observation
            }),
            TrialPurpose::Saturate => Some(Self {
                saturated_rps: Some(trial.summary.got_through_rps()),
                saturated_replies: Some(trial.summary.completed),
                worker_busy_cores: costs.worker_busy_cores,
                ..observation
            }),
            TrialPurpose::Probe
            | TrialPurpose::Confirm
            | TrialPurpose::Hold
            | TrialPurpose::Check
            | TrialPurpose::Screen
            | TrialPurpose::LostPod
            | TrialPurpose::Soak => None,
        }
    }
}

/// The role whose CPU is ours.
const GENERATOR: &str = "generator";

/// CPU seconds of all of the server's processes in the measured part of a trial; 0 when none were
/// seen.
pub fn server_cpu_s(trial: &TrialSummary) -> f64 {
    trial.cpu_s.iter().filter(|(role, _)| *role != GENERATOR).map(|(_, cpu_s)| cpu_s).sum()
}

/// CPU that a trial used for a request; `None` what was not seen, or when nothing was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Costs {
    /// All of the server's processes, seconds a request.
    pub server_s: Option<f64>,
    /// Of the load generator, where it shares the server's cores; seconds a request.
    pub generator_s: Option<f64>,
    /// Of the busiest worker, cores.
    pub worker_busy_cores: Option<f64>,
}

impl Costs {
    pub fn of(trial: &TrialSummary) -> Self {
        let completed = trial.summary.completed;
        if completed == 0 {
            return Self::default();
        }
        let per_request = |cpu_s: f64| (cpu_s > 0.0).then(|| cpu_s / completed as f64);
        Self {
            server_s: per_request(server_cpu_s(trial)),
            generator_s: trial.cpu_s.get(GENERATOR).and_then(|cpu_s| per_request(*cpu_s)),
            worker_busy_cores: trial.workers.iter().map(|w| w.cpu_cores).reduce(f64::max),
        }
    }
}
