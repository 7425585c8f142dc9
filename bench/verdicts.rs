//! How often each verdict of `compare --revisions` falls, of pairs whose difference is known: the
//! simulated tables of docs/compare.md.
//!
//! Run by `make bench-verdicts`; it needs no idle machine. `PAIRS` (3000) is how many there are of
//! each kind, `SEED` (1) the first one's.

mod pairs;

use std::time::Instant;

use sweetspot::search::RevisionsAnswer;
use sweetspot::terms::Standing;

use crate::common::Result;
use crate::common::bars::{self, Bar, Limit};
use crate::common::options::{at_least, number};
use crate::common::table::table;
use crate::search::parallel;
use pairs::{Failing, Kind};

/// What six minutes have room for.
const BLOCKS_MAX: u32 = 7;

/// Which requests of A and of B fail.
const FAILING: [(&str, [Failing; 2]); 10] = [
    ("none", [Failing::NONE; 2]),
    ("1 in 10,000 of both", [Failing::always(1e-4); 2]),
    ("1 % of both", [Failing::always(0.01); 2]),
    ("5 % of both", [Failing::always(0.05); 2]),
    ("0.5 % of B's, always", [Failing::NONE, Failing::always(0.005)]),
    ("1 % of B's, always", [Failing::NONE, Failing::always(0.01)]),
    ("2 % of B's, always", [Failing::NONE, Failing::always(0.02)]),
    ("5 % of B's, always", [Failing::NONE, Failing::always(0.05)]),
    ("30 % in half of B's starts", [Failing::NONE, Failing::HALF]),
    ("30 % in half of all starts", [Failing::HALF; 2]),
];

/// What starts differ by in p95 and memory.
const ROUGH: [(&str, [f64; 2]); 4] = [
    ("6 %, 1 %", [0.06, 0.01]),
    ("12 %, 3 %", [0.12, 0.03]),
    ("25 %, 6 %", [0.25, 0.06]),
    ("40 %, 6 %", [0.4, 0.06]),
];

/// What holds of an answer.
type Holds = fn(&RevisionsAnswer) -> bool;

/// Pairs of each kind.
struct Bench {
    first: u64,
    pairs: u64,
}

pub fn run() -> Result<()> {
    let began = Instant::now();
    let bench = Bench { first: number("SEED", 1)?, pairs: at_least(100, "PAIRS", 3000)? };
    println!("{} pairs of each kind, seeds from {}\n", bench.pairs, bench.first);
    let of_b = bench.print_failures()?;
    bench.print_failures_besides()?;
    let different = bench.print_equal()?;
    let found = bench.print_slower()?;
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    bars::hold(&[
        Bar::new("equal pairs called different, most of a kind, %", different, Limit::AtMost(5.0)),
        Bar::new("1 % of B's requests fail: called worse, %", of_b, Limit::AtLeast(95.0)),
        Bar::new("5 % more CPU a request, 7 blocks: found, %", Some(found), Limit::AtLeast(90.0)),
    ])
}

impl Bench {
    fn answers(&self, kind: Kind, blocks_max: u32) -> Result<Vec<RevisionsAnswer>> {
        parallel::each(self.first, self.pairs, |seed| Ok(kind.answer(blocks_max, seed)))
    }

    /// The share of which `is_it` holds, after each of these numbers of blocks at the most.
    fn after(&self, kind: Kind, blocks_max: &[u32], is_it: Holds) -> Result<Vec<f64>> {
        let mut shares = Vec::new();
        for most in blocks_max {
            shares.push(percent(&self.answers(kind, *most)?, is_it));
        }
        Ok(shares)
    }

    /// The share that is called worse where 1 % of B's requests fail, percent.
    fn print_failures(&self) -> Result<Option<f64>> {
        let (mut rows, mut of_b) = (Vec::new(), None);
        for (what, failing) in FAILING {
            let answers = self.answers(Kind { failing, ..Kind::EQUAL }, BLOCKS_MAX)?;
            let share = |change: Standing| percent(&answers, |it| it.change == change);
            let worse = share(Standing::Worse);
            let others = [Standing::Better, Standing::Undecided, Standing::Equivalent].map(share);
            if failing == [Failing::NONE, Failing::always(0.01)] {
                of_b = Some(worse);
            }
            rows.push(row(what, std::iter::once(worse).chain(others)));
        }
        let head = ["which requests fail", "worse", "better", "undecided", "equivalent"];
        println!("{}", table(&head, rows));
        Ok(of_b)
    }

