//! Whole sessions over random apps: is the answer near the best, do its intervals cover, what did
//! it take, and what had it been earlier.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sweetspot::report::Language;
use sweetspot::stats;
use sweetspot::terms::{Configuration, Note, PrecisionNote, SearchNote, Stated};

use super::apps::{self, Case, Truth};
use super::parallel;
use super::rows::BySeed;
use super::session::{self, Ended};
use super::truth::Truths;
use crate::common::Result;
use crate::common::bars::{Bar, Limit};
use crate::common::table::table;

/// When the answer so far is looked at, seconds of the session.
const LOOKS: [f64; 8] = [45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 450.0, 600.0];

#[derive(Clone, Serialize, Deserialize)]
struct One {
    truth: Truth,
    cores: u16,
    cells: usize,
    /// The app, the best and the chosen, for people.
    words: String,
    /// True capacity of the chosen divided by the true best.
    quality: f64,
    /// Printed capacity divided by the true one of the chosen.
    bias: f64,
    covers: bool,
    /// A fresh start held the printed rate at the session's end.
    is_held: bool,
    /// The truth holds the printed rate, and the lower end of its interval, for ten minutes.
    holds_printed: bool,
    holds_low: bool,
    width: f64,
    is_warned: bool,
    load_s: f64,
    elapsed_s: f64,
    trials: usize,
    /// Quality of the answer at each of [`LOOKS`].
    course: Vec<f64>,
    notes: Vec<Stated<Note>>,
}

pub fn run(first: u64, count: u64, budget: Duration) -> Result<Vec<Bar>> {
    let rows = BySeed::open(&format!("sessions-{}s", budget.as_secs()))?;
    let all = parallel::each(first, count, |seed| rows.of(seed, || one(seed, budget)))?;
    for one in all.iter().filter(|one| one.quality < 0.9) {
        println!("below 0.90: {}", one.line());
        for note in &one.notes {
            println!("      {}", Language::DATA.say(note));
        }
    }
    println!("\n{}\n{}\n{}\n{}", summary(&all), by_truth(&all), by_cores(&all), course(&all));
    Ok(bars(&all))
}

fn one(seed: u64, budget: Duration) -> Result<One> {
    let case = apps::random(seed);
    let ended = session::run(&case, budget, seed)?;
    let Some(ended) = ended else {
        return Err(format!("session {seed} settled no goal").into());
    };
    let chosen = ended.answer.choice.as_ref().map(|choice| choice.capacity.configuration);
    let truths = Truths::new(&case, ended.slo.tightest().limit, chosen);
    let Ended { answer, load_s, elapsed_s, trials, course, .. } = ended;
    let choice = answer.choice.as_ref();
    let (rps, chosen_rps) =
        (choice.map(|it| it.capacity.rps), chosen.map_or(0.0, |c| truths.of(c)));
    let at = |look: f64| {
        let so_far = course.iter().take_while(|(at_s, _)| *at_s <= look).last();
        // Without an answer people run on with what they have.
        truths.quality(so_far.map_or(case.app.current, |(_, c)| *c))
    };
    Ok(One {
        truth: case.truth,
        cores: case.app.cores as u16,
        cells: case.grid.len(),
        words: words(seed, &case, truths.best, chosen),
        quality: chosen.map_or(0.0, |c| truths.quality(c)),
        bias: rps.map_or(0.0, |rps| rps.value / chosen_rps),
        is_held: choice.is_some_and(|it| it.held.is_some()),
        holds_printed: rps.zip(chosen).is_some_and(|(rps, c)| truths.holds(c, rps.value)),
        holds_low: rps.zip(chosen).is_some_and(|(rps, c)| truths.holds(c, rps.low)),
        covers: rps.is_some_and(|rps| rps.low <= chosen_rps && chosen_rps <= rps.high),
        width: rps.map_or(0.0, |rps| rps.log_half_width()),
        is_warned: answer.notes.iter().filter_map(Stated::fact).any(is_warning),
        load_s,
        elapsed_s,
        trials,
        course: LOOKS.iter().map(|&look| at(look)).collect(),
        notes: answer.notes,
    })
}

