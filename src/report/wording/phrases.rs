//! What each language has a sentence for beside facts, and the figures that stand in it.
//!
//! In: figures and names that are text already. Must not choose a language.

use super::plan::PlanPhrases;
use crate::report::figures;
use crate::report::story::{FreshStart, NoFigure, Outcome};
use crate::terms::{
    Arrivals, AtOneRate, GoalSummary, HeldRate, KnobVerdict, LimitKind, Machine, SessionError,
    Stated, TrialPurpose, Verification,
};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Workers,
    Threads,
    Trials,
    Clients,
    Connections,
    Settings,
    Requests,
    Errors,
    Starts,
}

/// A setting that was found, in a headline.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// `3 workers x 5 threads`.
    pub setting: &'a str,
    /// Requests a second, without the unit.
    pub capacity: &'a str,
    pub goal: &'a str,
    /// Whether a fresh start holds as much.
    pub fresh_start: FreshStart,
}

/// How sure it is that a load met the goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sureness {
    BeyondChance,
    /// Part of them beyond chance, and what is not has its reasons, such as a share of errors that
    /// takes more requests to be certain of.
    InPart,
    /// By the plain figures alone.
    PlainFigures,
}

/// A long run of what is recommended.
#[derive(Debug, Clone)]
pub struct Soaked<'a> {
    pub rate: &'a str,
    /// How long it lasted, and was to last.
    pub time: &'a str,
    pub asked: &'a str,
    pub requests: u64,
    pub failed: u64,
    /// Parts that missed the goal, and all; `None` where none did.
    pub missed: Option<(usize, usize)>,
    /// The p95.
    pub latency: Option<Lasted>,
    pub memory: Option<Lasted>,
    /// Until memory is full.
    pub full_in: Option<&'a str>,
    pub workers_replaced: u64,
    /// Why it ended before its time.
    pub ended: Option<&'a str>,
}

/// A figure of a long run.
#[derive(Debug, Clone)]
pub struct Lasted {
    pub first: String,
    pub last: String,
    /// An hour, with the interval; `None` where none is certain.
    pub growth: Option<String>,
}

/// What runs today, in a headline.
#[derive(Debug, Clone, Copy)]
pub struct Today<'a> {
    /// `1 x 5` or `2 workers`.
    pub setting: &'a str,
    /// It is one to the grammar: `1 x 5` or `1 worker`.
    pub is_one: bool,
}

/// What makes the chosen setting the best, where that is not its capacity.
#[derive(Debug, Clone, Copy)]
pub enum Why<'a> {
    /// No setting is certain to hold this rate.
    Likeliest {
        rate: &'a str,
    },
    LeastMemory {
        rate: Option<&'a str>,
        memory: &'a str,
    },
    LowestP95 {
        rate: Option<&'a str>,
        p95: &'a str,
    },
    LeastCost {
        rate: Option<&'a str>,
        million: &'a str,
    },
}

/// Why a session has no decision.
#[derive(Debug, Clone, Copy)]
pub enum Undone<'a> {
    /// The events say why.
    Failed {
        error: &'a Stated<SessionError>,
    },
    StillRuns {
        so_far: &'a str,
    },
    NeverStarted,
    NoTrial,
    Stopped {
        so_far: &'a str,
    },
    AlwaysEnded,
    NoneValid {
        trials: &'a str,
    },
    NotReached {
        so_far: &'a str,
    },
    CouldNotTell {
        goal: &'a str,
        so_far: &'a str,
    },
    NothingHeld {
        goal: &'a str,
    },
}

/// What to do about a session without a decision. `status`: what most of the requests that failed
/// were answered with; `None`: there is none, or more got no reply.
#[derive(Debug, Clone, Copy)]
pub enum WayOut<'a> {
    TakeUpAgain,
    LetItEnd,
    FindWhatEndsIt,
    Mend { reason: &'a str },
    AskDoctor,
    MoreTime,
    FasterApp { alone: &'a str, quantile: &'a str, goal: &'a str, has_threads: bool },
    SeeErrors { status: Option<u16> },
    AskForLess,
}

/// The believable trial that came nearest to the goal.
#[derive(Debug, Clone, Copy)]
pub struct Nearest<'a> {
    pub setting: &'a str,
    pub offered: &'a str,
    pub quantile: &'a str,
    pub latency: &'a str,
    /// Share of requests that failed; `None`: none.
    pub failed: Option<&'a str>,
    pub trial: u32,
}

/// What memory is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    Shared,
    Worker,
    Thread,
}

/// What a request cost inside the server.
#[derive(Debug, Clone, Copy)]
pub struct Inside<'a> {
    pub app: &'a str,
    pub cpu: &'a str,
    pub gc: Option<&'a str>,
    pub lock_wait: Option<&'a str>,
    pub probe: &'a str,
    /// Share of the CPU.
    pub probe_share: &'a str,
}

