//! Weeks of production, block by block. Of each block's requests, whose times are lognormal, p95 is
//! drawn exactly: the order statistic of so many, by its beta distribution.
//!
//! What both halves share: the day's and the week's traffic, latency that grows with it, slow
//! hours, incidents. What each has of its own: neighbours on its machines whose work lasts from
//! minutes to an hour, queries that block it, and gaps.

use std::f64::consts::TAU;

use sweetspot::observe::{Design, Observed};
use sweetspot::stats::normal;
use sweetspot::terms::FigureKind;

use crate::zoo::chance::Chance;

const DAY_S: i64 = 24 * 3600;
const WEEK_S: i64 = 7 * DAY_S;
/// A Monday.
const MONDAY_S: i64 = 1_794_787_200;

/// What is otherwise of B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    None,
    /// p95 is so many times A's.
    By(f64),
    /// Nothing, but p95 goes up every day, before as after.
    Trend,
}

/// Two sides that were recorded for a week each.
pub struct Week {
    pub design: Design,
    a: Observed,
    b: Observed,
}

/// An app and its traffic.
struct Fleet {
    /// Requests/s of a half at the highest.
    peak_rps: f64,
    /// At the lowest, as a share of it.
    trough: f64,
    weekend: f64,
    /// p95 at the peak beside that at the lowest, in logarithms.
    slowed: f64,
    /// Spread of the requests' times, in logarithms.
    spread: f64,
    /// Neighbours: how much, and for how long, in seconds.
    neighbours: f64,
    lasting_s: f64,
    /// Of queries that block a half, a day.
    blocked_daily: f64,
    /// How days differ, in logarithms.
    days: f64,
    daily_trend: f64,
    begins_s: i64,
}

impl Week {
    pub fn new(seed: u64, design: Design, change: Change) -> Self {
        let mut chance = Chance::new(seed);
        let fleet = Fleet::new(&mut chance, change);
        let factor = if let Change::By(factor) = change { factor } else { 1.0 };
        let begins_s = fleet.begins_s;
        let (a, mut b) = match design {
            Design::AtOnce => {
                let shared = fleet.shared(&mut chance, begins_s, 300);
                (
                    fleet.half(&mut chance, begins_s, 300, &shared),
                    fleet.half(&mut chance, begins_s, 300, &shared),
                )
            }
            Design::BeforeAfter => {
                let mut week = |from_s: i64| {
                    let shared = fleet.shared(&mut chance, from_s, 3600);
                    fleet.half(&mut chance, from_s, 3600, &shared)
                };
                (week(begins_s), week(begins_s + WEEK_S))
            }
        };
        let p95 = b.figures.get_mut(&FigureKind::LatencyP95).into_iter().flatten();
        p95.flatten().for_each(|value| *value *= factor);
        Self { design, a, b }
    }

    /// What is known after so many hours: of A all of its week where that was before.
    pub fn until(&self, hours: u32) -> (Observed, Observed) {
        let cut = |side: &Observed| {
            let count = (hours * 3600 / side.block_s) as usize;
            let figures =
                side.figures.iter().map(|(kind, values)| (*kind, values[..count].to_vec()));
            Observed { figures: figures.collect(), ..*side }
        };
        let a = if self.design == Design::AtOnce { cut(&self.a) } else { self.a.clone() };
        (a, cut(&self.b))
    }
}

/// What both halves have in common in a block: ln p95 beside an idle night's, and the traffic.
type Shared = Vec<(f64, f64)>;

impl Fleet {
    fn new(chance: &mut Chance, change: Change) -> Self {
        let up = chance.between(0.01, 0.03);
        Self {
            peak_rps: chance.by_ratio(1.0, 50.0),
            trough: chance.between(0.1, 0.5),
            weekend: chance.between(0.3, 1.0),
            slowed: chance.between(0.0, 0.7),
            spread: chance.between(0.5, 1.2),
            neighbours: chance.between(0.02, 0.08),
            lasting_s: chance.between(300.0, 3600.0),
            blocked_daily: chance.between(0.0, 2.0),
            days: chance.between(0.01, 0.05),
            daily_trend: if change == Change::Trend { up } else { 0.0 },
            begins_s: MONDAY_S + 3600 * chance.index(7 * 24) as i64,
        }
    }

    /// Share of the peak.
    fn traffic(&self, at_s: i64) -> f64 {
        let hour = at_s.rem_euclid(DAY_S) as f64 / 3600.0;
        let of_day = 0.5 - 0.5 * ((hour - 4.0) / 24.0 * TAU).cos();
        let is_weekend = (at_s - MONDAY_S).rem_euclid(WEEK_S) >= 5 * DAY_S;
        let of_week = if is_weekend { self.weekend } else { 1.0 };
        (self.trough + (1.0 - self.trough) * of_day) * of_week
    }

