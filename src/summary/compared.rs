//! Figures of two sides, B judged against A: what each says, and the verdict.
//!
//! In: pairs of values, with what is known of their ratio. Out: a [`CompareReport`]. Computes only.

use crate::stats::{AnytimeMean, Beside, Estimate, LogRatio, more_to_decide};
use crate::terms::{
    ChangeReason, CompareRefusal, CompareReport, ComparedFigure, ComparedSide, FigureKind,
    FigureLeftOut, Standing, Stated,
};

/// As equal count figures whose ratio lies this near to one.
pub const BAND: f64 = 0.03;

/// What is known of a ratio B / A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownRatio {
    /// With its 95 % interval.
    pub interval: Estimate,
    /// What it says beside [`BAND`].
    pub beside: Beside,
    /// How many times as many observations would decide; `None`: too many.
    pub more: Option<f64>,
    /// What it was computed from: observations, or blocks with both sides.
    pub count: [u64; 2],
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    pub kind: FigureKind,
    pub a: f64,
    pub b: f64,
    /// `None` where nothing is known of the spread.
    pub ratio: Option<KnownRatio>,
    /// What is known by other means than the ratio.
    pub change: Option<Standing>,
    pub within_blocks: bool,
    /// Of A and of B.
    pub observations: [u64; 2],
}

impl Compared {
    /// Measured at other times on both sides.
    pub fn apart(
        kind: FigureKind,
        [a, b]: [f64; 2],
        ratio: Option<LogRatio>,
        observations: [u64; 2],
    ) -> Self {
        let ratio = ratio.map(KnownRatio::from);
        Self { kind, a, b, ratio, change: None, within_blocks: false, observations }
    }
}

impl From<LogRatio> for KnownRatio {
    fn from(ratio: LogRatio) -> Self {
        Self {
            interval: ratio.estimate(0.95),
            beside: ratio.beside(BAND),
            more: ratio.more_to_decide(BAND),
            count: ratio.count,
        }
    }
}

impl From<AnytimeMean> for KnownRatio {
    /// Of the mean of logarithms.
    fn from(mean: AnytimeMean) -> Self {
        let more_for = |level, half| mean.more_for(level, half);
        Self {
            interval: mean.ratio(0.95),
            beside: mean.ratio_beside(BAND),
            more: more_to_decide(mean.mean, BAND, more_for),
            count: [mean.count; 2],
        }
    }
}

/// Puts the sides, their figures and the verdict together. `decides`: the figure that the verdict
/// goes by; that more requests fail makes it worse whatever that says.
pub fn report(
    (a, b): (ComparedSide, ComparedSide),
    refused: Vec<CompareRefusal>,
    found: Vec<Result<Compared, FigureLeftOut>>,
    decides: FigureKind,
) -> CompareReport {
    let mut report = CompareReport {
        a,
        b,
        change: None,
        reason: ChangeReason::NotComparable.into(),
        refused: refused.into_iter().map(Stated::from).collect(),
        figures: Vec::new(),
        left_out: Vec::new(),
        differences: Vec::new(),
        notes: Vec::new(),
        revisions: None,
    };
    if !report.refused.is_empty() {
        return report;
    }
    let of = |kind: FigureKind| found.iter().flatten().find(|it| it.kind == kind);
    let (change, reason) = verdict(decides, of(decides), of(FigureKind::Errors));
    report.change = Some(change);
    report.reason = reason.into();
    for one in found {
        match one {
            Ok(compared) => report.figures.push(figure(&compared)),
            Err(why) => report.left_out.push(why.into()),
        }
    }
    report
}

fn figure(one: &Compared) -> ComparedFigure {
    ComparedFigure {
        figure: one.kind,
        a: one.a,
        b: one.b,
        ratio: (one.a > 0.0).then(|| one.b / one.a),
        ratio_interval: one.ratio.map(|it| it.interval.interval()).filter(is_bounded),
        change: change(one),
        observations: one.observations,
        within_blocks: one.within_blocks,
    }
}

/// Before enough was seen, an interval reaches everywhere.
fn is_bounded(interval: &[f64; 2]) -> bool {
    interval.iter().all(|end| end.is_finite())
}

fn change(one: &Compared) -> Option<Standing> {
    one.change.or_else(|| Some(one.ratio?.beside.standing(one.kind)))
}

fn verdict(
    kind: FigureKind,
    decisive: Option<&Compared>,
    errors: Option<&Compared>,
) -> (Standing, ChangeReason) {
    let fails_more = errors.and_then(change) == Some(Standing::Worse);
    let Some(ratio) = decisive.and_then(|it| it.ratio) else {
        return match fails_more {
            true => (Standing::Worse, ChangeReason::MoreRequestsFail),
            false => (Standing::Undecided, ChangeReason::FigureNotKnown { figure: kind }),
        };
    };
    let change = ratio.beside.standing(kind);
    if fails_more && change != Standing::Worse {
        return (Standing::Worse, ChangeReason::MoreRequestsFail);
    }
    (change, reason(change, (kind, BAND), (ratio.count, ratio.more)))
}

/// Why a figure decides so, beside the band around one within which two count as equal. `measured`:
/// of A and of B; `more`: how many times as many would decide, `None`: too many.
pub fn reason(
    change: Standing,
    (figure, band_ratio): (FigureKind, f64),
    (measured, more): ([u64; 2], Option<f64>),
) -> ChangeReason {
    match change {
        Standing::Better | Standing::Worse => ChangeReason::FigureChanged { figure },
        Standing::Equivalent => ChangeReason::FigureSame { figure, band_ratio },
        Standing::Undecided => {
            let of = |count: u64, by: f64| (count as f64 * by).ceil().max(count as f64 + 1.0);
            let needed = more.map(|by| measured.map(|count| of(count, by) as u64));
            ChangeReason::FigureWithinNoise { figure, band_ratio, measured, needed }
        }
    }
}