/// What a check of the machine found, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingWords {
    pub what: String,
    /// With its unit.
    pub figure: String,
    pub advice: String,
}

/// What stands above the table of the settings that no other beats.
#[derive(Debug, Clone, Copy)]
pub enum FrontHeading {
    CapacityAndMemory,
    P95 { has_cost: bool },
    Cost,
}

/// The sentences of a language. Every argument is text in that language already, or text that has
/// none: a figure, a name, a sentence from the events.
pub trait Phrases: PlanPhrases + Sync {
    /// `1 worker`, `3 workers`.
    fn count(&self, value: u64, what: Counted) -> String;
    /// `402 to 421`.
    fn between(&self, low: &str, high: &str) -> String;
    /// `2 h 5 min`, of whole hours, minutes and seconds; what is 0 is left out.
    fn time(&self, hours: u64, minutes: u64, seconds: u64) -> String;
    /// `a and b`.
    fn all_of(&self, names: &[String]) -> String;
    /// `a, b, c`.
    fn list(&self, items: &[String]) -> String;
    /// `3 workers x 5 threads`.
    fn setting(&self, workers: u64, threads: Option<u64>) -> String {
        let workers = self.count(workers, Counted::Workers);
        match threads {
            Some(threads) => format!("{workers} x {}", self.count(threads, Counted::Threads)),
            None => workers,
        }
    }
    /// `2 x 5 with A=1`.
    fn with(&self, setting: &str, changes: &str) -> String;

    fn purpose(&self, purpose: TrialPurpose) -> &'static str;
    fn outcome(&self, outcome: Outcome) -> &'static str;
    /// The outcome in a count: `2 for calibration`, `5 held`.
    fn outcomes(&self, outcome: Outcome, count: usize) -> String;
    /// The limit as people name it.
    fn limit(&self, kind: LimitKind) -> &'static str;

