//! Where warm-up ends: the marginal standard error rule.

/// Where to cut a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Values to leave out at the beginning; 0 when nothing is to be cut.
    pub at: usize,
    /// False when the series had not settled by its middle: it is too short or does not settle.
    pub is_in_first_half: bool,
}

/// Leaves out the beginning that makes the mean of the rest least certain.
///
/// MSER-m (White 1997; m = 5 in White, Cobb and Spratt 2000): over means z_1..z_k of `batch`
/// values the cut is the number of batches d that minimises
///
/// ```text
/// 1/(k-d)^2  sum over j > d of (z_j - mean of z_(d+1)..z_k)^2
/// ```
///
/// The rule nibbles at noise, so the cut is kept only when the mean of what it leaves out differs
/// from the rest by more than three standard errors. At least five batches must remain; a series of
/// fewer than ten is not cut. Values that are not finite make a series uncuttable.
pub fn mser5(values: &[f64], batch: usize) -> Cut {
    const NONE: Cut = Cut { at: 0, is_in_first_half: true };
    let batch = batch.max(1);
    let means: Vec<f64> =
        values.chunks_exact(batch).map(|chunk| chunk.iter().sum::<f64>() / batch as f64).collect();
    let k = means.len();
    if k < 10 || values.iter().any(|value| !value.is_finite()) {
        return NONE;
    }
    let mut best = (f64::INFINITY, 0, Moments::default());
    let mut rest = Moments::default();
    // From the end, so that every value is added once.
    for d in (0..k).rev() {
        rest.add(means[d]);
        let statistic = rest.squares / (rest.count * rest.count);
        if rest.count >= 5.0 && statistic <= best.0 {
            best = (statistic, d, rest);
        }
    }
    let (_, d, rest) = best;
    if d == 0 || !is_different(&means[..d], rest) {
        return NONE;
    }
    Cut { at: d * batch, is_in_first_half: 2 * d < k }
}

/// Running mean and sum of squared differences from it (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }
}

fn is_different(cut: &[f64], rest: Moments) -> bool {
    let count = cut.len() as f64;
    let mean = cut.iter().sum::<f64>() / count;
    let variance = rest.squares / (rest.count - 1.0);
    let error = (variance * (1.0 / count + 1.0 / rest.count)).sqrt();
    (mean - rest.mean).abs() > 3.0 * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn noisy(length: usize, seed: u64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..length).map(|i| shape(i as f64) + random.random_range(-0.05..0.05)).collect()
    }

    #[test]
    fn a_slow_start_is_cut_and_little_more() {
        let values = noisy(200, 1, |i| 1.0 + (-i / 8.0).exp());
        let cut = mser5(&values, 5);
        assert!((15..=50).contains(&cut.at) && cut.is_in_first_half, "{cut:?}");
    }

    #[test]
    fn a_step_is_cut_where_it_is() {
        let values = noisy(100, 2, |i| if i < 20.0 { 2.0 } else { 1.0 });
        assert_eq!(mser5(&values, 5), Cut { at: 20, is_in_first_half: true });
    }

    #[test]
    fn a_late_step_is_not_in_the_first_half() {
        let values = noisy(100, 3, |i| if i < 70.0 { 2.0 } else { 1.0 });
        assert_eq!(mser5(&values, 5), Cut { at: 70, is_in_first_half: false });
    }

    #[test]
    fn noise_alone_is_seldom_cut() {
        let cut = (0..1000).filter(|&seed| mser5(&noisy(60, seed, |_| 1.0), 5).at > 0).count();
        assert!(cut <= 100, "{cut} of 1000 series of pure noise were cut");
    }

    #[test]
    fn short_or_broken_series_are_left_whole() {
        assert_eq!(mser5(&[9.0, 1.0, 1.0, 1.0], 1).at, 0);
        assert_eq!(mser5(&[], 5).at, 0);
        let mut values = noisy(100, 2, |i| if i < 20.0 { 2.0 } else { 1.0 });
        values[3] = f64::NAN;
        assert_eq!(mser5(&values, 5).at, 0);
    }
}
