//! Our search beside other ways to search, on the same apps and machines: how far each one's answer
//! is from the best when so much time was given.
//!
//! All are given the same goal, and the others a way to measure a capacity that is as good as ours.
//! Ours is told the time beforehand, as those are who type `--budget`; the others answer with what
//! they have by then.

use std::path::PathBuf;
use std::time::Duration;

use sweetspot::stats::t_interval;
use sweetspot::terms::{Configuration, Slo};

use crate::Result;
use crate::apps::{self, Case};
use crate::chart;
use crate::methods::{self, Course};
use crate::parallel;
use crate::session;
use crate::truth::Truths;

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
pub fn run(first: u64, count: u64) -> Result<()> {
    let sessions = parallel::each(first, count, one)?;
    let names: Vec<&str> =
        std::iter::once(OURS).chain(methods::ALL.iter().map(|(name, _)| *name)).collect();
    println!("\n{count} sessions from seed {first}. Mean regret:\n");
    table(&names, |method, look| format!("{:.1} %", 100.0 * mean_regret(&sessions, method, look)));
    ahead(&names, &sessions);
    println!("\nSessions whose answer holds at least 95 % of the best:\n");
    table(&names, |method, look| {
        let good = sessions.iter().filter(|session| session[method][look] >= GOOD).count();
        format!("{:.0} %", 100.0 * good as f64 / sessions.len() as f64)
    });
    let path = write_chart(&names, &sessions)?;
    println!("\nThe chart is {}.\n", path.display());
    Ok(())
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
    let sum: f64 = sessions.iter().map(|session| 1.0 - session[method][look]).sum();
    sum / sessions.len() as f64
}

fn row(name: &str, cell: impl Fn(usize) -> String) {
    let cells: Vec<String> = (0..LOOKS.len()).map(cell).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

/// A row for each method, a column for each look.
fn table(names: &[&str], cell: impl Fn(usize, usize) -> String) {
    row("time given", |look| format!("{} s", LOOKS[look]));
    println!("|---|{}", "---|".repeat(LOOKS.len()));
    for (method, name) in names.iter().enumerate() {
        row(name, |look| cell(method, look));
    }
}

/// Ours against the best of the others at each look, session by session.
fn ahead(names: &[&str], sessions: &[Vec<Qualities>]) {
    let best_other = |look: usize| {
        let regret = |method: &usize| mean_regret(sessions, *method, look);
        (1..names.len()).min_by(|a, b| regret(a).total_cmp(&regret(b))).unwrap_or(0)
    };
    row("best of the others", |look| names[best_other(look)].to_string());
    row("its regret less ours, 95 % interval", |look| {
        let other = best_other(look);
        let by: Vec<f64> = sessions
            .iter()
            .map(|session| 100.0 * (session[0][look] - session[other][look]))
            .collect();
        t_interval(&by, 0.95).map_or("-".to_string(), |by| {
            format!("{:.1} ({:.1} to {:.1})", by.value, by.low, by.high)
        })
    });
    row("ours is ahead", |look| {
        let (ours, other) =
            (mean_regret(sessions, 0, look), mean_regret(sessions, best_other(look), look));
        if ours < other { "yes" } else { "no" }.to_string()
    });
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
    let path = std::env::var_os("CHART").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench-search/regret.svg"),
        PathBuf::from,
    );
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let failed = |error| format!("could not write {} (CHART): {error}", path.display());
    std::fs::write(&path, chart::svg(&lines)).map_err(failed)?;
    Ok(path)
}