    fn run(&self, found: &Found<'_>) -> String;
    fn keep(&self, found: &Found<'_>) -> String;
    /// Today's setting was measured and no other.
    fn only_todays(&self, found: &Found<'_>) -> String;
    /// Beside today's setting; `gain` is `None` where that holds no rate.
    fn run_instead(&self, found: &Found<'_>, today: &Today<'_>, gain: Option<&str>) -> String;
    fn run_because(&self, found: &Found<'_>, is_todays: bool, why: &Why<'_>) -> String;
    fn nothing_holds(&self, found: &Found<'_>, rate: &str) -> String;
    fn undone(&self, why: &Undone<'_>) -> String;
    /// `12 trials in 6 min`.
    fn trials_in(&self, trials: &str, time: &str) -> String;

    fn failed(&self, error: &str) -> String;
    /// A setting before a verb; `is_in_workers`: it is `3 workers`, which takes a colon in English.
    fn subject(&self, setting: &str, is_in_workers: bool) -> String;
    fn holds(&self, subject: &str, rate: &str, interval: Option<&str>) -> String;
    fn holds_not(&self, subject: &str, why: NoFigure) -> String;
    fn gain(&self, change: &str, ratio: &str, interval: Option<(&str, bool)>) -> String;
    fn limit_because(&self, limit: &str, evidence: &str, confidence: Option<&str>) -> String;
    /// A figure that no fresh start held at the end: an estimate.
    fn about(&self, figure: &str) -> String;
    /// `time` is how long it was measured; no larger share than `at_most` fails, 95 % sure.
    fn held(&self, held: &HeldRate, time: &str, at_most: &str, sureness: Sureness) -> String;
    fn second_by_second(&self, rate: &str) -> String;
    fn soak(&self, soaked: &Soaked<'_>) -> String;
    /// `17 days`.
    fn days(&self, days: u64) -> String;
    fn over_the_time(&self, rate: &str) -> String;
    fn day_to_day(&self, rate: &str, share: &str) -> String;
    fn memory_of(&self, used: &str, all: Option<&str>) -> String;
    fn memory_part(&self, part: MemoryPart, figure: &str, interval: Option<&str>) -> String;
    fn inside(&self, request: &Inside<'_>) -> String;
    fn up_to_connections(&self, connections: u64) -> String;
    fn best_so_far(&self, subject: &str, rate: &str, trial: u32) -> String;
    fn nearest(&self, nearest: &Nearest<'_>) -> String;
    fn way_out(&self, way: &WayOut<'_>) -> String;

    /// `outcomes` is empty without trials.
    fn method(&self, trials_in: &str, load: &str, outcomes: &[String]) -> String;
    fn arrivals(&self, arrivals: Arrivals) -> &'static str;
    /// `2 cores of AMD EPYC 7763, 4.0 GiB, kernel 6.1.0`, as far as it is known.
    fn machine(&self, machine: &Machine) -> String;
    fn measured_on(&self, machine: &str) -> String;
    fn took_up(&self, session: i64, trials: &str) -> String;
    /// Before the command that writes a report.
    fn stored_as(&self, session: i64, store: &str) -> String;
    fn stored_in(&self, session: i64, store: &str, begun: &str) -> String;
    fn off_by(&self, what: &str, percent: &str, settings: &str) -> String;
    fn predictions_off(&self, errors: &[String]) -> String;
    /// What was seen, and what to do about it.
    fn doubt(&self, seen: &str, advice: &str) -> String;
    fn did_not_start(&self, setting: &str, message: &str, advice: &str) -> String;
    fn ended(&self, subject: &str, trial: u32, status: &str) -> String;

    fn configuration_file(&self, server: &str) -> String;
    /// Where settings go; `is_alternative`: they may be set otherwise too.
    fn place(&self, place: &str, is_alternative: bool) -> String;
    fn and_in(&self, place: &str) -> String;
    fn map_heading(&self, has_threads: bool) -> String;
    fn front(&self, heading: FrontHeading, rate: Option<&str>) -> String;

    fn knobs_heading(&self, setting: &str) -> String;
    /// `level` is that of each interval; `None` where one was tried.
    fn knob_intervals(&self, tried: usize, level: Option<&str>) -> String;
    fn knobs_gain(&self, names: &str, ratio: &str, interval: &str, better: Option<&str>) -> String;
    fn knobs_together(&self, changes: &str) -> String;
    fn knobs_beside(&self, setting: &str, chosen: &str, changes: &str) -> String;
    /// What a limit of CPU is of the plan's, and what a core of it holds of what one of the plan's
    /// does.
    fn with_other_cpus(&self, cpus: f64, per_core: f64) -> String;
    /// `why`: it was not measured, or cannot be run; `more`: so much more time would tell.
    fn knob_outcome(&self, verdict: KnobVerdict, why: Option<&str>, more: Option<&str>) -> String;
    fn knob_figures(&self, capacity: &str, memory: &str) -> String;

    /// Latency with a change, beside that of the app as it is at the same rate, and what the other
    /// pods of both do once one is gone.
    fn at_one_rate(&self, with: &AtOneRate, as_it_is: &AtOneRate) -> String;

    /// `setting` is the recommended one; `was_stopped`: the session, before its end.
    fn still_right(&self, found: &Verification, setting: &str, was_stopped: bool) -> String;
    fn now_then(&self, setting: &str, ratio: &str) -> String;
    fn now_beside(&self, setting: &str, current: &str, ratio: &str) -> String;

    fn targets_at(&self, rate: &str) -> String;
    /// Whether it was met, and whether that is certain.
    fn goal_met(&self, goal: &GoalSummary) -> String;
    /// `slo`: the goal and how it came out.
    fn goal(&self, name: &str, slo: Option<(&str, &str)>, seen: &str) -> String;
    fn requests_failed(&self, requests: &str, failed: Option<u64>) -> String;

    fn starting(&self, setting: &str) -> String;
    fn trial(&self, id: u32) -> String;
    fn trial_begins(
        &self,
        trial: &str,
        load: &[String; 3],
        time: &str,
        left: Option<&str>,
    ) -> String;
    fn answered(&self, rate: &str, p95: &str) -> String;
    fn left(&self, time: &str) -> String;
    fn taking_up(&self, session: i64, trials: u32) -> String;
    /// So many trials or failures are not shown.
    fn left_out(&self, count: usize) -> String;
}

/// Figures with words in them.
impl dyn Phrases {
    /// `402 to 421`.
    pub fn interval(&self, [low, high]: [f64; 2]) -> String {
        self.between(&figures::number(low), &figures::number(high))
    }

    /// `1.46 to 1.60`.
    pub fn ratio_interval(&self, [low, high]: [f64; 2]) -> String {
        self.between(&figures::ratio(low), &figures::ratio(high))
    }

    /// A long time: `48 s`, `6 min 12 s`, `2 h 5 min`.
    pub fn span(&self, seconds: f64) -> String {
        let total = if seconds.is_finite() { seconds.max(0.0).round() as u64 } else { 0 };
        let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
        self.time(hours, minutes, if hours > 0 { 0 } else { seconds })
    }

    /// Share and interval: `99 % (97 to 101)`.
    pub fn share(&self, ratio: f64, [low, high]: [f64; 2]) -> String {
        let percent = |ratio: f64| format!("{:.0}", ratio * 100.0);
        let between = self.between(&percent(low), &percent(high));
        format!("{} ({between})", figures::percent(ratio))
    }
}
