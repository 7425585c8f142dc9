//! What a platform itself recorded of an app, minute by minute, where nothing finer was seen.
//!
//! In: minutes, and when a load was measured. Out: what of them belongs into that load's record.
//! Only computes.

use crate::terms::{
    BlindSpot, HostUse, LoadRun, MonitorRecord, MonitorSecond, ProcessMemory, ProcessUse, Role,
};

/// Seconds; what platforms keep nothing shorter than.
pub const MINUTE_S: i64 = 60;

/// Seconds; a load that is measured for this long has a whole minute in it.
const LONG_ENOUGH_S: f64 = 2.0 * MINUTE_S as f64;

/// More cores than any machine has, so that a number that was mistyped does no harm.
const MOST_CORES: f64 = 4096.0;

/// What all of an app used in one minute. A figure that is not recorded, or not yet, is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Minute {
    /// Its start, seconds since 1970.
    pub start_s: i64,
    /// CPU, mean, cores.
    pub cores: Option<f64>,
    /// Mean.
    pub memory_bytes: Option<u64>,
}

/// When a load was measured, its warm-up left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// When the load began, seconds since 1970.
    origin_s: f64,
    /// Start, seconds from there.
    at_s: f64,
    length_s: f64,
}

impl Measured {
    /// Of a load that began at `origin_s`, seconds since 1970.
    pub fn of(origin_s: f64, run: &LoadRun) -> Self {
        let length = run.duration.saturating_sub(run.warm_up);
        Self { origin_s, at_s: run.warm_up.as_secs_f64(), length_s: length.as_secs_f64() }
    }

    /// Where its first whole minute begins and the last one ends, seconds since 1970; `None`: it is
    /// too short to be sure of one.
    pub fn whole_minutes(&self) -> Option<(i64, i64)> {
        let (from_s, minute_s) = (self.origin_s + self.at_s, MINUTE_S as f64);
        let first = (from_s / minute_s).ceil() as i64;
        let last = ((from_s + self.length_s) / minute_s).floor() as i64;
        (self.length_s >= LONG_ENOUGH_S).then_some((first * MINUTE_S, last * MINUTE_S))
    }
}

/// Puts what was recorded of a load's whole minutes into its record; where nothing was, that stays
/// as it is. CPU: their mean stands for all of the load's measured part, in one interval, as the
/// cost of a request is that of the whole by all of its requests. Memory: that of the minute with
/// the most. `limit_cores`: what the app may use.
pub fn add(record: &mut MonitorRecord, minutes: &[Minute], measured: Measured, limit_cores: f64) {
    let cores: Vec<f64> = minutes.iter().filter_map(|it| it.cores).collect();
    let memory = minutes.iter().filter_map(|it| it.memory_bytes).max();
    if cores.is_empty() && memory.is_none() {
        return;
    }
    let is_nothing = |spot: &BlindSpot| {
        matches!(spot, BlindSpot::NothingWatched | BlindSpot::NoShellGiven { .. })
    };
    record.blind_spots.retain(|it| !it.fact().is_some_and(is_nothing));
    record.blind_spots.push(BlindSpot::OnlyWholeMinutes.into());
    if !cores.is_empty() {
        let mean = cores.iter().sum::<f64>() / cores.len() as f64;
        record.seconds.push(interval(mean, measured, limit_cores.clamp(0.001, MOST_CORES)));
    }
    record.memory.extend(memory.map(|pss_bytes| ProcessMemory {
        role: Role::Other,
        pss_bytes,
        ..ProcessMemory::default()
    }));
}

/// The whole measured part, with all of the app as one process.
fn interval(cores: f64, measured: Measured, limit_cores: f64) -> MonitorSecond {
    let share = (cores / limit_cores).clamp(0.0, 1.0);
    let cores_busy = vec![share; limit_cores.ceil() as usize];
    MonitorSecond {
        at_s: measured.at_s,
        length_s: measured.length_s,
        processes: vec![ProcessUse {
            role: Role::Other,
            name: "task".to_string(),
            cpu_s: cores * measured.length_s,
            ..ProcessUse::default()
        }],
        host: HostUse { cores_busy, ..HostUse::default() },
        ..MonitorSecond::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Stated;

    const GIB: u64 = 1 << 30;

    fn minute(start_s: i64, cores: Option<f64>, memory_bytes: Option<u64>) -> Minute {
        Minute { start_s, cores, memory_bytes }
    }

    fn measured(origin_s: f64, length_s: f64) -> Measured {
        Measured { origin_s, at_s: 5.0, length_s }
    }

    fn nothing() -> MonitorRecord {
        let blind_spots = vec![BlindSpot::NoShellGiven { has_platform: true }.into()];
        MonitorRecord { blind_spots, ..MonitorRecord::default() }
    }

    #[test]
    fn the_minutes_of_a_load_stand_for_all_of_it() {
        let minutes = [minute(660, Some(0.2), Some(2 * GIB)), minute(720, Some(0.3), Some(GIB))];
        let mut record = nothing();
        add(&mut record, &minutes, measured(640.0, 180.0), 1.5);
        let [second] = &record.seconds[..] else { panic!("{record:?}") };
        assert_eq!((second.at_s, second.length_s), (5.0, 180.0));
        assert!((second.processes[0].cpu_s - 0.25 * 180.0).abs() < 1e-9, "{second:?}");
        assert_eq!(second.host.cores_busy.len(), 2);
        assert!((second.host.cores_busy[0] - 0.25 / 1.5).abs() < 1e-9);
        assert_eq!(record.memory.len(), 1);
        assert_eq!(record.memory[0].pss_bytes, 2 * GIB);
        assert_eq!(record.blind_spots, [Stated::Fact(BlindSpot::OnlyWholeMinutes)]);
    }

    #[test]
    fn where_nothing_was_recorded_nothing_is_said_to_be() {
        for minutes in [&[][..], &[minute(660, None, None)][..]] {
            let mut record = nothing();
            add(&mut record, minutes, measured(640.0, 180.0), 1.0);
            assert_eq!(record, nothing());
        }
        let mut record = nothing();
        add(&mut record, &[minute(660, None, Some(GIB))], measured(640.0, 180.0), 1.0);
        assert!(record.seconds.is_empty() && record.memory[0].pss_bytes == GIB);
    }

    #[test]
    fn a_load_of_two_minutes_has_a_whole_one_and_a_shorter_one_is_not_sure_of_any() {
        assert_eq!(measured(655.0, 120.0).whole_minutes(), Some((660, 780)));
        assert_eq!(measured(655.5, 120.0).whole_minutes(), Some((720, 780)));
        assert_eq!(measured(640.0, 180.0).whole_minutes(), Some((660, 780)));
        assert_eq!(measured(655.0, 119.9).whole_minutes(), None);
    }
}
