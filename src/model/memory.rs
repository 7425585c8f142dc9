//! Memory of a configuration, from the memory of others.

use serde::{Deserialize, Serialize};

use super::least_squares::nonnegative;
use crate::stats::t_quantile;
use crate::terms::{Bytes, Configuration, MemoryParts};

/// `shared + W (worker + T thread)`, bytes; no part is negative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryModel {
    /// Pages that all processes share, and the master's own.
    pub shared_bytes: f64,
    /// Each worker's own.
    pub worker_bytes: f64,
    /// Each thread's.
    pub thread_bytes: f64,
}

/// How much a part that the points say nothing about is held at zero: as a residual of 1 % would
/// be.
const HOLD: f64 = 1e-4;
/// A thread's part is small beside a worker's unless the points say otherwise.
const THREAD_SCALE: f64 = 10.0;

/// Fits memory (sums of proportional set sizes, bytes) of measured configurations; `None` without a
/// point above zero. From one point all of it is put down to the workers, which is on the safe side
/// for more of them.
///
/// Least squares of the relative residuals, `shared` and `thread` held weakly at zero (ridge), over
/// the subsets of parts that come out non-negative.
pub fn memory(points: &[(Configuration, u64)]) -> Option<MemoryModel> {
    let points: Vec<_> = points.iter().copied().filter(|&(_, bytes)| bytes > 0).collect();
    if points.is_empty() {
        return None;
    }
    let scale = points.iter().map(|&(_, bytes)| bytes as f64).sum::<f64>() / points.len() as f64;
    let rows: Vec<[f64; 3]> = points
        .iter()
        .map(|&(configuration, bytes)| columns(configuration).map(|column| column / bytes as f64))
        .collect();
    let [shared, worker, thread] = nonnegative(&rows, hold(scale), 1)?;
    Some(MemoryModel { shared_bytes: shared, worker_bytes: worker, thread_bytes: thread })
}

impl MemoryModel {
    fn parts(self) -> [f64; 3] {
        [self.shared_bytes, self.worker_bytes, self.thread_bytes]
    }

    /// Expected memory, bytes.
    pub fn predict(&self, configuration: Configuration) -> u64 {
        let [one, workers, slots] = columns(configuration);
        let bytes =
            self.shared_bytes * one + self.worker_bytes * workers + self.thread_bytes * slots;
        bytes.round() as u64
    }
}

/// A server may fill this share of the memory that it may use.
pub const FULL: f64 = 0.95;

/// Can a server that needs this many bytes run in that memory? The rest stays free.
pub fn fits(needs: u64, memory: Bytes) -> bool {
    needs as f64 <= memory.0 as f64 * FULL
}

/// With fewer points the spread of a part says nothing.
const POINTS_FOR_INTERVALS: usize = 4;

/// The parts that [`memory`] finds, with their intervals: how much each changes when one
/// configuration is left out (the jackknife: Efron and Tibshirani, 1993, chapter 11), never below
/// zero. `None` without a point above zero.
pub fn memory_parts(points: &[(Configuration, u64)]) -> Option<MemoryParts> {
    let points: Vec<_> = points.iter().copied().filter(|&(_, bytes)| bytes > 0).collect();
    let whole = memory(&points)?.parts();
    let without = |left_out: usize| {
        let mut rest = points.clone();
        rest.remove(left_out);
        memory(&rest).map(MemoryModel::parts)
    };
    let replicates: Option<Vec<[f64; 3]>> = (0..points.len()).map(without).collect();
    let replicates = replicates.filter(|all| all.len() >= POINTS_FOR_INTERVALS);
    // Parts that no two points tell apart have no interval: the fit has put one down to the other.
    let varies = |of: fn(&Configuration) -> u16| {
        points.windows(2).any(|pair| of(&pair[0].0) != of(&pair[1].0))
    };
    let (workers_vary, threads_vary) = (varies(|c| c.workers.get()), varies(|c| c.threads.get()));
    let is_told = [workers_vary, workers_vary && threads_vary, threads_vary];
    let interval = |part: usize| {
        if !is_told[part] {
            return None;
        }
        let values: Vec<f64> = replicates.as_ref()?.iter().map(|parts| parts[part]).collect();
        let half = jackknife_half(&values);
        Some([(whole[part] - half).max(0.0).round() as u64, (whole[part] + half).round() as u64])
    };
    Some(MemoryParts {
        shared_bytes: whole[0].round() as u64,
        shared_bytes_interval: interval(0),
        worker_bytes: whole[1].round() as u64,
        worker_bytes_interval: interval(1),
        thread_bytes: whole[2].round() as u64,
        thread_bytes_interval: interval(2),
    })
}

