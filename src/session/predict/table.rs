//! Predictions over a whole grid at once, for a page whose reader moves about in it.

use super::doubts;
use super::known::{goal_of, measured, threads_of, usual_workers};
use super::question::Question;
use crate::model::{Expected, Form, Measured};
use crate::report::Story;
use crate::terms::{Configuration, Cores, PredictTable, QuantileLimit, Wait};

/// In relation to the cores that were measured.
const CORES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// In relation to the waits that were measured.
const WAITS: [f64; 3] = [0.5, 1.0, 2.0];
/// A place takes a millisecond to compute, and a report should be there at once: more than
/// these are asked for under `serve`, or with `predict`.
const WORKERS_MOST: usize = 6;
const THREADS_MOST: usize = 4;

/// The places of a table: what its sliders can be set to.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    pub cores: Vec<f64>,
    pub waits: Vec<f64>,
    pub workers: Vec<u16>,
    pub threads: Vec<u16>,
}

/// The table that a file carries along; `None` where nothing can be fitted to the session.
pub fn usual(story: &Story) -> Option<PredictTable> {
    let cores = cores_around(story.machine.as_ref()?.cores.get());
    let most = cores.iter().copied().fold(1.0, f64::max);
    let threads = thinned(threads_of(story), THREADS_MOST);
    let places = Places {
        cores,
        waits: WAITS.to_vec(),
        workers: thinned(usual_workers(most), WORKERS_MOST),
        threads,
    };
    table(story, &places)
}

/// The table over these places; `None` as in [`usual`].
pub fn table(story: &Story, places: &Places) -> Option<PredictTable> {
    let machine = story.machine.as_ref()?;
    let goal = goal_of(story)?;
    let known = measured(story, machine, goal)?;
    let threads = match known.form {
        Form::EventLoop => vec![1],
        _ => places.threads.clone(),
    };
    let all = expected(&known, places, &threads, goal);
    let question = Question::default();
    let asked = question.what_if(goal, machine.cores);
    let capacities = || all.iter().map(|it| it.as_ref()?.capacity_rps);
    Some(PredictTable {
        cores: places.cores.clone(),
        waits: places.waits.clone(),
        workers: places.workers.clone(),
        capacity_rps: capacities().map(|it| Some(it?.value)).collect(),
        low_rps: capacities().map(|it| Some(it?.low)).collect(),
        high_rps: capacities().map(|it| Some(it?.high)).collect(),
        memory_bytes: all.iter().map(|it| it.as_ref()?.memory_bytes).collect(),
        limit: all.iter().map(|it| Some(it.as_ref()?.limit)).collect(),
        threads,
        measured_cores: machine.cores.get(),
        doubts: doubts::warnings(story, &known, &question, &asked, &[], &[]),
    })
}

/// Of each place, in the table's order.
fn expected(
    known: &Measured,
    places: &Places,
    threads: &[u16],
    goal: QuantileLimit,
) -> Vec<Option<Expected>> {
    let mut all = Vec::new();
    for cores in places.cores.iter().filter_map(|&cores| Cores::new(cores).ok()) {
        for &wait in &places.waits {
            let question = Question { wait: Wait::Times(wait), ..Question::default() };
            let what_if = question.what_if(goal, cores);
            let grid = places.workers.iter().flat_map(|&w| threads.iter().map(move |&t| (w, t)));
            all.extend(grid.map(|(workers, threads)| {
                let at = Configuration::new(workers, threads).ok()?;
                Some(known.expect(at, &what_if))
            }));
        }
    }
    all
}

/// Less than one core is asked about only where a server had no more.
fn cores_around(measured: f64) -> Vec<f64> {
    let least = measured.min(1.0);
    CORES.iter().map(|times| times * measured).filter(|it| *it >= least).collect()
}

/// Of many the first, the last, and some between, evenly by their order.
fn thinned(counts: Vec<u16>, most: usize) -> Vec<u16> {
    if counts.len() <= most {
        return counts;
    }
    let step = (counts.len() - 1) as f64 / (most - 1) as f64;
    let mut kept: Vec<u16> =
        (0..most).map(|at| counts[(at as f64 * step).round() as usize]).collect();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_that_were_measured_are_asked_about_however_few() {
        for (measured, expected) in [
            (0.2, vec![0.2, 0.4, 0.8]),
            (0.5, vec![0.5, 1.0, 2.0]),
            (1.0, vec![1.0, 2.0, 4.0]),
            (1.5, vec![1.5, 3.0, 6.0]),
            (4.0, vec![2.0, 4.0, 8.0, 16.0]),
        ] {
            assert_eq!(cores_around(measured), expected, "{measured}");
        }
    }

    #[test]
    fn many_counts_are_thinned_to_the_first_the_last_and_some_between() {
        assert_eq!(thinned(vec![1, 2, 3], 6), [1, 2, 3]);
        let kept = thinned((1..=40).collect(), 6);
        assert_eq!((kept.len(), kept[0], kept[5]), (6, 1, 40));
        assert!(kept.windows(2).all(|two| two[0] < two[1]));
    }
}