    fn print_failures_besides(&self) -> Result<()> {
        let kind = |failing| Kind { failing, ..Kind::EQUAL };
        let free = |failing| Kind { is_failing_free: true, ..kind(failing) };
        let (none, half) = (Failing::NONE, Failing::HALF);
        let of_b = [none, Failing::always(0.02)];
        let all: [(&str, Kind, u32, Holds); 4] = [
            ("30 % in half of all starts: different, 3 blocks", kind([half; 2]), 3, is_changed),
            ("2 % of B's, always: worse, 4 blocks", kind(of_b), 4, is_worse),
            ("30 % in half of all starts, free: different", free([half; 2]), 7, is_changed),
            ("30 % in half of A's starts, free: worse", free([half, none]), 7, is_worse),
        ];
        let mut rows = Vec::new();
        for (what, kind, most, is_it) in all {
            rows.push(row(what, self.after(kind, &[most], is_it)?));
        }
        println!("{}", table(&["besides; free: requests that fail cost no CPU", ""], rows));
        Ok(())
    }

    /// The largest share that is called different of those whose CPU and capacity differ by what
    /// was measured, percent.
    fn print_equal(&self) -> Result<Option<f64>> {
        let blocks = [3, 4, BLOCKS_MAX];
        let [cpu, capacity, ..] = Kind::EQUAL.sd_log;
        let (mut rows, mut most) = (Vec::new(), None);
        for (what, [p95, memory]) in ROUGH {
            let kind = Kind { sd_log: [cpu, capacity, p95, memory], ..Kind::EQUAL };
            let shares = self.after(kind, &blocks, is_changed)?;
            most = shares.iter().copied().chain(most).reduce(f64::max);
            rows.push(row(what, shares));
        }
        let kind = Kind { sd_log: [0.03, 0.06, 0.06, 0.01], ..Kind::EQUAL };
        let what = "6 %, 1 %; CPU and capacity by 3 %, 6 %";
        rows.push(row(what, self.after(kind, &blocks, is_changed)?));
        let head = ["equal, called different; p95, memory differ by", "3 blocks", "4", "7"];
        println!("{}", table(&head, rows));
        Ok(most)
    }

    /// The share that is found of those whose starts differ in CPU by 1.5 %, percent.
    fn print_slower(&self) -> Result<f64> {
        let kind = |cpu: f64, cpu_ratio: f64| {
            let [_, capacity, p95, memory] = Kind::EQUAL.sd_log;
            Kind { sd_log: [cpu, capacity, p95, memory], ..Kind::slower(cpu_ratio) }
        };
        let found = |cpu: f64, cpu_ratio: f64| {
            self.after(kind(cpu, cpu_ratio), &[3, 4, 5, BLOCKS_MAX], is_worse)
        };
        let usual = found(0.015, 1.05)?;
        let rows = [
            row("5 %; 1 %", found(0.01, 1.05)?),
            row("5 %; 1.5 %", usual.iter().copied()),
            row("5 %; 2 %", found(0.02, 1.05)?),
            row("10 %; 1.5 %", found(0.015, 1.1)?),
        ];
        let head = ["more CPU, found; starts differ in CPU by", "3 blocks", "4", "5", "7"];
        println!("{}", table(&head, rows));
        let much = self.answers(kind(0.015, 1.3), BLOCKS_MAX)?;
        let at_once = percent(&much, |it| it.blocks == 3 && is_worse(it));
        println!("30 % more CPU, found after three blocks: {at_once:.1} %\n");
        Ok(usual[3])
    }
}

fn is_worse(answer: &RevisionsAnswer) -> bool {
    answer.change == Standing::Worse
}

fn is_changed(answer: &RevisionsAnswer) -> bool {
    answer.change.is_changed()
}

fn percent(answers: &[RevisionsAnswer], is_it: impl Fn(&RevisionsAnswer) -> bool) -> f64 {
    let count = answers.iter().filter(|it| is_it(it)).count();
    100.0 * count as f64 / answers.len() as f64
}

/// Percents of something.
fn row(what: &str, shares: impl IntoIterator<Item = f64>) -> Vec<String> {
    let shares = shares.into_iter().map(|share| format!("{share:.1} %"));
    std::iter::once(what.to_string()).chain(shares).collect()
}
