//! What was measured of a setting at the rate nearest to one.
//!
//! In: the session's trials. Out: figures of the loads at that rate. Computes only.

use crate::model::server_cpu_s;
use crate::server::scaling::Look;
use crate::stats::median;
use crate::terms::{Configuration, TrialPurpose, TrialSummary, Variant};

/// Rates that differ by less than this share are one: what is sent is rounded.
const SAME: f64 = 0.02;

/// The valid loads of this setting at the rate that is nearest to this one; `None` without any.
pub fn nearest(
    trials: &[TrialSummary],
    (configuration, variant): (Configuration, Variant),
    rate_rps: f64,
) -> Option<Look> {
    let is_of = |trial: &&TrialSummary| {
        let is_setting = trial.configuration == configuration && trial.variant == variant;
        // Over other connections than the plan's, or with a pod less than it has.
        let is_other = matches!(trial.purpose, TrialPurpose::Check | TrialPurpose::LostPod);
        is_setting && !is_other && trial.valid && trial.failure.is_none()
    };
    let looks: Vec<Look> = trials.iter().filter(is_of).filter_map(look).collect();
    together(&looks, rate_rps)
}

fn look(trial: &TrialSummary) -> Option<Look> {
    let load = &trial.summary;
    let (rate_rps, requests) = (trial.offered.rate()?.as_per_second(), load.completed);
    (requests > 0).then(|| Look {
        rate_rps,
        loads: 1,
        requests,
        latency_s_p95: load.latency_s.p95,
        latency_s_p99: load.latency_s.p99,
        cores: used(server_cpu_s(trial), load.duration_s),
    })
}

/// Cores, by the CPU time of the measured part and its length: requests that were never answered
/// took some of it too. `None` where nothing was seen of it.
fn used(cpu_s: f64, measured_s: f64) -> Option<f64> {
    (cpu_s > 0.0 && measured_s > 0.0).then(|| cpu_s / measured_s)
}

/// Those at the rate that is nearest to this one as one: medians of their figures.
fn together(looks: &[Look], rate_rps: f64) -> Option<Look> {
    let away = |it: &Look| (it.rate_rps / rate_rps).ln().abs();
    let nearest = looks.iter().min_by(|a, b| away(a).total_cmp(&away(b)))?;
    let is_same = |it: &&Look| (it.rate_rps / nearest.rate_rps - 1.0).abs() < SAME;
    let same: Vec<&Look> = looks.iter().filter(is_same).collect();
    let middle =
        |figure: fn(&Look) -> f64| median(&same.iter().map(|it| figure(it)).collect::<Vec<_>>());
    let cores: Vec<f64> = same.iter().filter_map(|it| it.cores).collect();
    Some(Look {
        rate_rps: middle(|it| it.rate_rps)?,
        loads: same.iter().map(|it| it.loads).sum(),
        requests: same.iter().map(|it| it.requests).sum(),
        latency_s_p95: middle(|it| it.latency_s_p95)?,
        latency_s_p99: middle(|it| it.latency_s_p99)?,
        cores: median(&cores),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rate_rps: f64, p95_ms: f64, cores: Option<f64>) -> Look {
        let (latency_s_p95, latency_s_p99) = (p95_ms / 1e3, 2.0 * p95_ms / 1e3);
        Look { rate_rps, loads: 1, requests: 100, latency_s_p95, latency_s_p99, cores }
    }

    #[test]
    fn what_was_used_is_what_was_seen_whatever_failed() {
        assert_eq!(used(9.0, 10.0), Some(0.9));
        assert_eq!([used(0.0, 10.0), used(1.0, 0.0)], [None, None]);
    }

    #[test]
    fn loads_at_the_nearest_rate_count_and_no_others() {
        let looks = [
            look(50.0, 10.0, Some(0.1)),
            look(69.5, 40.0, Some(0.3)),
            look(70.0, 30.0, None),
            look(70.5, 50.0, Some(0.5)),
            look(100.0, 190.0, Some(0.9)),
        ];
        let seen = together(&looks, 70.0).unwrap();
        assert_eq!((seen.rate_rps, seen.loads, seen.requests), (70.0, 3, 300));
        assert_eq!((seen.latency_s_p95, seen.latency_s_p99), (0.04, 0.08));
        assert!((seen.cores.unwrap() - 0.4).abs() < 1e-9, "of those that were seen");
        assert_eq!(together(&looks, 85.0).unwrap().rate_rps, 100.0, "by the ratio of the rates");
        assert_eq!(together(&looks[2..3], 7.0).unwrap().cores, None);
        assert_eq!(together(&[], 70.0), None);
    }
}