    fn shared(&self, chance: &mut Chance, from_s: i64, block_s: i64) -> Shared {
        let mut slow_hours = Lasting::new(chance, 0.1, 3600.0);
        let mut incident = Spell::default();
        let (mut of_day, mut of_traffic, mut day) = (0.0, 0.0, i64::MIN);
        let one = |block: i64| {
            let at_s = from_s + block * block_s;
            if at_s.div_euclid(DAY_S) != day {
                day = at_s.div_euclid(DAY_S);
                (of_day, of_traffic) = (self.days * chance.normal(), 0.03 * chance.normal());
            }
            let traffic = self.traffic(at_s) * f64::exp(of_traffic);
            let trend = self.daily_trend * (at_s - self.begins_s) as f64 / DAY_S as f64;
            let trouble =
                incident.next(chance, block_s, 2.0 / WEEK_S as f64, (600.0, 3600.0), (0.7, 1.6));
            let log = self.slowed * traffic + of_day + trend + slow_hours.next(chance, block_s);
            (log + trouble, traffic)
        };
        (0..WEEK_S / block_s).map(one).collect()
    }

    fn half(&self, chance: &mut Chance, from_s: i64, block_s: i64, shared: &Shared) -> Observed {
        let mut neighbours = Lasting::new(chance, self.neighbours, self.lasting_s);
        let (mut blocked, mut gap) = (Spell::default(), Spell::default());
        let mut blocks = Vec::new();
        for (log, traffic) in shared {
            let requests = self.peak_rps * traffic * block_s as f64;
            let requests = (requests + requests.sqrt() * chance.normal()).round().max(20.0);
            let often = self.blocked_daily / DAY_S as f64;
            let own = neighbours.next(chance, block_s)
                + blocked.next(chance, block_s, often, (300.0, 1200.0), (0.3, 1.4));
            let is_gap =
                gap.next(chance, block_s, 1.0 / WEEK_S as f64, (600.0, 7200.0), (1.0, 1.0)) > 0.0;
            let p95 = 0.1 * (log + own + self.spread * highest(chance, requests)).exp();
            blocks.push((!is_gap).then_some((p95, requests / block_s as f64)));
        }
        let p95 = blocks.iter().map(|it| it.map(|it| it.0)).collect();
        let throughput = blocks.iter().map(|it| it.map(|it| it.1)).collect();
        let figures = [(FigureKind::LatencyP95, p95), (FigureKind::Throughput, throughput)];
        Observed { start_s: from_s, block_s: block_s as u32, figures: figures.into() }
    }
}

/// The 95th percentile of so many standard normal values.
fn highest(chance: &mut Chance, count: f64) -> f64 {
    let rank = (0.95 * count).ceil();
    let (below, above) = (gamma(chance, rank), gamma(chance, count + 1.0 - rank));
    normal::quantile(below / (below + above))
}

/// A gamma variate with this shape of at least one, by Marsaglia and Tsang (2000).
fn gamma(chance: &mut Chance, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    loop {
        let x = chance.normal();
        let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
        if v > 0.0 && chance.share().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// Noise that lasts: autoregressive, with this standard deviation and time constant.
struct Lasting {
    value: f64,
    deviation: f64,
    lasting_s: f64,
}

impl Lasting {
    fn new(chance: &mut Chance, deviation: f64, lasting_s: f64) -> Self {
        Self { value: deviation * chance.normal(), deviation, lasting_s }
    }

    fn next(&mut self, chance: &mut Chance, block_s: i64) -> f64 {
        let kept = (-(block_s as f64) / self.lasting_s).exp();
        let fresh = (1.0 - kept * kept).sqrt() * self.deviation * chance.normal();
        self.value = kept * self.value + fresh;
        self.value
    }
}

/// Something that comes now and then, and stays for some blocks.
#[derive(Default)]
struct Spell {
    left_s: f64,
    height: f64,
}

impl Spell {
    /// How high it is in the next block; `often` a second.
    fn next(
        &mut self,
        chance: &mut Chance,
        block_s: i64,
        often: f64,
        lasts_s: (f64, f64),
        height: (f64, f64),
    ) -> f64 {
        self.left_s -= block_s as f64;
        if self.left_s <= 0.0 {
            self.height = 0.0;
            if chance.is(often * block_s as f64) {
                self.left_s = chance.between(lasts_s.0, lasts_s.1);
                // Of a longer block it is a part.
                let share = (self.left_s / block_s as f64).min(1.0);
                self.height = share * chance.between(height.0, height.1);
            }
        }
        self.height
    }
}