/// Says that the answer may be far from the best.
fn is_warning(note: &Note) -> bool {
    matches!(
        note,
        Note::Search(SearchNote::UntriedMayHoldMore { .. } | SearchNote::NoTimeToConfirm)
            | Note::Precision(PrecisionNote::TooVague { .. })
    )
}

fn words(seed: u64, case: &Case, best: Configuration, chosen: Option<Configuration>) -> String {
    let app = &case.app;
    let chosen = chosen.map_or("-".to_string(), |c| c.to_string());
    format!(
        "{seed:5} cpu {:5.1} ms wait {:5.1} ms/{} cv2 {} cores {:2} drift {:.3} {:26} best {:6} \
         chosen {chosen:6}",
        app.cpu_s * 1e3,
        app.wait_s * 1e3,
        app.waits,
        app.cv2,
        app.cores,
        app.drift.wander,
        case.truth.words(),
        best.to_string(),
    )
}

impl One {
    fn line(&self) -> String {
        format!(
            "{} quality {:.3} bias {:.3} width {:.3} {} {} {:3} trials {:.0} s load {:.0} s",
            self.words,
            self.quality,
            self.bias,
            self.width,
            if self.covers { "covers" } else { "MISSES" },
            if self.holds_printed { "holds" } else { "HOLDS NOT" },
            self.trials,
            self.elapsed_s,
            self.load_s
        )
    }
}

fn quantile(all: &[One], of: impl Fn(&One) -> f64, q: f64) -> f64 {
    stats::quantile(&all.iter().map(of).collect::<Vec<_>>(), q).unwrap_or(f64::NAN)
}

/// Percent of these.
fn percent<'a>(all: impl Iterator<Item = &'a One>, is_it: impl Fn(&One) -> bool) -> f64 {
    let is: Vec<bool> = all.map(is_it).collect();
    100.0 * is.iter().filter(|is| **is).count() as f64 / is.len().max(1) as f64
}

impl One {
    fn is_good(&self) -> bool {
        self.quality >= 0.95
    }

    fn is_bad(&self) -> bool {
        self.quality < 0.9
    }

    /// It is bad, and nobody was told.
    fn misleads(&self) -> bool {
        self.is_bad() && !self.is_warned
    }

    fn is_unsteady(&self) -> bool {
        self.notes.iter().any(|note| matches!(note.fact(), Some(Note::Steadiness(_))))
    }

    /// Load by that of the full grid.
    fn of_grid(&self) -> f64 {
        self.load_s / self.grid_s()
    }

    fn grid_s(&self) -> f64 {
        self.cells as f64 * 180.0
    }
}

/// Load of all by that of all full grids.
fn of_grids(all: &[One]) -> f64 {
    let [load_s, grid_s] = [|one: &One| one.load_s, One::grid_s].map(|of| all.iter().map(of).sum());
    let (load_s, grid_s): (f64, f64) = (load_s, grid_s);
    load_s / grid_s
}

fn bars(all: &[One]) -> Vec<Bar> {
    let share = |is_it: fn(&One) -> bool| Some(percent(all.iter(), is_it));
    let covers = share(|one| one.covers);
    let [holds, holds_low] = [share(|one| one.holds_printed), share(|one| one.holds_low)];
    vec![
        Bar::new(
            "recommended at least 95 % of the best, %",
            share(One::is_good),
            Limit::AtLeast(95.0),
        ),
        Bar::new("under 90 % without a warning, %", share(One::misleads), Limit::AtMost(0.2)),
        Bar::new("intervals that cover, %", covers, Limit::AtLeast(92.0)),
        Bar::new("intervals that cover, %", covers, Limit::AtMost(98.0)),
        Bar::new("printed rates that hold for ten minutes, %", holds, Limit::AtLeast(95.0)),
        Bar::new("lower ends that hold for ten minutes, %", holds_low, Limit::AtLeast(99.0)),
        Bar::new("load of the full grid's", Some(of_grids(all)), Limit::AtMost(0.1)),
    ]
}

