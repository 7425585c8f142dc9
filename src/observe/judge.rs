//! What the pairs say: each figure's ratio with its interval, and the verdict.
//!
//! In: both sides. Out: a [`CompareReport`]. Computes only.

use super::pairs::{DAY_S, Scale, days, hours};
use super::{Design, Observed};
use crate::stats::{AnytimeMean, common_slope};
use crate::summary::compared::{Compared, KnownRatio, report};
use crate::terms::{
    ChangeReason, CompareNote, CompareRefusal, CompareReport, ComparedSide, FigureKind,
    FigureLeftOut, Standing,
};

/// Of fewer blocks of two settings that ran at once nothing is said.
const BLOCKS_LEAST: u64 = 12;
/// Of fewer days.
const DAYS_LEAST: u64 = 3;
/// Shares of failed requests that differ by less count as equal.
const ERRORS_BAND: f64 = 0.001;
/// And otherwise only where it is as sure as this: failures decide beside latency, whose interval
/// is one of 95 %, and both together are to be wrong in hardly more cases than latency alone.
const ERRORS_LEVEL: f64 = 0.99;
/// A change of the traffic by less explains nothing.
const TRAFFIC_BAND: f64 = 0.1;
/// Blocks may be missing without its being said.
const GAPS_QUIET: f64 = 0.05;

/// The figures, as they are listed.
const FIGURES: [FigureKind; 7] = [
    FigureKind::LatencyP95,
    FigureKind::LatencyMean,
    FigureKind::QueueTime,
    FigureKind::Throughput,
    FigureKind::Memory,
    FigureKind::CpuPerRequest,
    FigureKind::Errors,
];

/// Judges B against A. p95 decides, and the mean where there is none.
pub fn judge(
    sides: (ComparedSide, ComparedSide),
    (a, b): (&Observed, &Observed),
    design: Design,
    left_out: Vec<FigureLeftOut>,
) -> CompareReport {
    let is_there = |kind: &FigureKind| [a, b].iter().all(|it| it.figures.contains_key(kind));
    let has_p95 = is_there(&FigureKind::LatencyP95);
    let decides = if has_p95 { FigureKind::LatencyP95 } else { FigureKind::LatencyMean };
    let (present, possible) =
        (design.pairs(decides, a, b).differences.len() as u64, design.possible(a, b));
    let refused = refusal(design, a.block_s, present, possible);
    let found = FIGURES.into_iter().filter(is_there).map(|kind| compared(kind, (a, b), design));
    let found = found.chain(left_out.into_iter().map(Err)).collect();
    let mut report = report(sides, refused.into_iter().collect(), found, decides);
    if !report.refused.is_empty() {
        return report;
    }
    let missing = possible - present;
    if missing as f64 > GAPS_QUIET * possible as f64 {
        report.notes.push(CompareNote::BlocksMissing { missing, possible }.into());
    }
    match design {
        Design::AtOnce => report.notes.extend(uneven(&report).map(Into::into)),
        Design::BeforeAfter => doubt(&mut report, (a, b), decides),
    }
    report
}

fn refusal(design: Design, block_s: u32, present: u64, possible: u64) -> Option<CompareRefusal> {
    match design {
        Design::BeforeAfter if possible == 0 => Some(CompareRefusal::HoursUnmatched),
        _ if 2 * present < possible => Some(CompareRefusal::MostlyGaps { present, possible }),
        Design::AtOnce if present < BLOCKS_LEAST => {
            Some(CompareRefusal::BlocksTooFew { blocks: present, block_s, needed: BLOCKS_LEAST })
        }
        Design::BeforeAfter if present < DAYS_LEAST => {
            Some(CompareRefusal::TooFewDays { days: present, needed: DAYS_LEAST })
        }
        _ => None,
    }
}

fn compared(
    kind: FigureKind,
    (a, b): (&Observed, &Observed),
    design: Design,
) -> Result<Compared, FigureLeftOut> {
    let pairs = design.pairs(kind, a, b);
    if pairs.differences.is_empty() {
        return Err(FigureLeftOut::NotMeasuredOnBoth { figure: kind });
    }
    let mean = AnytimeMean::of(&pairs.differences, design.before(b.block_s));
    let is_ratio = Scale::of(kind) == Scale::Ratio;
    let by_difference = mean.filter(|_| !is_ratio).map(|it| it.beside(ERRORS_BAND, ERRORS_LEVEL));
    Ok(Compared {
        kind,
        a: pairs.a,
        b: pairs.b,
        ratio: mean.filter(|_| is_ratio).map(KnownRatio::from),
        change: by_difference.map(|beside| beside.standing(kind)),
        within_blocks: design == Design::AtOnce,
        observations: [pairs.differences.len() as u64; 2],
    })
}

