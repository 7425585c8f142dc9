//! What a request costs, by what was seen.
//!
//! In: what was seen. Out: a fit of the model, or why there is none. Computes only.

use super::seen::Seen;
use super::times::Times;
use crate::model::{Demand, Fit, Observation, Prior, Sizes, wait_that_explains};
use crate::terms::AdviseRefusal;

/// The mean of a request is to be known as well as this (one standard error, relative).
const MEAN_ERROR: f64 = 0.05;
/// With fewer nothing is said of those that differ.
const REQUESTS_LEAST: u64 = 500;
/// A server takes less CPU for a request than so many times what the app does and so many seconds
/// more, parsing, writing and collecting garbage included; beyond, something else runs in it.
const OUTSIDE_MOST: f64 = 2.0;
const OUTSIDE_MOST_S: f64 = 0.002;
/// The model may be off by so much before it explains nothing.
const NOT_EXPLAINED: f64 = 1.25;
/// A request that waits for nothing is taken to wait for this share of its CPU.
const WAIT_LEAST: f64 = 0.01;
/// No throughput of a full server is seen that would tell how threads meet each other's holds of
/// the lock ([`Demand::contention`]). Judgement: fitted to grids on Puma it was 0.80, 1.00, 1.24
/// and 1.30 (docs/evidence/model.md), whose geometric mean is 1.07; a fifth grid only computes,
/// where contention hardly counts, and says nothing of it.
const CONTENTION: f64 = 1.05;
const CONTENTION_SD: f64 = 0.2;

/// A request as it was seen.
#[derive(Debug, Clone)]
pub struct Request {
    pub fit: Fit,
    pub sizes: Option<Sizes>,
    /// Mean time in a thread and beyond the app's own call, at the traffic that was seen, seconds.
    pub service_s: f64,
    /// Of that, waiting for the interpreter's lock and for a core.
    pub lock_s: f64,
    /// The lock's wait was told, and not inferred.
    pub is_lock_told: bool,
}

impl Request {
    /// # Errors
    /// Too little was seen, or it contradicts the model.
    pub fn of(seen: &Seen) -> Result<Self, AdviseRefusal> {
        let Seen { sums, times, .. } = seen;
        let needed = needed(times);
        if times.count() < needed {
            return Err(AdviseRefusal::RequestsTooFew { requests: times.count(), needed });
        }
        let each = |sum: f64| sum / sums.requests as f64;
        let (app_s, app_cpu_s) = (each(sums.app_s), each(sums.app_cpu_s));
        let cpu_s = seen.cpu_s.map_or(app_cpu_s, each).max(app_cpu_s);
        if cpu_s > OUTSIDE_MOST * app_cpu_s + OUTSIDE_MOST_S {
            return Err(AdviseRefusal::CpuNotExplained { cpu_s, app_s });
        }
        // What the server does of a request before and after the app's own part.
        let service_s = app_s + cpu_s - app_cpu_s;
        let sizes = Sizes::of_all(times.in_app());
        let known = Demand {
            cpu_s,
            cv2: sizes.map_or(Demand::default().cv2, |sizes| sizes.cv2_of(times.count())),
            sizes,
            handoff_s: 0.03 * cpu_s,
            contention: CONTENTION,
            ..Demand::default()
        };
        let rate = seen.met_rps();
        let cores = seen.cores.get();
        let told = sums.gvl_wait_s.map(|sum| (app_s - app_cpu_s - each(sum)).max(0.0));
        let wait_s = match told {
            Some(wait_s) => wait_s,
            None => wait_that_explains(&known, seen.setting, cores, rate, service_s)
                .or_else(|| (cpu_s < NOT_EXPLAINED * service_s).then_some(0.0))
                .ok_or(AdviseRefusal::CpuNotExplained { cpu_s, app_s })?,
        };
        let wait_s = wait_s.max(WAIT_LEAST * cpu_s);
        let observation = Observation {
            cpu_per_request_s: Some(cpu_s),
            unloaded_latency_s: Some(cpu_s + wait_s),
            unloaded_replies: Some(times.count()),
            unloaded_sizes: sizes,
            ..Observation::of(seen.setting)
        };
        let contention = Prior { mean: CONTENTION.ln(), sd: CONTENTION_SD };
        let fit = Fit::with_contention(&[observation], cores, contention)
            .ok_or(AdviseRefusal::CpuNotExplained { cpu_s, app_s })?;
        let lock_s = (service_s - cpu_s - wait_s).max(0.0);
        Ok(Self { fit, sizes, service_s, lock_s, is_lock_told: told.is_some() })
    }

    /// p95 of a request that meets no other, seconds: as those that were seen, without what they
    /// waited for each other.
    pub fn alone_p95_s(&self, times: &Times) -> f64 {
        let share = self.fit.demand.unloaded_latency_s() / self.service_s;
        times.summary().p95 * share.min(1.0)
    }
}

/// So many requests bring the mean's standard error down to what is wanted: cv^2 / error^2.
fn needed(times: &Times) -> u64 {
    ((times.cv2() / MEAN_ERROR.powi(2)).ceil() as u64).max(REQUESTS_LEAST)
}
