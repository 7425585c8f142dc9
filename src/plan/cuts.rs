//! The ways to cut an app into pods: the first is what settings are searched with, the others are
//! tried as changes of what was found, with as many workers in all.
//!
//! In: the settings. Out: numbers of pods, changes, and numbers of workers that all of them can
//! share. Only computes.

use super::error::{PlanError, Problem};
use super::options::Key;
use super::range::parse_counts;
use super::settings::{Given, Settings};
use crate::server::pods::CUT;
use crate::terms::{Bytes, Change, Cores};

/// More take longer than anybody waits: each is measured beside the first.
const MOST_CUTS: usize = 5;
/// Workers that pods of each cut share evenly.
const MOST_TOGETHER: u16 = 64;
/// Of a pod: with less no app server starts.
const LEAST_CORES: f64 = 0.01;
const LEAST_MEMORY: Bytes = Bytes(16 << 20);
/// By how much a quotient of typed numbers may miss a whole one.
const ROUNDING: f64 = 1e-6;

/// Into how many pods these cores and this memory are cut: each number a way to do it, ascending.
/// Where both are given, those that follow from the sizes of pods and are among the numbers.
///
/// # Errors
/// What was given names no pods, pods that have too little or uneven shares, or too many ways.
pub fn asked(settings: &Settings<'_>, cores: Cores, memory: Bytes) -> Result<Vec<u16>, PlanError> {
    let Some(given) = given(settings) else { return Ok(vec![1]) };
    let cuts = match (settings.get(Key::CpusPerPod), settings.get(Key::Pods)) {
        (None, _) => given.read(|text| by_number(text, cores))?.value,
        (Some(sizes), None) => sizes.read(|text| by_size(text, cores))?.value,
        (Some(sizes), Some(numbers)) => {
            let numbers = numbers.read(parse_counts)?.value;
            let mut cuts = sizes.read(|text| by_size(text, cores))?.value;
            cuts.retain(|pods| numbers.contains(pods));
            if cuts.is_empty() {
                return Err(sizes.problem(Problem::NotAmongPods));
            }
            cuts
        }
    };
    if cuts.len() > MOST_CUTS || together(&cuts) > MOST_TOGETHER {
        return Err(given.problem(Problem::Cuts { most: MOST_CUTS, workers: MOST_TOGETHER }));
    }
    let most = f64::from(cuts[cuts.len() - 1]);
    let is_enough =
        cores.get() / most >= LEAST_CORES && memory.0 as f64 / most >= LEAST_MEMORY.0 as f64;
    if is_enough { Ok(cuts) } else { Err(given.problem(Problem::TooThin)) }
}

/// What says how the app is cut; `None`: it runs in one pod.
pub fn given<'s>(settings: &'s Settings<'_>) -> Option<Given<'s>> {
    settings.get(Key::CpusPerPod).or_else(|| settings.get(Key::Pods))
}

/// The numbers that are written, and those of a range by which each pod gets whole cores, or all
/// there is. With less than a core each there are more pods than cores, and so more workers, as
/// each pod has at least one: that is for whoever names the number.
fn by_number(text: &str, cores: Cores) -> Result<Vec<u16>, Problem> {
    let mut cuts = parse_counts(text)?;
    let is_one = cuts == [1];
    let named: Vec<u16> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    let is_shared = |pods: u16| pods == 1 || is_whole(cores.get() / f64::from(pods));
    cuts.retain(|pods| named.contains(pods) || is_shared(*pods));
    if cuts.is_empty() || (cuts == [1] && !is_one) {
        return Err(Problem::NoUsualShare { cores: cores.to_string() });
    }
    Ok(cuts)
}

/// How many pods of each of these sizes there are, which are written as `1,2,4` or `0.5`.
fn by_size(text: &str, cores: Cores) -> Result<Vec<u16>, Problem> {
    let mut cuts = Vec::new();
    for size in text.split(',') {
        let each = size.parse::<Cores>()?;
        let pods = cores.get() / each.get();
        if !is_whole(pods) {
            let (size, cores, fitting) = (each.to_string(), cores.to_string(), sizes(cores));
            return Err(Problem::NotDivided { size, cores, fitting });
        }
        cuts.push(pods.round() as u16);
    }
    cuts.sort_unstable();
    cuts.dedup();
    Ok(cuts)
}

/// Does each of so many pods get an amount that pods are given: all there is, whole cores, half a
/// core or a quarter?
fn is_usual(cores: Cores, pods: u16) -> bool {
    let each = cores.get() / f64::from(pods);
    pods == 1 || is_whole(each) || [0.5, 0.25].iter().any(|it| (each - it).abs() < ROUNDING)
}

fn is_whole(number: f64) -> bool {
    number > 0.5 && (number - number.round()).abs() < ROUNDING
}

/// Sizes of pods that divide these cores, the largest first.
fn sizes(cores: Cores) -> String {
    let usual = (1..=MOST_TOGETHER).filter(|pods| is_usual(cores, *pods));
    let sizes = usual.map(|pods| (cores.get() / f64::from(pods)).to_string());
    sizes.collect::<Vec<_>>().join(", ")
}