/// Half of the 95 % interval from values that each leave one point out.
fn jackknife_half(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    t_quantile(0.975, n - 1.0) * ((n - 1.0) / n * squares).sqrt()
}

fn columns(configuration: Configuration) -> [f64; 3] {
    [1.0, f64::from(configuration.workers.get()), f64::from(configuration.slots())]
}

/// Ridge per part: shared, worker, thread.
fn hold(scale: f64) -> [f64; 3] {
    [HOLD / scale.powi(2), 0.0, HOLD * (THREAD_SCALE / scale).powi(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1048576.0;

    fn point(workers: u16, threads: u16, mib: f64) -> (Configuration, u64) {
        (Configuration::new(workers, threads).unwrap(), (mib * MIB) as u64)
    }

    fn predicted_mib(points: &[(Configuration, u64)], workers: u16, threads: u16) -> f64 {
        let configuration = Configuration::new(workers, threads).unwrap();
        memory(points).unwrap().predict(configuration) as f64 / MIB
    }

    #[test]
    fn one_point_is_put_down_to_the_workers() {
        let points = [point(2, 5, 200.0)];
        assert!((predicted_mib(&points, 4, 5) - 400.0).abs() < 2.0);
        assert!((predicted_mib(&points, 2, 5) - 200.0).abs() < 1.0);
    }

    #[test]
    fn two_worker_counts_tell_what_is_shared() {
        let points = [point(1, 1, 90.0), point(3, 1, 150.0)];
        assert!((predicted_mib(&points, 5, 1) - 210.0).abs() < 4.0);
    }

    #[test]
    fn three_different_points_are_met() {
        let truth = |w: u16, t: u16| 50.0 + f64::from(w) * (40.0 + 2.0 * f64::from(t));
        let points: Vec<_> =
            [(1, 1), (1, 16), (4, 4), (2, 8)].map(|(w, t)| point(w, t, truth(w, t))).to_vec();
        for (w, t) in [(1, 1), (4, 16), (3, 5)] {
            assert!((predicted_mib(&points, w, t) / truth(w, t) - 1.0).abs() < 0.02, "{w} x {t}");
        }
    }

    #[test]
    fn parts_have_intervals_that_hold_the_truth_and_widen_with_the_scatter() {
        let truth = |w: u16, t: u16| 50.0 + f64::from(w) * (40.0 + 2.0 * f64::from(t));
        let measured = |scatter: f64| -> Vec<_> {
            [(1, 1), (1, 16), (4, 4), (2, 8), (3, 1), (4, 16)]
                .iter()
                .enumerate()
                .map(|(at, &(w, t))| {
                    let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
                    point(w, t, truth(w, t) * (1.0 + sign * scatter))
                })
                .collect()
        };
        let width = |scatter: f64| {
            let parts = memory_parts(&measured(scatter)).unwrap();
            let [low, high] = parts.worker_bytes_interval.unwrap().map(|bytes| bytes as f64 / MIB);
            assert!(low <= 41.0 && high >= 39.0, "{low}..{high} for 40 MiB");
            high - low
        };
        assert!(width(0.0) < 4.0);
        assert!(width(0.05) > width(0.01));
        let same_workers: Vec<_> =
            [1, 2, 4, 8].map(|t| point(2, t, 150.0 + 2.0 * f64::from(t))).to_vec();
        let parts = memory_parts(&same_workers).unwrap();
        assert_eq!((parts.shared_bytes_interval, parts.worker_bytes_interval), (None, None));
        let few = memory_parts(&measured(0.0)[..3]).unwrap();
        assert_eq!(few.worker_bytes_interval, None);
        assert_eq!(memory_parts(&[]), None);
    }

    #[test]
    fn nothing_comes_out_negative_and_nothing_from_nothing() {
        let points = [point(1, 1, 100.0), point(2, 1, 230.0), point(1, 8, 90.0)];
        let model = memory(&points).unwrap();
        assert!(model.shared_bytes >= 0.0 && model.thread_bytes >= 0.0);
        assert_eq!(memory(&[]), None);
        assert_eq!(memory(&[(Configuration::new(1, 1).unwrap(), 0)]), None);
    }
}
