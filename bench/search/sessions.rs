//! Whole sessions over random apps: is the answer near the best, do its intervals cover, what did
//! it take, and what had it been earlier.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sweetspot::report::Language;
use sweetspot::terms::{Configuration, Note, PrecisionNote, SearchNote, Stated};

use crate::Result;
use crate::apps::{self, Case, Truth};
use crate::parallel;
use crate::rows::Rows;
use crate::session::{self, Ended};
use crate::truth::Truths;

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
    width: f64,
    is_warned: bool,
    load_s: f64,
    elapsed_s: f64,
    trials: usize,
    /// Quality of the answer at each of [`LOOKS`].
    course: Vec<f64>,
    notes: Vec<Stated<Note>>,
}

pub fn run(first: u64, count: u64, budget: Duration) -> Result<()> {
    let is_verbose = std::env::var_os("VERBOSE").is_some();
    let rows = Rows::open(&format!("sessions-{}s", budget.as_secs()))?;
    let all = parallel::each(first, count, |seed| {
        let one = rows.of(seed, || one(seed, budget))?;
        if is_verbose {
            println!("{}", one.line());
        }
        Ok(one)
    })?;
    for one in all.iter().filter(|one| one.quality < 0.9) {
        println!("below 0.90: {}", one.line());
        for note in &one.notes {
            println!("      {}", Language::DATA.say(note));
        }
    }
    table(&all);
    by_truth(&all);
    course(&all);
    Ok(())
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
            "{} quality {:.3} bias {:.3} width {:.3} {} {:3} trials {:.0} s load {:.0} s",
            self.words,
            self.quality,
            self.bias,
            self.width,
            if self.covers { "covers" } else { "MISSES" },
            self.trials,
            self.elapsed_s,
            self.load_s
        )
    }
}

fn quantile(all: &[One], of: impl Fn(&One) -> f64, q: f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}

fn percent<'a>(all: impl Iterator<Item = &'a One>, is_it: impl Fn(&One) -> bool) -> f64 {
    let (mut yes, mut count) = (0, 0);
    for one in all {
        count += 1;
        yes += u32::from(is_it(one));
    }
    100.0 * f64::from(yes) / f64::from(count.max(1))
}

fn table(all: &[One]) {
    let share = |is_it: &dyn Fn(&One) -> bool| percent(all.iter(), is_it);
    let grid_s = all.iter().map(|one| one.cells as f64 * 180.0).sum::<f64>();
    let load_s = all.iter().map(|one| one.load_s).sum::<f64>();
    let grid_most = |one: &One| one.load_s / (one.cells as f64 * 180.0);
    println!("\n| {} sessions | |\n|---|---|", all.len());
    println!("| recommended at least 95 % of the best | {:.1} % |", share(&|s| s.quality >= 0.95));
    println!("| under 90 % | {:.2} % |", share(&|s| s.quality < 0.9));
    println!(
        "| under 90 % without a warning | {:.2} % |",
        share(&|s| s.quality < 0.9 && !s.is_warned)
    );
    println!("| sessions with a warning | {:.1} % |", share(&|s| s.is_warned));
    let is_unsteady =
        |s: &One| s.notes.iter().any(|it| matches!(it.fact(), Some(Note::Steadiness(_))));
    println!("| sessions called not steady | {:.1} % |", share(&is_unsteady));
    println!("| 95 % intervals of capacity that cover | {:.1} % |", share(&|s| s.covers));
    println!(
        "| half width of an interval, median; 95th percentile | {:.1} %; {:.1} % |",
        100.0 * quantile(all, |s| s.width, 0.5),
        100.0 * quantile(all, |s| s.width, 0.95)
    );
    println!(
        "| printed over true capacity, median; 5th to 95th percentile | {:.3}; {:.3} to {:.3} |",
        quantile(all, |s| s.bias, 0.5),
        quantile(all, |s| s.bias, 0.05),
        quantile(all, |s| s.bias, 0.95)
    );
    println!(
        "| load seconds, median; of the full grid's in all; at most | {:.0} s; {:.3}; {:.3} |",
        quantile(all, |s| s.load_s, 0.5),
        load_s / grid_s,
        quantile(all, grid_most, 1.0)
    );
    println!(
        "| seconds of a session, median; longest | {:.0}; {:.0} |\n",
        quantile(all, |s| s.elapsed_s, 0.5),
        quantile(all, |s| s.elapsed_s, 1.0)
    );
}

fn by_truth(all: &[One]) {
    println!("| the truth has | sessions | at least 95 % | under 90 % | intervals that cover |");
    println!("|---|---|---|---|---|");
    for truth in Truth::ALL {
        let of = || all.iter().filter(|one| one.truth == truth);
        println!(
            "| {} | {} | {:.1} % | {:.2} % | {:.1} % |",
            truth.words(),
            of().count(),
            percent(of(), |s| s.quality >= 0.95),
            percent(of(), |s| s.quality < 0.9),
            percent(of(), |s| s.covers)
        );
    }
    println!();
    let mut cores: BTreeMap<u16, Vec<&One>> = BTreeMap::new();
    all.iter().for_each(|one| cores.entry(one.cores).or_default().push(one));
    println!("| cores | sessions | at least 95 % | under 90 % | intervals that cover |");
    println!("|---|---|---|---|---|");
    for (cores, of) in cores {
        println!(
            "| {cores} | {} | {:.1} % | {:.2} % | {:.1} % |",
            of.len(),
            percent(of.iter().copied(), |s| s.quality >= 0.95),
            percent(of.iter().copied(), |s| s.quality < 0.9),
            percent(of.iter().copied(), |s| s.covers)
        );
    }
    println!();
}

fn course(all: &[One]) {
    println!(
        "| stopped after | mean regret | 95th percentile | at least 95 % |\n|---|---|---|---|"
    );
    for (index, look) in LOOKS.iter().enumerate() {
        let mean = all.iter().map(|one| 1.0 - one.course[index]).sum::<f64>() / all.len() as f64;
        println!(
            "| {look} s | {:.2} % | {:.1} % | {:.1} % |",
            100.0 * mean,
            100.0 * quantile(all, |one| 1.0 - one.course[index], 0.95),
            percent(all.iter(), |one| one.course[index] >= 0.95)
        );
    }
    println!();
}