fn summary(all: &[One]) -> String {
    let share = |is_it: fn(&One) -> bool| percent(all.iter(), is_it);
    let at = |of: fn(&One) -> f64, q| quantile(all, of, q);
    let bias = |q| at(|one| one.bias, q);
    let [width, wide] = [0.5, 0.95].map(|q| 100.0 * at(|one| one.width, q));
    let [load_s, elapsed_s] = [at(|one| one.load_s, 0.5), at(|one| one.elapsed_s, 0.5)];
    let rows = [
        ("recommended at least 95 % of the best", format!("{:.1} %", share(One::is_good))),
        ("under 90 %", format!("{:.2} %", share(One::is_bad))),
        ("under 90 % without a warning", format!("{:.2} %", share(One::misleads))),
        ("sessions with a warning", format!("{:.1} %", share(|one| one.is_warned))),
        ("sessions called not steady", format!("{:.1} %", share(One::is_unsteady))),
        ("95 % intervals of capacity that cover", format!("{:.1} %", share(|one| one.covers))),
        ("held by a fresh start at the end", format!("{:.1} %", share(|one| one.is_held))),
        (
            "printed rate, lower end that hold for ten minutes",
            format!("{:.1} %, {:.1} %", share(|one| one.holds_printed), share(|one| one.holds_low)),
        ),
        (
            "half width of an interval, median; 95th percentile",
            format!("{width:.1} %; {wide:.1} %"),
        ),
        (
            "printed over true capacity, median; 5th to 95th percentile",
            format!("{:.3}; {:.3} to {:.3}", bias(0.5), bias(0.05), bias(0.95)),
        ),
        (
            "load seconds, median; of the full grid's in all; at most",
            format!("{load_s:.0} s; {:.3}; {:.3}", of_grids(all), at(One::of_grid, 1.0)),
        ),
        (
            "seconds of a session, median; longest",
            format!("{elapsed_s:.0}; {:.0}", at(|one| one.elapsed_s, 1.0)),
        ),
    ];
    let sessions = format!("{} sessions", all.len());
    table(&[&sessions, ""], rows.map(|(what, figure)| [what.to_string(), figure]))
}

/// What of some sessions is good, by what they have in common.
fn grouped<'a>(what: &str, groups: impl IntoIterator<Item = (String, Vec<&'a One>)>) -> String {
    let row = |(name, of): (String, Vec<&One>)| {
        let share = |is_it: fn(&One) -> bool| percent(of.iter().copied(), is_it);
        [
            name,
            of.len().to_string(),
            format!("{:.1} %", share(One::is_good)),
            format!("{:.2} %", share(One::is_bad)),
            format!("{:.1} %", share(|one| one.covers)),
        ]
    };
    let head = [what, "sessions", "at least 95 %", "under 90 %", "intervals that cover"];
    table(&head, groups.into_iter().map(row))
}

fn by_truth(all: &[One]) -> String {
    let of = |truth: Truth| all.iter().filter(|one| one.truth == truth).collect();
    grouped("the truth has", Truth::ALL.map(|truth| (truth.words().to_string(), of(truth))))
}

fn by_cores(all: &[One]) -> String {
    let mut cores: BTreeMap<u16, Vec<&One>> = BTreeMap::new();
    all.iter().for_each(|one| cores.entry(one.cores).or_default().push(one));
    grouped("cores", cores.into_iter().map(|(cores, of)| (cores.to_string(), of)))
}

fn course(all: &[One]) -> String {
    let row = |(index, look): (usize, &f64)| {
        let regret = |one: &One| 1.0 - one.course[index];
        let mean = all.iter().map(regret).sum::<f64>() / all.len() as f64;
        [
            format!("{look} s"),
            format!("{:.2} %", 100.0 * mean),
            format!("{:.1} %", 100.0 * quantile(all, regret, 0.95)),
            format!("{:.1} %", percent(all.iter(), |one| one.course[index] >= 0.95)),
        ]
    };
    let head = ["stopped after", "mean regret", "95th percentile", "at least 95 %"];
    table(&head, LOOKS.iter().enumerate().map(row))
}
