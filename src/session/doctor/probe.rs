//! A look that takes the processor: how evenly it computes.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::stats::{median, quantile};
use crate::terms::NoiseSpread;

const REPEATS: usize = 21;

/// Times one fixed computation again and again on each core, in about `budget` of time; on a
/// machine with many cores an even choice of them. `None` when no thread could be pinned.
pub(super) fn spread(cores: &[u16], budget: Duration) -> Option<NoiseSpread> {
    const CORES_MAX: usize = 16;
    let step = cores.len().div_ceil(CORES_MAX).max(1);
    let cores: Vec<u16> = cores.iter().copied().step_by(step).collect();
    let share = budget / (cores.len().max(1) * (REPEATS + 1)) as u32;
    // A thread of its own, so that pinning it leaves the caller alone.
    let times = thread::spawn(move || {
        let rounds = rounds_for(share.clamp(Duration::from_micros(500), Duration::from_millis(10)));
        cores.iter().filter_map(|&core| times_on(core, rounds)).collect::<Vec<_>>()
    });
    spread_of(&times.join().ok()?)
}

/// From seconds by core and repeat.
fn spread_of(times: &[Vec<f64>]) -> Option<NoiseSpread> {
    let medians: Vec<f64> = times.iter().filter_map(|times| median(times)).collect();
    let spread =
        |times: &Vec<f64>| Some((quantile(times, 0.9)? - quantile(times, 0.1)?) / median(times)?);
    let mut within: Vec<f64> = times.iter().filter_map(spread).collect();
    within.sort_by(f64::total_cmp);
    Some(NoiseSpread {
        // Of two cores the noisier.
        within_ratio: *within.get(within.len() / 2)?,
        between_ratio: quantile(&medians, 1.0)? / quantile(&medians, 0.0)? - 1.0,
        cores: times.len() as u32,
        repeats: times.first()?.len() as u32,
    })
}

/// How many rounds take about this long here.
fn rounds_for(time: Duration) -> u64 {
    const TRY: u64 = 200_000;
    let fastest = (0..3).map(|_| seconds_for(TRY)).fold(f64::INFINITY, f64::min);
    ((TRY as f64 * time.as_secs_f64() / fastest.max(1e-9)) as u64).max(1000)
}

fn times_on(core: u16, rounds: u64) -> Option<Vec<f64>> {
    pin_to(core)?;
    // The first time brings the core up to speed and is thrown away.
    seconds_for(rounds);
    Some((0..REPEATS).map(|_| seconds_for(rounds)).collect())
}

fn seconds_for(rounds: u64) -> f64 {
    let start = Instant::now();
    let mut value = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..rounds {
        // A chain of dependent steps: nothing for the compiler to shorten, no memory involved.
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
    start.elapsed().as_secs_f64()
}

/// Pins the calling thread.
fn pin_to(core: u16) -> Option<()> {
    let core = usize::from(core);
    if core >= CpuSet::MAX_CPU {
        return None;
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_tells_noise_on_a_core_from_a_slower_core() {
        let even: Vec<f64> = vec![1.0; 21];
        let slower: Vec<f64> = vec![1.2; 21];
        let noisy: Vec<f64> = (0..21).map(|i| 1.0 + f64::from(i) * 0.01).collect();
        let of = |times: &[Vec<f64>]| spread_of(times).unwrap();
        assert_eq!(of(&[even.clone(), even.clone()]).between_ratio, 0.0);
        assert!((of(&[even.clone(), slower]).between_ratio - 0.2).abs() < 1e-12);
        assert_eq!(of(&[even.clone(), even]).within_ratio, 0.0);
        assert!((of(&[noisy]).within_ratio - 0.16 / 1.1).abs() < 1e-12);
        assert_eq!(spread_of(&[]), None);
    }

    #[test]
    fn the_probe_leaves_the_calling_thread_where_it_was() {
        let before = crate::monitor::host::allowed_cores(0);
        let spread = spread(&before, Duration::from_millis(50)).unwrap();
        assert_eq!(spread.repeats as usize, REPEATS);
        assert!(spread.within_ratio >= 0.0 && spread.between_ratio >= 0.0);
        assert_eq!(crate::monitor::host::allowed_cores(0), before);
    }
}
