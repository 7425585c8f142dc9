//! Does the server stay as it is while it is measured? By what a request takes of the processor,
//! which hardly depends on the load and its queues: over the minutes of a start, and over those of
//! the session.

use std::collections::BTreeMap;

use super::constants::{
    CHANGE_A_MINUTE, CHANGE_A_SESSION, COST_REPLIES_LEAST, LOOK_LEAST_S, STEADY_LEVEL,
};
use crate::model::server_cpu_s;
use crate::stats::{Estimate, common_slope};
use crate::terms::{Configuration, SteadinessNote, TrialSummary};

/// What one window at a steady rate showed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    configuration: Configuration,
    start: u32,
    /// The middle of the window, minutes of the session.
    at_min: f64,
    /// Logarithm of the CPU seconds of one request.
    cost_log: f64,
}

impl Sight {
    /// `None` of bursts, which come before the server is warm, and of windows too short.
    pub fn of(summary: &TrialSummary) -> Option<Self> {
        summary.offered.rate()?;
        let load = &summary.summary;
        let cpu_s = server_cpu_s(summary);
        // Where a queue grew, many were answered only when the measured part was over.
        let answered = load.throughput_rps * load.duration_s;
        // One that ended before it was as long as any is: most of what it computed for was still to
        // be answered.
        let is_cut_short = load.duration_s < LOOK_LEAST_S;
        if is_cut_short || answered < COST_REPLIES_LEAST || cpu_s <= 0.0 {
            return None;
        }
        Some(Self {
            configuration: summary.configuration,
            start: summary.start,
            at_min: (summary.ended_s - 0.5 * summary.load_s) / 60.0,
            cost_log: (cpu_s / answered).ln(),
        })
    }
}

/// What is to be said when it does not stay as it is.
pub(super) fn unsteadiness(sights: &[Sight]) -> Option<SteadinessNote> {
    in_a_start(sights).or_else(|| over_the_session(sights))
}

/// A leak, a cache that fills, a compiler that is not done.
fn in_a_start(sights: &[Sight]) -> Option<SteadinessNote> {
    let slope = common_slope(&by(sights, |it| (it.configuration, it.start)), STEADY_LEVEL)?;
    let cpu_ratio_per_minute = slope.value.exp();
    is_clear(&slope, CHANGE_A_MINUTE).then_some(match slope.value > 0.0 {
        true => SteadinessNote::SlowsDown { cpu_ratio_per_minute },
        false => SteadinessNote::StillWarmsUp { cpu_ratio_per_minute },
    })
}

/// A table that grows, a machine that throttles, neighbours that come and go.
fn over_the_session(sights: &[Sight]) -> Option<SteadinessNote> {
    let groups = by(sights, |it| (it.configuration, 0));
    let slope = common_slope(&groups, STEADY_LEVEL)?;
    let times = || sights.iter().map(|it| it.at_min);
    let minutes = times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min);
    let cpu_ratio = (slope.value * minutes).exp();
    is_clear(&slope, CHANGE_A_SESSION / minutes)
        .then_some(SteadinessNote::ChangedOverSession { cpu_ratio })
}

fn by(sights: &[Sight], key: impl Fn(&Sight) -> (Configuration, u32)) -> Vec<Vec<(f64, f64)>> {
    let mut groups: BTreeMap<(Configuration, u32), Vec<(f64, f64)>> = BTreeMap::new();
    for sight in sights {
        groups.entry(key(sight)).or_default().push((sight.at_min, sight.cost_log));
    }
    groups.into_values().collect()
}

/// The whole interval is beyond this, on one side.
fn is_clear(slope: &Estimate, least: f64) -> bool {
    slope.low > least || slope.high < -least
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four starts of two settings in turn, three windows each, a fifth of a minute apart; the
    /// second windows are 1 % dearer than the others, so that there is some scatter.
    fn sights(a_minute_of_a_start: f64, a_minute: f64) -> Vec<Sight> {
        let sight = |start: u32, window: u32| {
            let (age_min, at_min) = (f64::from(window) / 5.0, f64::from(start * 3 + window) / 5.0);
            let odd = if window == 1 { 0.01 } else { 0.0 };
            Sight {
                configuration: Configuration::new(1 + (start % 2) as u16, 1).unwrap(),
                start,
                at_min,
                cost_log: f64::from(start % 2) * 0.3
                    + a_minute_of_a_start * age_min
                    + a_minute * at_min
                    + odd,
            }
        };
        (0..4).flat_map(|start| (0..3).map(move |window| sight(start, window))).collect()
    }

    #[test]
    fn a_steady_server_is_not_mentioned() {
        assert_eq!(unsteadiness(&sights(0.0, 0.0)), None);
    }

    #[test]
    fn a_server_that_gets_slower_as_it_runs_is() {
        let Some(SteadinessNote::SlowsDown { cpu_ratio_per_minute }) =
            unsteadiness(&sights(0.2, 0.0))
        else {
            panic!("it is seen")
        };
        assert!((cpu_ratio_per_minute - 0.2f64.exp()).abs() < 0.005, "{cpu_ratio_per_minute}");
    }

    #[test]
    fn one_that_still_warms_up_is_told_apart() {
        let Some(SteadinessNote::StillWarmsUp { cpu_ratio_per_minute }) =
            unsteadiness(&sights(-0.2, 0.0))
        else {
            panic!("it is seen")
        };
        assert!((cpu_ratio_per_minute - (-0.2f64).exp()).abs() < 0.005, "{cpu_ratio_per_minute}");
    }

    #[test]
    fn a_change_from_start_to_start_is_the_sessions() {
        let mut all = sights(0.0, 0.05);
        // Nothing within the starts.
        for sight in &mut all {
            sight.cost_log = f64::from(sight.start) * 0.1;
        }
        let note = unsteadiness(&all).unwrap();
        let SteadinessNote::ChangedOverSession { cpu_ratio } = note else { panic!("{note:?}") };
        assert!(cpu_ratio > 1.1, "{cpu_ratio}");
    }
}
