//! What many sessions came to, in all and by kind, and what that is held against.

use sweetspot::terms::Verdict;

use super::kinds::Kind;
use super::recheck::{Rechecked, SLOWER};
use super::session::{Chosen, One};
use crate::common::bars::{Bar, Limit};
use crate::common::table::table;

impl One {
    /// The chosen setting's true capacity by the best one's. Nothing recommended where nothing
    /// meets the goal is right.
    fn quality(&self) -> f64 {
        match (&self.best, &self.chosen) {
            (None, None) => 1.0,
            (Some(_), Some(chosen)) => chosen.quality,
            _ => 0.0,
        }
    }

    fn is_good(&self) -> bool {
        self.quality() >= 0.95
    }

    /// It recommends something bad, and says nothing of it.
    fn misleads(&self) -> bool {
        self.quality() < 0.9 && self.chosen.is_some() && !self.is_warned
    }

    pub fn line(&self) -> String {
        let best = self.best.map_or("none".into(), |(c, rps)| format!("{c} {rps:.1}/s"));
        let chosen = self.chosen.map_or("none".into(), |it| {
            format!(
                "{} printed {:.1} ({:.1} to {:.1}) in truth {:.1}/s, quality {:.3}, \
                 bias {:.3}{}{}{}",
                it.configuration,
                it.printed,
                it.low,
                it.high,
                it.capacity,
                it.quality,
                it.printed / it.capacity,
                if it.is_proved { "" } else { ", not proved" },
                if it.is_printed_held { "" } else { ", NOT HELD" },
                if it.is_low_held { "" } else { ", LOW NOT HELD" },
            )
        });
        let warned = match (self.is_warned, self.is_called_unsteady) {
            (true, _) => "warned",
            (_, true) => "called unsteady",
            _ => "not warned",
        };
        format!(
            "SEED={} {} best {best} chosen {chosen}, {warned}, {} trials {:.0} s; {}; {}",
            self.seed,
            self.kind.name(),
            self.trials,
            self.elapsed_s,
            self.goal,
            self.app
        )
    }
}

impl Chosen {
    fn covers(&self) -> bool {
        self.low <= self.capacity && self.capacity <= self.high
    }
}

/// Sessions with something in common.
struct Group<'a> {
    name: String,
    all: Vec<&'a One>,
}

impl Group<'_> {
    fn percent(&self, is_it: impl Fn(&One) -> bool) -> Option<f64> {
        share(self.all.iter().map(|one| is_it(one)))
    }

    /// Of those that recommend something.
    fn of_chosen(&self, is_it: impl Fn(&Chosen) -> bool) -> Option<f64> {
        share(self.all.iter().filter_map(|one| one.chosen.as_ref()).map(is_it))
    }

    /// Of those where something holds.
    fn of_possible(&self, is_it: impl Fn(&One) -> bool) -> Option<f64> {
        share(self.all.iter().filter(|one| one.best.is_some()).map(|one| is_it(one)))
    }

    /// Printed by true capacity: the median, and the 5th and 95th percentile.
    fn bias(&self) -> String {
        let chosen = self.all.iter().filter_map(|one| one.chosen.as_ref());
        let possible = chosen.filter(|it| it.capacity > 0.0 && it.printed > 0.0);
        let biases: Vec<f64> = possible.map(|it| it.printed / it.capacity).collect();
        let at = |q| sweetspot::stats::quantile(&biases, q);
        match (at(0.5), at(0.05), at(0.95)) {
            (Some(half), Some(few), Some(most)) => format!("{half:.3}; {few:.3} to {most:.3}"),
            _ => "-".into(),
        }
    }

    /// Of those that were verified.
    fn of_rechecked(&self, is_it: impl Fn(&Rechecked) -> bool) -> Option<f64> {
        share(self.all.iter().filter_map(|one| one.rechecked.as_ref()).map(is_it))
    }

    /// What `verify` said; `None` where it was not asked.
    fn verified(&self) -> Option<String> {
        let line = |name: &str, of: fn(&Rechecked) -> Verdict| {
            let share = |verdict| self.of_rechecked(|it| of(it) == verdict);
            let [no, open, yes] = [Verdict::No, Verdict::Undecided, Verdict::Yes].map(share);
            Some(format!(
                "{name}: no longer right {:.1} %, undecided {:.1} %, right {:.1} %",
                no?, open?, yes?
            ))
        };
        let slower = format!("verified with an app that is {SLOWER} times slower");
        let lines = [
            line("verified where nothing has changed", |it| it.unchanged)?,
            line(&slower, |it| it.slower)?,
        ];
        Some(lines.join("\n"))
    }

    fn row(&self) -> [String; 13] {
        let text = |percent: Option<f64>| percent.map_or("-".into(), |it| format!("{it:.1}"));
        [
            self.name.clone(),
            self.all.len().to_string(),
            text(self.percent(One::is_good)),
            text(self.percent(|one| one.quality() < 0.9)),
            text(self.percent(One::misleads)),
            text(self.percent(|one| one.is_warned)),
            text(self.of_chosen(Chosen::covers)),
            text(self.of_chosen(|it| it.is_proved)),
            text(self.of_chosen(|it| it.is_printed_held)),
            text(self.of_chosen(|it| it.is_low_held)),
            self.bias(),
            text(self.of_possible(|one| one.largest >= 0.95)),
            text(self.of_possible(|one| one.thumb >= 0.95)),
        ]
    }
}