/// B's throughput divided by A's, where it is another beyond doubt.
fn traffic(report: &CompareReport) -> Option<f64> {
    let figure = report.figures.iter().find(|it| it.figure == FigureKind::Throughput)?;
    let ([low, high], ratio) = (figure.ratio_interval?, figure.ratio?);
    let is_other = low > 1.0 || high < 1.0;
    (is_other && ratio.ln().abs() > (1.0 + TRAFFIC_BAND).ln()).then_some(ratio)
}

fn uneven(report: &CompareReport) -> Option<CompareNote> {
    traffic(report).map(|traffic_ratio| CompareNote::TrafficUneven { traffic_ratio })
}

/// A change between two times proves nothing where traffic or a trend would have made it too. That
/// more requests fail makes it worse all the same.
fn doubt(report: &mut CompareReport, sides: (&Observed, &Observed), figure: FigureKind) {
    let is_change = matches!(report.change, Some(Standing::Better | Standing::Worse));
    let changed = report.figures.iter().find(|it| it.figure == figure);
    let Some(log) = changed.and_then(|it| it.ratio).filter(|_| is_change).map(f64::ln) else {
        return;
    };
    let traffic = traffic(report).filter(|ratio| ratio.ln() * log > 0.0);
    let reason = traffic
        .map(|traffic_ratio| ChangeReason::TrafficExplains { figure, traffic_ratio })
        .or_else(|| trend(figure, sides, log));
    if let Some(reason) = reason {
        let (change, reason) = match fails_more(report) {
            true => (Standing::Worse, ChangeReason::MoreRequestsFail),
            false => (Standing::Undecided, reason),
        };
        report.change = Some(change);
        report.reason = reason.into();
    }
}

fn fails_more(report: &CompareReport) -> bool {
    let errors = report.figures.iter().find(|it| it.figure == FigureKind::Errors);
    errors.and_then(|it| it.change) == Some(Standing::Worse)
}

/// The trend of both ranges in common, where it is likely one (its 80 % interval) and makes up at
/// least half of the change `log` between them. Workdays and weekends are apart: that they differ
/// is no trend.
fn trend(figure: FigureKind, (a, b): (&Observed, &Observed), log: f64) -> Option<ChangeReason> {
    let (of_a, of_b) = (daily(figure, a), daily(figure, b));
    let apart = |days: &[(f64, f64)], is_workday: bool| {
        let wanted = days.iter().filter(|(day, _)| (weekday(*day) < 5) == is_workday);
        wanted.copied().collect::<Vec<_>>()
    };
    let groups = [(&of_a, true), (&of_a, false), (&of_b, true), (&of_b, false)];
    let groups = groups.map(|(days, is_workday)| apart(days, is_workday));
    let slope = common_slope(&groups, 0.80).filter(|it| it.low > 0.0 || it.high < 0.0)?;
    let middle =
        |days: &[(f64, f64)]| days.iter().map(|day| day.0).sum::<f64>() / days.len().max(1) as f64;
    let explained = slope.value * (middle(&of_b) - middle(&of_a));
    (explained / log >= 0.5)
        .then(|| ChangeReason::TrendExplains { figure, daily_ratio: slope.value.exp() })
}

/// For each span of 24 hours its day, counted from 1970, and the mean of its logarithms.
fn daily(figure: FigureKind, side: &Observed) -> Vec<(f64, f64)> {
    let of_day = |day: i64| {
        let values = hours(side, day).filter_map(|at| side.at(figure, at).filter(|it| *it > 0.0));
        let logs: Vec<f64> = values.map(f64::ln).collect();
        let middle = (day + DAY_S / 2).div_euclid(DAY_S);
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        (!logs.is_empty()).then_some((middle as f64, mean))
    };
    days(side).filter_map(of_day).collect()
}

/// 0 is Monday; 1970 began on a Thursday.
fn weekday(day: f64) -> u8 {
    (day + 3.0).rem_euclid(7.0) as u8
}

#[cfg(test)]
mod tests;
