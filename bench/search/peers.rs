//! Our search beside other ways to search, on the same apps and machines: how far each one's answer
//! is from the best when it is stopped at any moment.
//!
//! The others are given the goal that our own session settled, and a way to measure a capacity
//! that is as good as ours; ours has its own calibration in its time.

use std::path::PathBuf;
use std::time::Duration;

use sweetspot::stats::t_interval;
use sweetspot::terms::Configuration;

use crate::Result;
use crate::apps::{self, Case};
use crate::chart;
use crate::methods::{self, Course};
use crate::parallel;
use crate::session;
use crate::truth::Truths;

const OURS: &str = "sweetspot";
/// When the answers so far are looked at, seconds of the session.
const LOOKS: [f64; 10] = [45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 480.0, 900.0, 1800.0, 4320.0];
/// The chart's moments: this many, evenly on a log scale from the first to the last.
const MOMENTS: usize = 80;
const FIRST_MOMENT_S: f64 = 20.0;
/// As good as the best.
const GOOD: f64 = 0.95;

/// One method's answers in one session: their share of the best capacity at each look, and at each
/// of the chart's moments.
struct Qualities {
    looks: Vec<f64>,
    moments: Vec<f64>,
}

/// Compares, prints the table and writes the chart.
///
/// # Errors
/// A place fails us, a session settles no goal, or the chart cannot be written.
pub fn run(first: u64, count: u64, budget: Duration) -> Result<()> {
    let sessions = parallel::each(first, count, |seed| one(seed, budget))?;
    let names: Vec<&str> =
        std::iter::once(OURS).chain(methods::ALL.iter().map(|(name, _)| *name)).collect();
    println!("\n{count} sessions from seed {first}. Mean regret:\n");
    table(&names, |method, look| format!("{:.1} %", 100.0 * mean_regret(&sessions, method, look)));
    ahead(&names, &sessions);
    println!("\nSessions whose answer holds at least 95 % of the best:\n");
    table(&names, |method, look| {
        let good = sessions.iter().filter(|session| session[method].looks[look] >= GOOD).count();
        format!("{:.0} %", 100.0 * good as f64 / sessions.len() as f64)
    });
    let path = write_chart(&names, &sessions)?;
    println!("\nThe chart is {}.\n", path.display());
    Ok(())
}

/// By method, ours first.
fn one(seed: u64, budget: Duration) -> Result<Vec<Qualities>> {
    let case = apps::random(seed);
    let Some(ended) = session::run(&case, budget, seed)? else {
        return Err(format!("session {seed} settled no goal").into());
    };
    let chosen = ended.answer.choice.as_ref().map(|choice| choice.capacity.configuration);
    let truths = Truths::new(&case, ended.limit, chosen);
    let mut all = vec![qualities(&ended.course, &case, &truths)];
    let until = Duration::from_secs_f64(LOOKS[LOOKS.len() - 1]);
    for (_, method) in methods::ALL {
        let course = methods::run(method, &case, ended.limit, seed, until)?;
        all.push(qualities(&course, &case, &truths));
    }
    Ok(all)
}

fn qualities(course: &Course, case: &Case, truths: &Truths<'_>) -> Qualities {
    let boots = |c: Configuration| case.app.memory.of(c) <= case.app.memory.limit_bytes;
    let at = |moment_s: f64| {
        let so_far = course.iter().take_while(|(at_s, _)| *at_s <= moment_s).last();
        // Without an answer, or with one that does not boot, people run on with what they have.
        let answer = so_far.map(|(_, c)| *c).filter(|c| boots(*c));
        // What hardly fits into the memory may hold more than the best that does.
        truths.quality(answer.unwrap_or(case.app.current)).min(1.0)
    };
    Qualities {
        looks: LOOKS.iter().map(|&look| at(look)).collect(),
        moments: moments().map(at).collect(),
    }
}

fn moments() -> impl Iterator<Item = f64> {
    let span = (LOOKS[LOOKS.len() - 1] / FIRST_MOMENT_S).ln();
    (0..MOMENTS).map(move |i| FIRST_MOMENT_S * (span * i as f64 / (MOMENTS - 1) as f64).exp())
}

fn mean_regret(sessions: &[Vec<Qualities>], method: usize, look: usize) -> f64 {
    let sum: f64 = sessions.iter().map(|session| 1.0 - session[method].looks[look]).sum();
    sum / sessions.len() as f64
}

fn row(name: &str, cell: impl Fn(usize) -> String) {
    let cells: Vec<String> = (0..LOOKS.len()).map(cell).collect();
    println!("| {name} | {} |", cells.join(" | "));
}

/// A row for each method, a column for each look.
fn table(names: &[&str], cell: impl Fn(usize, usize) -> String) {
    row("stopped after", |look| format!("{} s", LOOKS[look]));
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
            .map(|session| 100.0 * (session[0].looks[look] - session[other].looks[look]))
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
            let regret = |index: usize| {
                let sum: f64 = sessions.iter().map(|s| 1.0 - s[method].moments[index]).sum();
                sum / sessions.len() as f64
            };
            let points = moments().enumerate().map(|(i, s)| (s, regret(i))).collect();
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
