//! What single measurements say, and how sure they are: a throughput or a latency with its error by
//! chance, and what a request takes of the CPU, alone and among other threads.
//!
//! In: observations. Out: figures that the fit begins with. Computes only.

use super::observe::Observation;
use crate::stats::mean_sd_log;

/// How sure a saturated throughput and an unloaded latency are taken to be however many requests
/// they are from, relative (drift of the machine, misfit of the formulas).
const MEASURED_SD: f64 = 0.05;
/// How sure the CPU of a request is taken to be, relative; it hardly depends on load.
pub(super) const CPU_SD: f64 = 0.03;
/// Before anything is known of what threads cost, [`super::Demand::switching`] is 0 give or take
/// this. Judgement.
const SWITCHING_SD: f64 = 0.3;

/// What a request takes of the CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    /// Logarithm of the seconds with one thread alone.
    pub alone_log: f64,
    /// [`super::Demand::switching`].
    pub switching: f64,
}

impl Cpu {
    /// The straight line through the logarithms against `1 - 1/T` with least squares, its slope
    /// drawn towards 0 and never below. `None` where no CPU was seen.
    pub fn of(observations: &[Observation]) -> Option<Self> {
        let point = |o: &Observation| {
            let cpu_s = o.cpu_per_request_s.filter(|cpu_s| cpu_s.is_finite() && *cpu_s > 0.0)?;
            let threads = if o.saturated_rps.is_some() { o.configuration.threads.get() } else { 1 };
            Some((1.0 - 1.0 / f64::from(threads), cpu_s.ln()))
        };
        let points: Vec<(f64, f64)> = observations.iter().filter_map(point).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| {
            points.iter().map(of).sum::<f64>() / points.len().max(1) as f64
        };
        let (x, y) = (mean(|it| it.0), mean(|it| it.1));
        let product = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>();
        let square = points.iter().map(|it| (it.0 - x).powi(2)).sum::<f64>();
        let switching = (product / (square + (CPU_SD / SWITCHING_SD).powi(2))).max(0.0);
        (!points.is_empty()).then_some(Self { alone_log: y - switching * x, switching })
    }
}

/// A measured figure, and how sure it is: standard deviation of its logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figure {
    pub value: f64,
    sd: f64,
}

impl Figure {
    /// The mean of so many replies with this squared coefficient of variation, or their rate.
    pub fn of(value: f64, replies: Option<u64>, cv2: f64) -> Option<Self> {
        let by_chance = replies.map_or(0.0, |replies| mean_sd_log(cv2, replies));
        let is_one = value.is_finite() && value > 0.0;
        is_one.then(|| Self { value, sd: MEASURED_SD.hypot(by_chance) })
    }

    /// How far off another figure is, in standard deviations.
    pub fn residual(self, predicted: f64) -> f64 {
        (predicted / self.value).ln() / self.sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Configuration;

    fn observed(threads: u16, cpu_s: f64, is_alone: bool) -> Observation {
        let saturated_rps = (!is_alone).then_some(50.0);
        let cpu_per_request_s = Some(cpu_s);
        let at = Configuration::new(2, threads).unwrap();
        Observation { saturated_rps, cpu_per_request_s, ..Observation::of(at) }
    }

    #[test]
    fn what_threads_cost_is_read_off_what_requests_take_with_few_and_many() {
        let cpu_s = |threads: f64| 0.02 * (0.3 * (1.0 - 1.0 / threads)).exp();
        let observations =
            [observed(5, 0.02, true), observed(1, 0.02, false), observed(8, cpu_s(8.0), false)];
        let cpu = Cpu::of(&observations).unwrap();
        assert!((cpu.switching - 0.3).abs() < 0.02, "{cpu:?}");
        assert!((cpu.alone_log - 0.02_f64.ln()).abs() < 0.01, "{cpu:?}");
        // Of one setting alone nothing is known of them; caches that threads share save nothing.
        assert_eq!(Cpu::of(&observations[2..]).unwrap().switching, 0.0);
        let less = [observed(1, 0.02, false), observed(8, 0.015, false)];
        assert_eq!(Cpu::of(&less).unwrap().switching, 0.0);
        assert!(Cpu::of(&[]).is_none());
    }

    #[test]
    fn few_requests_that_differ_much_tell_little() {
        let sd = |replies, cv2| Figure::of(50.0, replies, cv2).unwrap().sd;
        assert_eq!(sd(None, 4.0), MEASURED_SD);
        assert!((sd(Some(100), 4.0) - MEASURED_SD.hypot(0.2)).abs() < 1e-12);
        assert!(Figure::of(0.0, None, 1.0).is_none());
    }
}
