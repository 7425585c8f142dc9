//! The ways to cut an app into pods: the first is what settings are searched with, the others are
//! tried as changes of what was found, with as many workers in all.
//!
//! In: numbers of pods. Out: changes, and numbers of workers that all of them can share. Only
//! computes.

use super::cluster_error::ClusterError;
use crate::server::pods::CUT;
use crate::terms::Change;

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
pub fn check(workers: &[u16], cuts: &[u16]) -> Result<(), ClusterError> {
    let together = together(cuts);
    let pairs = workers.iter().flat_map(|workers| cuts.iter().map(move |pods| (*workers, *pods)));
    match pairs.into_iter().find(|(workers, pods)| workers % pods != 0) {
        Some((workers, pods)) => Err(ClusterError::NotShared { workers, pods, together }),
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
        let refused = ClusterError::NotShared { workers: 6, pods: 4, together: 4 };
        assert_eq!(check(&[4, 6], &[1, 2, 4]), Err(refused));
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