/// All but the first, as changes.
pub fn changes(cuts: &[u16]) -> Vec<Change> {
    let change = |pods: &u16| Change {
        knob: CUT.to_string(),
        name: format!("{CUT}={pods}"),
        env: [].into(),
        settings: [(CUT.to_string(), pods.to_string())].into(),
    };
    cuts.iter().skip(1).map(change).collect()
}

/// The least number of workers that pods of each of these numbers share evenly.
pub fn together(cuts: &[u16]) -> u16 {
    let multiples = |of: u16, most: u16| (1..=most).map(move |times| of.saturating_mul(times));
    let common = |a: u16, b: u16| multiples(a, b).find(|it| it % b == 0).unwrap_or(u16::MAX);
    cuts.iter().fold(1, |all, pods| common(all, *pods))
}

/// Those of the usual numbers of workers that can be shared; at least the smallest there is.
pub fn shared(usual: Vec<u16>, cuts: &[u16]) -> Vec<u16> {
    let together = together(cuts);
    let shared: Vec<u16> = usual.into_iter().filter(|count| count % together == 0).collect();
    if shared.is_empty() { vec![together] } else { shared }
}

/// # Errors
/// Some of these workers cannot be shared.
pub fn check(workers: &[u16], cuts: &[u16]) -> Result<(), Problem> {
    let together = together(cuts);
    let pairs = workers.iter().flat_map(|workers| cuts.iter().map(move |pods| (*workers, *pods)));
    match pairs.into_iter().find(|(workers, pods)| workers % pods != 0) {
        Some((workers, pods)) => Err(Problem::NotShared { workers, pods, together }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_numbers_that_pods_of_each_cut_share_evenly() {
        assert_eq!([together(&[1]), together(&[1, 2, 4]), together(&[2, 3])], [1, 4, 6]);
        assert_eq!(shared((1..=8).collect(), &[1, 2]), [2, 4, 6, 8]);
        assert_eq!(shared(vec![1, 2], &[1, 3]), [3]);
        assert_eq!(check(&[4, 8], &[1, 2, 4]), Ok(()));
        let refused = Problem::NotShared { workers: 6, pods: 4, together: 4 };
        assert_eq!(check(&[4, 6], &[1, 2, 4]), Err(refused));
    }

    #[test]
    fn of_a_range_those_numbers_are_taken_by_which_each_pod_gets_whole_cores() {
        let of = |cores: f64, text: &str| by_number(text, Cores::new(cores).unwrap());
        for (cores, text, expected) in [
            (8.0, "1..8", vec![1, 2, 4, 8]),
            (4.0, "1..8", vec![1, 2, 4]),
            (2.0, "1..8", vec![1, 2]),
            (6.0, "1..8", vec![1, 2, 3, 6]),
            (8.0, "3,1..=4", vec![1, 2, 3, 4]),
            (8.0, "3, 5", vec![3, 5]),
            (1.0, "1..2,4", vec![1, 4]),
            (0.3, "1", vec![1]),
            (0.3, "1..1", vec![1]),
        ] {
            assert_eq!(of(cores, text), Ok(expected), "{text} of {cores}");
        }
        // One way alone is none to choose from, and was not asked for.
        for (cores, text) in [(8.0, "5..7"), (7.5, "1..8"), (1.0, "1..4"), (8.0, "1,5..7")] {
            let none = Problem::NoUsualShare { cores: cores.to_string() };
            assert_eq!(of(cores, text), Err(none), "{text} of {cores}");
        }
        assert!(of(8.0, "1..").is_err());
    }

    #[test]
    fn sizes_of_pods_say_how_many_there_are() {
        let of = |cores: f64, text: &str| by_size(text, Cores::new(cores).unwrap());
        assert_eq!(of(8.0, "1,2,4"), Ok(vec![2, 4, 8]));
        assert_eq!(of(1.5, " 0.5, 1.5,0.50"), Ok(vec![1, 3]));
        assert_eq!(of(0.3, "0.1"), Ok(vec![3]), "though these do not divide exactly");
        let fitting = |text: &str| of(8.0, text).unwrap_err().to_string();
        let expected = "8 cores make no whole number of pods with 3 each; sizes that divide them: \
                        8, 4, 2, 1, 0.5, 0.25";
        assert_eq!(fitting("1,3"), expected);
        assert!(fitting("16").starts_with("8 cores make no whole number of pods with 16 each"));
        assert!(of(8.0, "1,,2").is_err() && of(8.0, "0").is_err() && of(8.0, "two").is_err());
    }

    #[test]
    fn every_cut_but_the_first_is_a_change() {
        let names = |cuts: &[u16]| -> Vec<String> {
            changes(cuts).into_iter().map(|change| change.name).collect()
        };
        assert_eq!(names(&[1]), Vec::<String>::new());
        assert_eq!(names(&[1, 2, 4]), ["pods=2", "pods=4"]);
    }
}
