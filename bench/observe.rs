//! Does `observe` find what changed, and nothing where nothing did? Weeks of two halves of a fleet,
//! and of one fleet before and after, with daily and weekly seasons, incidents and gaps, looked at
//! every hour.
//!
//! Run by `make bench-observe`. Seeds follow from the commit's hash; `SEED` is the first of a run
//! while developing. `WEEKS` (2000) is how many of each.

mod week;

use std::time::Instant;

use sweetspot::observe::{Design, Observed, judge};
use sweetspot::stats::{AnytimeMean, t_quantile};
use sweetspot::terms::{ComparedSide, FigureKind, Standing};

use crate::common::bars::{self, Bar, Limit};
use crate::common::options::at_least;
use crate::common::seeds::first_seed;
use crate::common::table::table;
use crate::common::{Result, machine};
use crate::search::parallel;
use week::{Change, Week};

const HOURS: u32 = 7 * 24;
/// What is to be found: p95 a tenth higher.
const CHANGE: f64 = 1.1;
/// A test finds what it is made for in so many of all cases.
const POWER: f64 = 0.8;

/// When what was said first, by hours looked at.
#[derive(Clone, Copy)]
struct Seen {
    better: Option<u32>,
    worse: Option<u32>,
    /// Hours after which a test that is looked at once, then, would have said so.
    fixed: [bool; HOURS as usize + 1],
}

impl Seen {
    fn change(&self) -> Option<u32> {
        self.better.into_iter().chain(self.worse).min()
    }
}

pub fn run() -> Result<()> {
    let began = Instant::now();
    let weeks: u64 = at_least(50, "WEEKS", 2000)?;
    let first = first_seed()?;
    println!("{}\n", machine::line());
    let each = |design, change| {
        parallel::each(first, weeks, |seed| Ok(seen(&Week::new(seed, design, change))))
    };
    let same = each(Design::AtOnce, Change::None)?;
    let slower = each(Design::AtOnce, Change::By(CHANGE))?;
    let same_later = each(Design::BeforeAfter, Change::None)?;
    let slower_later = each(Design::BeforeAfter, Change::By(CHANGE))?;
    let trend = each(Design::BeforeAfter, Change::Trend)?;
    let percent = |count: usize| 100.0 * count as f64 / weeks as f64;
    let alarms = |all: &[Seen]| percent(all.iter().filter(|it| it.change().is_some()).count());
    let (found, fixed) = (
        by_then(&slower, |it, hour| it.worse.is_some_and(|at| at <= hour)),
        by_then(&slower, |it, hour| it.fixed[hour as usize]),
    );
    let mut hours: Vec<u32> = slower.iter().map(|it| it.worse.unwrap_or(HOURS + 1)).collect();
    hours.sort_unstable();
    let wrong = slower.iter().filter(|it| it.better.is_some()).count();
    let row = |what: &str, figure: String| [what.to_string(), figure];
    let hour =
        |hour: Option<u32>| hour.map_or("not within the week".into(), |it| format!("{it} h"));
    let rows = [
        row("at once, nothing changed: weeks with an alarm", format!("{:.2} %", alarms(&same))),
        row("at once, p95 10 % higher: found in the week", format!("{:.1} %", alarms(&slower))),
        row("... half of them after", hour(hours.get(hours.len() / 2).copied())),
        row("... 80 % of all after", hour(found)),
        row("... by a test that is looked at once, then", hour(fixed)),
        row("... called better at some time", format!("{:.2} %", percent(wrong))),
        row(
            "before and after, nothing changed: weeks with an alarm",
            format!("{:.2} %", alarms(&same_later)),
        ),
        row(
            "before and after, p95 10 % higher: found in the week",
            format!("{:.1} %", alarms(&slower_later)),
        ),
        row(
            "before and after, a trend alone: weeks with an alarm",
            format!("{:.2} %", alarms(&trend)),
        ),
    ];
    println!("{}", table(&[&format!("{weeks} weeks each, looked at every hour"), ""], rows));
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    let times = found.zip(fixed).map(|(found, fixed)| f64::from(found) / f64::from(fixed));
    bars::hold(&[
        Bar::new("at once: false alarms, % of weeks", Some(alarms(&same)), Limit::AtMost(5.0)),
        Bar::new(
            "before and after: false alarms, %",
            Some(alarms(&same_later)),
            Limit::AtMost(5.0),
        ),
        Bar::new("10 % of p95 found, in times of a fixed test", times, Limit::AtMost(1.5)),
    ])
}

/// The first hour by which enough of all weeks show it.
fn by_then(all: &[Seen], is_shown: impl Fn(&Seen, u32) -> bool) -> Option<u32> {
    (1..=HOURS).find(|hour| {
        all.iter().filter(|it| is_shown(it, *hour)).count() as f64 >= POWER * all.len() as f64
    })
}

fn seen(week: &Week) -> Seen {
    let mut seen = Seen { better: None, worse: None, fixed: [false; HOURS as usize + 1] };
    for hour in 1..=HOURS {
        let (a, b) = week.until(hour);
        let report = judge(
            (ComparedSide::default(), ComparedSide::default()),
            (&a, &b),
            week.design,
            Vec::new(),
        );
        let place = match report.change {
            Some(Standing::Better) => Some(&mut seen.better),
            Some(Standing::Worse) => Some(&mut seen.worse),
            _ => None,
        };
        place.into_iter().for_each(|first| *first = first.or(Some(hour)));
        if week.design == Design::AtOnce {
            seen.fixed[hour as usize] = is_found_at_once(&a, &b);
        }
    }
    seen
}

/// Whether a t-test of the same blocks with the same allowance for neighbours that are alike would
/// say that B is more, were it looked at this once.
fn is_found_at_once(a: &Observed, b: &Observed) -> bool {
    let pairs = Design::AtOnce.pairs(FigureKind::LatencyP95, a, b);
    let Some(mean) = AnytimeMean::of(&pairs.differences, Design::AtOnce.before(a.block_s)) else {
        return false;
    };
    let degrees = mean.independent - 1.0;
    let half = t_quantile(0.975, degrees) * (mean.variance / mean.independent).sqrt();
    degrees > 0.0 && mean.mean > half
}
