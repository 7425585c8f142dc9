//! How many requests are due up to a time, and the way back: the time by which a count is reached.
//!
//! In: a rate, or stages. Out: due times for ascending counts, each in closed form.

use std::time::Duration;

use super::nanos::{Nanos, Span};
use super::stages::Stage;
use crate::terms::Rate;

const NANOSECONDS: f64 = 1e9;

/// N(t), the mean number of requests due in all loops from the load's beginning up to t: the
/// integral of the rate, piece by piece a quadratic. Only its inverse is asked for, at counts that
/// never descend.
#[derive(Debug, Clone)]
pub struct Cumulative {
    pieces: Vec<Piece>,
    /// The piece that held the last count.
    at: usize,
}

/// N(t) between two times.
#[derive(Debug, Clone)]
struct Piece {
    begins: Nanos,
    ends: Nanos,
    /// Requests per second where it begins.
    rate: f64,
    /// Requests per second gained in each second.
    slope: f64,
    /// N where it ends, and where it begins.
    after: f64,
    before: f64,
}

impl Cumulative {
    /// One rate without end.
    pub fn constant(rate: Rate) -> Self {
        let rate = rate.as_per_second();
        let after = if rate > 0.0 { f64::INFINITY } else { 0.0 };
        let piece =
            Piece { begins: Nanos::START, ends: Nanos::MAX, rate, slope: 0.0, after, before: 0.0 };
        Self { pieces: vec![piece], at: 0 }
    }

    /// One stage after the other; during the warm-up before them the rate that the first begins
    /// with, so that nothing is due there before a ramp from 0.
    pub fn of_stages(stages: &[Stage], warm_up: Duration) -> Self {
        let held = stages.first().map(|first| Stage { to: first.from, length: warm_up, ..*first });
        let mut pieces = Vec::with_capacity(stages.len() + 1);
        let (mut begins, mut before) = (Nanos::START, 0.0);
        for stage in held.iter().chain(stages).filter(|stage| !stage.length.is_zero()) {
            let piece = Piece::new(stage, begins, before);
            (begins, before) = (piece.ends, piece.after);
            pieces.push(piece);
        }
        Self { pieces, at: 0 }
    }

    /// The earliest time after which N is above `count`; `None` when it never
    /// is. So nothing is due in a silent stage: what its end would share with its beginning is due
    /// at its end. `count` is 0 or more, and not below the one asked for before.
    pub fn due(&mut self, count: f64) -> Option<Nanos> {
        while self.pieces.get(self.at)?.after <= count {
            self.at += 1;
        }
        self.pieces.get(self.at).map(|piece| piece.due(count))
    }
}

impl Piece {
    fn new(stage: &Stage, begins: Nanos, before: f64) -> Self {
        let (from, to) = (stage.from.as_per_second(), stage.to.as_per_second());
        let length_s = stage.length.as_secs_f64();
        Self {
            begins,
            ends: begins + Span::from(stage.length),
            rate: from,
            slope: (to - from) / length_s,
            after: without_rounding_error(before + (from + to) / 2.0 * length_s),
            before,
        }
    }

    /// Solves n = a t + s t² / 2 for t, with n the count since the piece began, a its rate there
    /// and s its slope: t = 2 n / (a + √(a² + 2 s n)). This form of the solution holds for s = 0
    /// too, and subtracts nothing that could cancel for s > 0.
    fn due(&self, count: f64) -> Nanos {
        let n = count - self.before;
        let root = (self.rate * self.rate + 2.0 * self.slope * n).max(0.0).sqrt();
        // A ramp from 0 would be asked for 0 / 0.
        let after_s = if n > 0.0 { 2.0 * n / (self.rate + root) } else { 0.0 };
        let due = self.begins + Span::new((after_s * NANOSECONDS) as u64);
        due.min(Nanos::new(self.ends.get() - 1))
    }
}

/// A sum of products that should be a whole number is one: otherwise rounding would give a stage
/// the first request of the next, or one more at the very end.
fn without_rounding_error(count: f64) -> f64 {
    let whole = count.round();
    if (count - whole).abs() <= whole * 1e-12 { whole } else { count }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(from: f64, to: f64, seconds: u64) -> Stage {
        let rate = |per_second| Rate::per_second(per_second).unwrap();
        Stage { from: rate(from), to: rate(to), length: Duration::from_secs(seconds) }
    }

    fn times(stages: &[Stage], counts: &[f64]) -> Vec<Option<f64>> {
        let mut cumulative = Cumulative::of_stages(stages, Duration::ZERO);
        // To the microsecond: half a minute may come out a nanosecond short.
        let seconds = |due: Nanos| (due.get() as f64 / 1e3).round() / 1e6;
        counts.iter().map(|count| cumulative.due(*count).map(seconds)).collect()
    }

    #[test]
    fn a_ramp_reaches_a_quarter_of_its_requests_at_half_its_time() {
        let up = times(&[stage(0.0, 500.0, 60)], &[0.0, 3_750.0, 15_000.0]);
        assert_eq!(up, [Some(0.0), Some(30.0), None]);
        let down = times(&[stage(500.0, 0.0, 60)], &[0.0, 11_250.0, 15_000.0]);
        assert_eq!(down, [Some(0.0), Some(30.0), None]);
        let between = times(&[stage(100.0, 300.0, 10)], &[750.0]);
        assert_eq!(between, [Some(5.0)]);
    }

    #[test]
    fn what_would_be_due_at_both_ends_of_a_silence_is_due_where_it_ends() {
        let stages = [stage(0.0, 0.0, 2), stage(50.0, 50.0, 1), stage(0.0, 0.0, 9)];
        let stages = [&stages[..], &[stage(50.0, 50.0, 1), stage(0.0, 0.0, 1)]].concat();
        let expected = [Some(2.0), Some(2.98), Some(12.0), Some(12.98), None, None];
        assert_eq!(times(&stages, &[0.0, 49.0, 50.0, 99.0, 100.0, 101.0]), expected);
    }

    #[test]
    fn without_a_rate_or_a_stage_nothing_is_due() {
        assert_eq!(times(&[], &[0.0]), [None]);
        assert_eq!(times(&[stage(0.0, 0.0, 5)], &[0.0, 1.0]), [None, None]);
        assert_eq!(times(&[stage(5.0, 5.0, 0)], &[0.0]), [None]);
        assert_eq!(Cumulative::constant(Rate::per_second(0.0).unwrap()).due(0.0), None);
    }

    #[test]
    fn rounding_gives_no_stage_a_request_more() {
        // 1.1 x 30 and 3 x 0.1 are not what they should be in binary fractions.
        let tenths = |length| Stage { length, ..stage(0.1, 0.1, 0) };
        assert_eq!(times(&[stage(1.1, 1.1, 30)], &[33.0]), [None]);
        let stages = vec![tenths(Duration::from_secs(1)); 30];
        assert_eq!(times(&stages, &[3.0]), [None]);
    }
}
