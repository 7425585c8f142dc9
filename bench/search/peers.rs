//! Our search beside other ways to search, on the same apps and machines: how far each one's answer
//! is from the best when so much time was given.
//!
//! All are given the same goal, and the others a way to measure a capacity that is as good as ours.
//! Ours is told the time beforehand, as those are who type `--budget`; the others answer with what
//! they have by then.

use std::path::PathBuf;
use std::time::Duration;

use sweetspot::stats::{PriorSpread, shrunk_interval};
use sweetspot::terms::{Configuration, Slo};

use super::apps::{self, Case};
use super::methods::{self, Course};
use super::truth::Truths;
use super::{chart, parallel, session};
use crate::common::bars::{Bar, Limit};
use crate::common::spread::mean;
use crate::common::table::table;
use crate::common::{Result, checkout};

const OURS: &str = "sweetspot";
/// The times that are given, seconds.
const LOOKS: [f64; 10] = [45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 480.0, 900.0, 1800.0, 4320.0];
/// Enough for the goal to be settled as one client alone suggests.
const GOAL_BUDGET: Duration = Duration::from_secs(30);
/// As good as the best.
const GOOD: f64 = 0.95;

/// One method's answers in one session: their share of the best capacity, by the time given.
type Qualities = Vec<f64>;

/// Compares, prints the table and writes the chart.
///
/// # Errors
/// A place fails us, a session settles no goal, or the chart cannot be written.
pub fn run(first: u64, count: u64) -> Result<Vec<Bar>> {
    let sessions = parallel::each(first, count, one)?;
    let names: Vec<&str> =
        std::iter::once(OURS).chain(methods::ALL.iter().map(|(name, _)| *name)).collect();
    let looks = LOOKS.map(|look| format!("{look} s"));
    let head: Vec<&str> =
        std::iter::once("time given").chain(looks.iter().map(String::as_str)).collect();
    let regret = |method, look| mean_regret(&sessions, method, look);
    let regrets = names
        .iter()
        .enumerate()
        .map(|(method, name)| row(name, |look| format!("{:.1} %", 100.0 * regret(method, look))));
    println!("\n{count} sessions from seed {first}. Mean regret:\n");
    println!("{}", table(&head, regrets.chain(ahead(&names, &sessions))));
    let shares = names.iter().enumerate().map(|(method, name)| {
        row(name, |look| {
            let good = sessions.iter().filter(|session| session[method][look] >= GOOD).count();
            format!("{:.0} %", 100.0 * good as f64 / sessions.len() as f64)
        })
    });
    println!("\nSessions whose answer holds at least 95 % of the best:\n");
    println!("{}", table(&head, shares));
    let path = write_chart(&names, &sessions)?;
    println!("\nThe chart is {}.\n", path.display());
    let is_behind = |look: &usize| (1..names.len()).any(|it| regret(it, *look) < regret(0, *look));
    let behind = (0..LOOKS.len()).filter(is_behind).count() as f64;
    Ok(vec![Bar::new("times given at which another is ahead", Some(behind), Limit::AtMost(0.0))])
}

/// By method, ours first.
fn one(seed: u64) -> Result<Vec<Qualities>> {
    let case = apps::random(seed);
    let Some(settled) = session::run(&case, GOAL_BUDGET, seed)? else {
        return Err(format!("session {seed} settled no goal").into());
    };
    let slo = settled.slo;
    let limit = slo.tightest().limit;
    let mut courses = vec![ours(&case, &slo, seed)?];
    let until = Duration::from_secs_f64(LOOKS[LOOKS.len() - 1]);
    for (_, method) in methods::ALL {
        let course = methods::run(method, &case, &slo, seed, until)?;
        courses.push(LOOKS.map(|look| answer_at(&course, look)));
    }
    // Who was searched longest is likely the best.
    let truths = Truths::new(&case, limit, courses[0][LOOKS.len() - 1]);
    let quality = |answer: &Option<Configuration>| quality(*answer, &case, &truths);
    Ok(courses.iter().map(|course| course.iter().map(quality).collect()).collect())
}

/// What ours answers with each of the times as its budget.
fn ours(case: &Case, slo: &Slo, seed: u64) -> Result<[Option<Configuration>; LOOKS.len()]> {
    let mut answers = [None; LOOKS.len()];
    for (answer, look) in answers.iter_mut().zip(LOOKS) {
        let budget = Duration::from_secs_f64(look);
        let ended = session::run_for(case, Some(slo.clone()), budget, seed)?;
        // What a session that overran its time found out then does not count.
        *answer = ended.and_then(|ended| answer_at(&ended.course, look));
    }
    Ok(answers)
}

fn answer_at(course: &Course, look: f64) -> Option<Configuration> {
    course.iter().take_while(|(at_s, _)| *at_s <= look).last().map(|(_, c)| *c)
}

/// Without an answer, or with one that does not boot, people run on with what they have.
fn quality(answer: Option<Configuration>, case: &Case, truths: &Truths<'_>) -> f64 {
    let boots = |c: &Configuration| case.app.memory.of(*c) <= case.app.memory.limit_bytes;
    // What hardly fits into the memory may hold more than the best that does.
    truths.quality(answer.filter(boots).unwrap_or(case.app.current)).min(1.0)
}

fn mean_regret(sessions: &[Vec<Qualities>], method: usize, look: usize) -> f64 {
    let regrets: Vec<f64> = sessions.iter().map(|session| 1.0 - session[method][look]).collect();
    mean(&regrets).unwrap_or(f64::NAN)
}

/// A cell for each look.
fn row(name: &str, cell: impl Fn(usize) -> String) -> Vec<String> {
    std::iter::once(name.to_string()).chain((0..LOOKS.len()).map(cell)).collect()
}

/// Ours against the best of the others at each look, session by session.
fn ahead(names: &[&str], sessions: &[Vec<Qualities>]) -> [Vec<String>; 2] {
    let best_other = |look: usize| {
        let regret = |method: &usize| mean_regret(sessions, *method, look);
        (1..names.len()).min_by(|a, b| regret(a).total_cmp(&regret(b))).unwrap_or(0)
    };
    let difference = row("its regret less ours, 95 % interval", |look| {
        let other = best_other(look);
        let by: Vec<f64> = sessions
            .iter()
            .map(|session| 100.0 * (session[0][look] - session[other][look]))
            .collect();
        shrunk_interval(&by, PriorSpread::NONE, 0.95).map_or("-".to_string(), |by| {
            format!("{:.1} ({:.1} to {:.1})", by.value, by.low, by.high)
        })
    });
    [row("best of the others", |look| names[best_other(look)].to_string()), difference]
}

fn write_chart(names: &[&str], sessions: &[Vec<Qualities>]) -> Result<PathBuf> {
    let lines: Vec<chart::Line> = names
        .iter()
        .enumerate()
        .map(|(method, name)| {
            let regret = |(look, &s): (usize, &f64)| (s, mean_regret(sessions, method, look));
            let points = LOOKS.iter().enumerate().map(regret).collect();
            chart::Line { name: name.to_string(), points }
        })
        .collect();
    let path = std::env::var_os("CHART")
        .map_or_else(|| checkout("target/bench-search/regret.svg"), PathBuf::from);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let failed = |error| format!("could not write {} (CHART): {error}", path.display());
    std::fs::write(&path, chart::svg(&lines)).map_err(failed)?;
    Ok(path)
}
