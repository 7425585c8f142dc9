//! Blocks of A and B that can be set beside each other.
//!
//! In: both sides. Out: differences, one after the other in time, with the means that they are
//! between. Computes only.

use super::{Design, Observed};
use crate::stats::{Alike, Before};
use crate::terms::FigureKind;

pub const DAY_S: i64 = 24 * 3600;
const WEEK_S: i64 = 7 * DAY_S;

/// A day says something when so many of its hours do.
const HOURS_OF_A_DAY: usize = 12;

/// How values are compared: by ratio, or by difference where zero is a value as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Ratio,
    Difference,
}

/// Differences B - A on the scale, in their order in time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairs {
    pub differences: Vec<f64>,
    /// Means of what was compared, back from the scale; NaN of none.
    pub a: f64,
    pub b: f64,
}

impl Scale {
    pub fn of(kind: FigureKind) -> Self {
        if kind == FigureKind::Errors { Self::Difference } else { Self::Ratio }
    }

    fn to(self, value: f64) -> Option<f64> {
        match self {
            Self::Ratio => (value > 0.0 && value.is_finite()).then(|| value.ln()),
            Self::Difference => value.is_finite().then_some(value),
        }
    }

    fn back(self, value: f64) -> f64 {
        if self == Self::Ratio { value.exp() } else { value }
    }
}

impl Design {
    /// What is taken for granted of the pairs before the first is seen. Neighbouring blocks of one
    /// time have neighbours on their machines and slow queries in common: an hour of them says as
    /// much as one that is independent, until hours have shown it better. Days are apart.
    pub fn before(self, block_s: u32) -> Before {
        match self {
            Self::AtOnce => {
                let in_an_hour = 3600.0 / f64::from(block_s);
                let alike = Alike { neighbours: in_an_hour.max(1.0), worth: in_an_hour };
                Before { alike, precision: 2.0 }
            }
            Self::BeforeAfter => {
                Before { alike: Alike { neighbours: 1.0, worth: 2.0 }, precision: 1.0 }
            }
        }
    }

    /// Of one figure.
    pub fn pairs(self, kind: FigureKind, a: &Observed, b: &Observed) -> Pairs {
        let scale = Scale::of(kind);
        let pairs: Vec<(f64, f64)> = match self {
            Self::AtOnce => {
                b.starts().filter_map(|at| both(scale, a.at(kind, at), b.at(kind, at))).collect()
            }
            Self::BeforeAfter => days(b)
                .map(|day| of_hours(scale, kind, a, (b, day)))
                .filter(|hours| hours.len() >= HOURS_OF_A_DAY)
                .map(|hours| mean(&hours))
                .collect(),
        };
        let (mean_a, mean_b) = mean(&pairs);
        Pairs {
            differences: pairs.iter().map(|(a, b)| b - a).collect(),
            a: scale.back(mean_a),
            b: scale.back(mean_b),
        }
    }

    /// Blocks that could have been set beside each other, had there been no gap; of a range that is
    /// not over the days that are.
    pub fn possible(self, a: &Observed, b: &Observed) -> u64 {
        match self {
            Self::AtOnce => b.starts().count().max(a.starts().count()) as u64,
            Self::BeforeAfter => {
                let is_there = |at: &i64| earlier(a, *at).next().is_some();
                let hours = days(b).map(|day| hours(b, day).filter(is_there).count());
                hours.filter(|count| *count >= HOURS_OF_A_DAY).count() as u64
            }
        }
    }
}

fn both(scale: Scale, a: Option<f64>, b: Option<f64>) -> Option<(f64, f64)> {
    Some((scale.to(a?)?, scale.to(b?)?))
}

/// When each span of 24 hours of a side begins.
pub fn days(side: &Observed) -> impl Iterator<Item = i64> {
    let last = side.starts().last().unwrap_or(side.start_s - 1);
    (0..).map(|day| side.start_s + day * DAY_S).take_while(move |day| *day <= last)
}

/// The blocks of a span of 24 hours.
pub fn hours(side: &Observed, day: i64) -> impl Iterator<Item = i64> {
    side.starts().filter(move |at| (day..day + DAY_S).contains(at))
}

/// The blocks of A at the same hour of the same weekday, before `at`.
fn earlier(a: &Observed, at: i64) -> impl Iterator<Item = i64> {
    let weeks = (1..).map(move |week| at - week * WEEK_S).take_while(|it| *it >= a.start_s);
    let last = a.starts().last().unwrap_or(i64::MIN);
    weeks.filter(move |it| *it <= last)
}

/// The hours of a day of B beside the mean of the same ones of A.
fn of_hours(
    scale: Scale,
    kind: FigureKind,
    a: &Observed,
    (b, day): (&Observed, i64),
) -> Vec<(f64, f64)> {
    let one = |at: i64| {
        let of_a = earlier(a, at).filter_map(|it| scale.to(a.at(kind, it)?));
        let before: Vec<f64> = of_a.collect();
        let of_b = scale.to(b.at(kind, at)?)?;
        (!before.is_empty()).then(|| (before.iter().sum::<f64>() / before.len() as f64, of_b))
    };
    hours(b, day).filter_map(one).collect()
}

fn mean(pairs: &[(f64, f64)]) -> (f64, f64) {
    let sum = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let count = pairs.len() as f64;
    (sum.0 / count, sum.1 / count)
}
