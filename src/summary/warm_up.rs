//! What to leave out at the beginning: the planned part, and more when the figures ask for it.

use std::time::Duration;

use crate::stats;
use crate::terms::{TrialRecord, WarmUp, WarmUpKind};

/// With fewer measured seconds there is nothing to cut from: only the planned part is left out.
const SECONDS_FOR_A_CUT: usize = 10;
/// CPU per request that differs by less than this is the same.
const SAME: f64 = 0.10;

/// Decides by the server's CPU per reply, second by second, which is nearly independent of load and
/// queueing. The cut never takes more than half of what was measured (White, 1997, and Hoad et al.,
/// 2010, on MSER-5). `may_cut`: false where nothing but the planned part may be left out.
pub fn warm_up(record: &TrialRecord, may_cut: bool) -> WarmUp {
    let planned = record.load.run.warm_up;
    let cost = cpu_per_reply(record);
    let planned_seconds = planned.as_secs() as usize;
    if cost.len() <= planned_seconds {
        return WarmUp { kind: WarmUpKind::Flat, left_out_s: planned.as_secs_f64() };
    }
    let (warming, measured) = cost.split_at(planned_seconds);
    if measured.len() >= SECONDS_FOR_A_CUT {
        let cut = stats::mser5(measured, 1);
        if !cut.is_in_first_half {
            return WarmUp { kind: WarmUpKind::NotSteady, left_out_s: planned.as_secs_f64() };
        }
        let left_out = planned + Duration::from_secs(cut.at as u64);
        let kind = kind_of(&cost[..left_out.as_secs() as usize], &measured[cut.at..]);
        let left_out = if may_cut { left_out } else { planned };
        return WarmUp { kind, left_out_s: left_out.as_secs_f64() };
    }
    WarmUp { kind: kind_of(warming, measured), left_out_s: planned.as_secs_f64() }
}

fn kind_of(left_out: &[f64], measured: &[f64]) -> WarmUpKind {
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    if left_out.is_empty() || measured.is_empty() || mean(measured) <= 0.0 {
        return WarmUpKind::Flat;
    }
    let half = measured.len() / 2;
    if half >= 5 && mean(&measured[half..]) > mean(&measured[..half]) * (1.0 + SAME) {
        return WarmUpKind::Slowing;
    }
    if mean(left_out) > mean(measured) * (1.0 + SAME) {
        WarmUpKind::Warmed
    } else {
        WarmUpKind::Flat
    }
}

/// One entry a second of the load; seconds without a reply or not seen by the monitor repeat the
/// one before.
fn cpu_per_reply(record: &TrialRecord) -> Vec<f64> {
    let mut before = 0.0;
    record
        .load
        .seconds
        .iter()
        .enumerate()
        .map(|(index, load)| {
            let seen = record
                .monitor
                .seconds
                .iter()
                .find(|m| m.at_s.round() as usize == index && m.length_s > 0.5);
            if let Some(monitor) = seen.filter(|_| load.replies > 0) {
                let cpu_s: f64 = monitor.processes.iter().map(|p| p.cpu_s).sum();
                before = cpu_s / load.replies as f64;
            }
            before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{
        Configuration, GeneratorUse, LoadRecord, LoadRun, LoadSecond, MonitorRecord, MonitorSecond,
        Offered, ProcessUse,
    };

    /// Two seconds of planned warm-up, then the rest; each has its milliseconds of CPU a reply.
    fn kind(costs_ms: &[f64]) -> (WarmUpKind, f64) {
        let monitored = |(at, cost_ms): (usize, &f64)| MonitorSecond {
            at_s: at as f64,
            length_s: 1.0,
            processes: vec![ProcessUse { cpu_s: cost_ms * 0.1, ..ProcessUse::default() }],
            ..MonitorSecond::default()
        };
        let record = TrialRecord {
            configuration: Configuration::new(1, 1).unwrap(),
            start: 1,
            load: LoadRecord {
                run: LoadRun {
                    offered: Offered::Closed { clients: 4, think: Duration::ZERO },
                    warm_up: Duration::from_secs(2),
                    duration: Duration::from_secs(costs_ms.len() as u64),
                    last_reply: Duration::ZERO,
                    is_cut_short: false,
                    tls_trouble: None,
                    rows_left_out: 0,
                    generator: GeneratorUse::default(),
                },
                seconds: vec![LoadSecond { replies: 100, ..Default::default() }; costs_ms.len()],
            },
            monitor: MonitorRecord {
                seconds: costs_ms.iter().enumerate().map(monitored).collect(),
                ..MonitorRecord::default()
            },
            boot: Duration::ZERO,
            failure: None,
        };
        let WarmUp { kind, left_out_s } = warm_up(&record, true);
        assert_eq!(warm_up(&record, false), WarmUp { kind, left_out_s: 2.0 });
        (kind, left_out_s)
    }

    #[test]
    fn what_was_dearer_at_the_beginning_is_left_out_and_no_more() {
        let with = |start: &[f64], rest: f64, count: usize| {
            let costs =
                start.iter().copied().chain((0..count).map(|at| rest + 0.01 * (at % 2) as f64));
            kind(&costs.collect::<Vec<_>>())
        };
        assert_eq!(with(&[5.0, 5.0], 5.0, 20), (WarmUpKind::Flat, 2.0));
        assert_eq!(with(&[9.0, 7.0], 5.0, 20), (WarmUpKind::Warmed, 2.0), "as planned");
        assert_eq!(with(&[9.0, 9.0, 9.0, 8.0, 7.0], 5.0, 20), (WarmUpKind::Warmed, 5.0));
        assert_eq!(
            with(&[9.0, 9.0, 9.0], 5.0, 5),
            (WarmUpKind::Warmed, 2.0),
            "too few to cut from"
        );
        assert_eq!(with(&[], 5.0, 2), (WarmUpKind::Flat, 2.0), "nothing was measured");
    }

    #[test]
    fn one_that_gets_dearer_is_told_and_so_is_one_that_does_not_settle() {
        let slower: Vec<f64> = (0..14).map(|at| if at < 11 { 5.0 } else { 7.0 }).collect();
        assert_eq!(kind(&slower), (WarmUpKind::Slowing, 2.0));
        let late: Vec<f64> = (0..22).map(|at| if at < 16 { 9.0 } else { 5.0 }).collect();
        assert_eq!(kind(&late), (WarmUpKind::NotSteady, 2.0));
    }
}
