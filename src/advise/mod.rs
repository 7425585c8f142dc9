//! From what was seen of a server at its own traffic to the setting that it should run with.
//!
//! In: requests with their times, CPU, memory, and the setting. Out: an [`AdviseReport`]. Computes
//! only: the same model as the search's, fitted to what was seen instead of to trials.

mod busy;
mod demand;
mod notes;
mod routes;
mod seen;
mod settings;
mod times;

use std::time::Duration;

use crate::model::{Demand, Stay, stay};
use crate::search::goal_from_unloaded;
use crate::terms::{
    AdviseReport, Configuration, Cores, Goals, OPERATING_SHARE, PredictedSetting, ScalingTarget,
    SeenTraffic, Slo,
};
use demand::Request;
pub use seen::{Seen, Sums};
pub use settings::usual_settings;
pub use times::{RateSeen, Times};

/// Advises. `slo`: `None`: what the times of single requests make sensible; `settings`: to choose
/// among besides the current one.
pub fn advise(seen: &Seen, slo: Option<&Slo>, settings: &[Configuration]) -> AdviseReport {
    let mut report = AdviseReport {
        seen: traffic(seen),
        slo: slo.map(|slo| Goals::one(slo.clone()).list()),
        refused: Vec::new(),
        demand: None,
        current: None,
        advised: None,
        predicted: Vec::new(),
        growth: None,
        scaling: None,
        routes: Vec::new(),
        notes: seen.remarks.iter().cloned().map(Into::into).collect(),
    };
    let request = match Request::of(seen) {
        Ok(request) => request,
        Err(why) => {
            report.routes = routes::routes(&seen.times, None);
            report.refused.push(why.into());
            return report;
        }
    };
    report.routes = routes::routes(&seen.times, Some(&request));
    let slo = slo.cloned().unwrap_or_else(|| {
        goal_from_unloaded(Duration::from_secs_f64(request.alone_p95_s(&seen.times)))
    });
    report.slo = Some(Goals::one(slo.clone()).list());
    let choice = match settings::choose(seen, &request, slo.tightest(), settings) {
        Ok(choice) => choice,
        Err(why) => {
            report.refused.push(why.into());
            return report;
        }
    };
    report.demand = Some(request.fit.parts(0.95));
    report.growth = choice.growth(seen.busiest_rps());
    report.scaling = scaling(&choice.advised, &request.fit.demand, seen.cores);
    let notes = notes::notes(seen, &request, &choice);
    report.notes.extend(notes.into_iter().map(Into::into));
    report.current = Some(choice.current);
    report.advised = Some(choice.advised);
    report.predicted = choice.all;
    report
}

fn traffic(seen: &Seen) -> SeenTraffic {
    let Seen { sums, times, .. } = seen;
    let each = |sum: f64| sum / sums.requests.max(1) as f64;
    let in_app = times.summary();
    SeenTraffic {
        length_s: seen.length_s,
        instances: seen.instances,
        requests: sums.requests,
        requests_told: times.count(),
        rate_rps: seen.rate_rps(),
        workers: seen.setting.workers.get(),
        threads: seen.setting.threads.get(),
        cores: seen.cores.get(),
        memory_bytes: seen.memory_bytes,
        cpu_per_request_s: seen.cpu_s.map(each),
        app_s: each(sums.app_s),
        app_s_p50: in_app.p50,
        app_s_p95: in_app.p95,
        app_s_p99: in_app.p99,
        app_cpu_s: each(sums.app_cpu_s),
        gvl_wait_s: sums.gvl_wait_s.map(each),
        queue_s: times.queue_s(),
        probe_s: sums.probe_s.map(each),
        watching_cores: seen.watching_cores,
    }
}

/// An instance is to run at a share of what it holds, as everywhere in this program.
fn scaling(at: &PredictedSetting, demand: &Demand, cores: Cores) -> Option<ScalingTarget> {
    let rate_rps = OPERATING_SHARE * at.capacity_rps;
    let setting = Configuration::new(at.workers, at.threads).ok()?;
    let Stay { queue_s, .. } = stay(demand, setting, cores.get(), rate_rps)?;
    let cpu_ratio = (rate_rps * demand.server_cpu_s() / cores.get()).min(1.0);
    Some(ScalingTarget { rate_rps, cpu_ratio, queue_s })
}

#[cfg(test)]
mod tests;