/// In percent; `None` of none.
fn share(all: impl Iterator<Item = bool>) -> Option<f64> {
    let all: Vec<bool> = all.collect();
    let count = all.iter().filter(|is| **is).count();
    (!all.is_empty()).then(|| 100.0 * count as f64 / all.len() as f64)
}

/// The whole, then each kind.
fn groups(all: &[One]) -> Vec<Group<'_>> {
    let whole = Group { name: "all".into(), all: all.iter().collect() };
    let kinds = Kind::ALL.into_iter().map(|kind| Group {
        name: kind.name().into(),
        all: all.iter().filter(|one| one.kind == kind).collect(),
    });
    [whole].into_iter().chain(kinds.filter(|group| !group.all.is_empty())).collect()
}

const HEAD: [&str; 13] = [
    "kind",
    "sessions",
    "chosen at least 95 % of the best, %",
    "under 90 %",
    "of these without a warning",
    "warned",
    "interval covers",
    "held by the last part",
    "printed rate held",
    "lower end held",
    "printed by true capacity, median; 5th to 95th percentile",
    "largest that fits at least 95 %",
    "rule of thumb at least 95 %",
];

/// Everything, as tables; and the sessions that chose badly, a line each.
pub fn report(all: &[One]) -> String {
    let misses = all.iter().filter(|one| one.quality() < 0.9);
    let lines = misses.flat_map(|one| {
        let notes = one.notes.iter().map(|note| format!("      {note}"));
        [one.line()].into_iter().chain(notes)
    });
    let lines: Vec<String> = lines.collect();
    let nothing = all.iter().filter(|one| one.best.is_none()).count();
    let seconds: Vec<f64> = all.iter().map(|one| one.elapsed_s).collect();
    let [half, most] = [0.5, 1.0].map(|q| sweetspot::stats::quantile(&seconds, q).unwrap_or(0.0));
    let groups = groups(all);
    format!(
        "{}\n\n{}{}\n{nothing} sessions where no setting meets the goal; {half:.0} s a session, \
         {most:.0} s the longest",
        lines.join("\n"),
        table(&HEAD, groups.iter().map(Group::row)),
        groups[0].verified().map_or(String::new(), |lines| format!("\n{lines}\n"))
    )
}

/// Of all sessions, in percent.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    pub good: f64,
    pub held: f64,
    pub low_held: f64,
    pub covers: f64,
    pub warned: f64,
}

/// `None` where nothing was recommended.
pub fn totals(all: &[One]) -> Option<Totals> {
    let group = Group { name: String::new(), all: all.iter().collect() };
    Some(Totals {
        good: group.percent(One::is_good)?,
        held: group.of_chosen(|it| it.is_printed_held)?,
        low_held: group.of_chosen(|it| it.is_low_held)?,
        covers: group.of_chosen(Chosen::covers)?,
        warned: group.percent(|one| one.is_warned)?,
    })
}

/// From so many sessions a percent is more than one of them.
const ENOUGH_FOR_PERCENT: usize = 100;

/// What is asked of all, and of each kind by itself.
pub fn bars(all: &[One]) -> Vec<Bar> {
    groups(all).iter().enumerate().flat_map(|(at, group)| bars_of(group, at == 0)).collect()
}

fn bars_of(group: &Group<'_>, is_whole: bool) -> Vec<Bar> {
    let pick = |whole: f64, kind: f64| if is_whole { whole } else { kind };
    let bar =
        |what: &str, figure, limit| Bar::new(format!("{}: {what}", group.name), figure, limit);
    let covers = group.of_chosen(Chosen::covers);
    let good = group.percent(One::is_good);
    let misleads = group.percent(One::misleads);
    let mut bars = vec![
        bar("chosen at least 95 % of the best, %", good, Limit::AtLeast(pick(95.0, 93.0))),
        bar("under 90 % without a warning, %", misleads, Limit::AtMost(pick(0.5, 2.0))),
        bar("intervals that cover, %", covers, Limit::AtLeast(pick(92.0, 90.0))),
    ];
    // That all of a few intervals cover is no sign that they are too wide.
    if group.all.len() >= ENOUGH_FOR_PERCENT {
        let most = Limit::AtMost(pick(98.0, 99.0));
        bars.push(bar("intervals that cover, %", covers, most));
    }
    if is_whole {
        let (printed, low) =
            (group.of_chosen(|it| it.is_printed_held), group.of_chosen(|it| it.is_low_held));
        bars.push(bar("printed rate held for ten minutes, %", printed, Limit::AtLeast(95.0)));
        bars.push(bar("lower end held for ten minutes, %", low, Limit::AtLeast(99.0)));
        let wrong = group.of_rechecked(|it| it.unchanged == Verdict::No);
        if wrong.is_some() {
            let what = "called no longer right where nothing has changed, %";
            bars.push(bar(what, wrong, Limit::AtMost(5.0)));
        }
    }
    bars
}
