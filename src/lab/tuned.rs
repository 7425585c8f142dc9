//! Does the setting that `tune` chose hold as much as the one that the article ended with?
//!
//! In: both settings and pairs of their capacities. Out: their ratio with its interval, and a
//! verdict. Only computes.

use super::definition::{Definition, Tuning};
use super::matrix::runs;
use crate::stats::log_ratio_interval;
use crate::terms::{Configuration, Holds, LabPair};

/// A setting this much below the article's is as good as it.
const MARGIN: f64 = 0.97;

/// Of the experiment's runs, as people measure by hand: three times a minute.
const BY_HAND_S: f64 = 180.0;

/// The setting that the article ended with, on this many cores; `None` when it has no workers.
pub fn article(tuning: &Tuning, cores: u16) -> Option<Configuration> {
    let article = &tuning.article;
    Configuration::new(article.workers.on(cores), article.threads.on(cores)).ok()
}

/// How long the experiment's settings take when they are measured by hand.
pub fn by_hand_s(definition: &Definition, cores: u16) -> f64 {
    let settings = runs(definition, false, cores);
    settings.iter().filter(|run| run.setting.repeat == 1).count() as f64 * BY_HAND_S
}

/// Geometric mean of the pairs' ratios with its interval, and whether the chosen setting is as
/// good; exactly 1 for the same setting.
pub fn compare(
    chosen: Option<Configuration>,
    article: Configuration,
    pairs: &[LabPair],
) -> (Option<f64>, Option<[f64; 2]>, Holds) {
    if chosen == Some(article) {
        return (Some(1.0), Some([1.0, 1.0]), Holds::Yes);
    }
    let both = pairs.iter().filter_map(|pair| Some((pair.chosen_rps?, pair.article_rps?)));
    match log_ratio_interval(&both.collect::<Vec<_>>(), 0.95) {
        None => (None, None, Holds::Undecided),
        Some(ratio) => {
            let holds = match ratio.interval() {
                [low, _] if low >= MARGIN => Holds::Yes,
                [_, high] if high < MARGIN => Holds::No,
                _ => Holds::Undecided,
            };
            (Some(ratio.value), Some(ratio.interval()), holds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(chosen: f64, article: f64) -> LabPair {
        LabPair { chosen_rps: Some(chosen), article_rps: Some(article) }
    }

    #[test]
    fn a_setting_within_three_percent_or_better_holds() {
        let setting = |workers, threads| Configuration::new(workers, threads).unwrap();
        let (chosen, article) = (setting(2, 8), setting(4, 2));
        let judge = |pairs: &[LabPair]| compare(Some(chosen), article, pairs).2;
        assert_eq!(
            judge(&[pair(101.0, 100.0), pair(100.0, 100.0), pair(102.0, 100.0)]),
            Holds::Yes
        );
        assert_eq!(judge(&[pair(80.0, 100.0), pair(82.0, 100.0), pair(81.0, 100.0)]), Holds::No);
        assert_eq!(judge(&[pair(80.0, 100.0), pair(120.0, 100.0)]), Holds::Undecided);
        assert_eq!(judge(&[pair(99.0, 100.0)]), Holds::Undecided, "one pair has no interval");
        assert_eq!(judge(&[]), Holds::Undecided);
    }

    #[test]
    fn the_same_setting_need_not_be_measured_against_itself() {
        let same = Configuration::new(2, 8).unwrap();
        let ratio = (Some(1.0), Some([1.0, 1.0]), Holds::Yes);
        assert_eq!(compare(Some(same), same, &[]), ratio);
    }
}
