//! Reports in English.

pub mod advice;
pub mod advise;
pub mod at_one_rate;
pub mod blind_spot;
pub mod comparison;
pub mod doubt;
pub mod failure;
pub mod finding;
pub mod lab;
pub mod limit;
pub mod limit_refusal;
pub mod note;
pub mod obstacle;
mod plan;
pub mod reason;
pub mod remark;
pub mod session_error;
mod undone;
mod way_out;

use super::{
    Counted, Found, FrontHeading, Inside, Language, Lasted, MemoryPart, Nearest, Phrases, Soaked,
    Sureness, Today, Undone, WayOut, Why,
};
use crate::report::figures;
use crate::report::story::{FreshStart, NoFigure, Outcome};
use crate::terms::{
    Arrivals, AtOneRate, GoalSummary, HeldRate, KnobVerdict, LimitKind, Machine, TrialPurpose,
    Verdict, Verification,
};

pub struct English;

impl English {
    fn holding(found: &Found<'_>) -> String {
        let warm = match found.fresh_start {
            FreshStart::HoldsAsMuch => String::new(),
            FreshStart::HoldsLess => " once warm,".to_string(),
            FreshStart::HeldIt { warm_rps } => {
                format!(" (about {} once warm)", figures::number(warm_rps))
            }
        };
        format!("{} requests/s{warm} within {}", found.capacity, found.goal)
    }

    fn of_those(rate: Option<&str>) -> String {
        rate.map(|rate| format!(" of those that hold {rate}")).unwrap_or_default()
    }
}

impl Phrases for English {
    fn count(&self, value: u64, what: Counted) -> String {
        let (one, many) = match what {
            Counted::Workers => ("worker", "workers"),
            Counted::Threads => ("thread", "threads"),
            Counted::Trials => ("trial", "trials"),
            Counted::Clients => ("client", "clients"),
            Counted::Connections => ("connection", "connections"),
            Counted::Settings => ("setting", "settings"),
            Counted::Requests => ("request", "requests"),
            Counted::Errors => ("error", "errors"),
            Counted::Starts => ("start", "starts"),
        };
        figures::count(value, one, many)
    }

    fn time(&self, hours: u64, minutes: u64, seconds: u64) -> String {
        figures::span((hours * 3600 + minutes * 60 + seconds) as f64)
    }

    fn all_of(&self, names: &[String]) -> String {
        names.join(" and ")
    }

    fn list(&self, items: &[String]) -> String {
        items.join(", ")
    }

    fn purpose(&self, purpose: TrialPurpose) -> &'static str {
        match purpose {
            TrialPurpose::Unloaded => "unloaded",
            TrialPurpose::Saturate => "saturate",
            TrialPurpose::Probe => "probe",
            TrialPurpose::Confirm => "confirm",
            TrialPurpose::Hold => "hold",
            TrialPurpose::Check => "check",
            TrialPurpose::Screen => "screen",
            TrialPurpose::LostPod => "lost pod",
            TrialPurpose::Soak => "soak",
        }
    }

    fn outcome(&self, outcome: Outcome) -> &'static str {
        match outcome {
            Outcome::DidNotStart => "did not start",
            Outcome::OutOfMemory => "out of memory",
            Outcome::ServerEnded => "server ended",
            Outcome::NotValid => "not valid",
            Outcome::Measured => "measured",
            Outcome::Held => "held",
            Outcome::DidNotHold => "did not hold",
            Outcome::Undecided => "undecided",
        }
    }

    fn outcomes(&self, outcome: Outcome, count: usize) -> String {
        match outcome {
            Outcome::Measured => format!("{count} for calibration"),
            outcome => format!("{count} {}", self.outcome(outcome)),
        }
    }

    fn limit(&self, kind: LimitKind) -> &'static str {
        match kind {
            LimitKind::Cores => "cores",
            LimitKind::Quota => "quota",
            // Ruby's GVL, Python's GIL.
            LimitKind::Gvl => "interpreter lock",
            LimitKind::Threads => "threads",
            LimitKind::Balance => "balance",
            LimitKind::Backlog => "backlog",
            LimitKind::Backend => "backend",
            LimitKind::Memory => "memory",
            LimitKind::Proxy => "proxy",
            LimitKind::Gc => "garbage collection",
            LimitKind::Host => "host",
            LimitKind::Generator => "generator",
            LimitKind::Unknown => "not known",
        }
    }

    fn run(&self, found: &Found<'_>) -> String {
        format!("Run {}: it holds {}.", found.setting, Self::holding(found))
    }

    fn keep(&self, found: &Found<'_>) -> String {
        format!("Keep {}, as it runs today: it holds {}.", found.setting, Self::holding(found))
    }

    fn only_todays(&self, found: &Found<'_>) -> String {
        format!(
            "Too short to compare: today's {} holds {}, and no other setting was measured; a \
             longer --budget measures more.",
            found.setting,
            Self::holding(found)
        )
    }

    fn run_instead(&self, found: &Found<'_>, today: &Today<'_>, gain: Option<&str>) -> String {
        let (holds, setting) = (Self::holding(found), found.setting);
        let verb = if today.is_one { "holds" } else { "hold" };
        let todays = format!("today's {} {verb}", today.setting);
        match gain {
            Some(gain) => {
                format!("Run {setting}: it holds {holds}, {gain} times what {todays}.")
            }
            None => format!("Run {setting}: it holds {holds}; {todays} no rate within it."),
        }
    }

    fn run_because(&self, found: &Found<'_>, is_todays: bool, why: &Why<'_>) -> String {
        let run = match is_todays {
            true => format!("Keep {}, as it runs today", found.setting),
            false => format!("Run {}", found.setting),
        };
        let why = match why {
            Why::Likeliest { rate } => {
                format!("it is the likeliest to hold {rate}, which none is certain to")
            }
            Why::LeastMemory { rate, memory } => {
                format!("it needs the least memory{}, {memory}", Self::of_those(*rate))
            }
            Why::LowestP95 { rate, p95 } => {
                format!("it has the lowest p95{}, {p95} at that rate", Self::of_those(*rate))
            }
            Why::LeastCost { rate, million } => {
                let of_those = Self::of_those(*rate);
                format!("a million requests cost least with it{of_those}, {million}")
            }
        };
        format!("{run}: {why}; it holds {}.", Self::holding(found))
    }

    fn nothing_holds(&self, found: &Found<'_>, rate: &str) -> String {
        format!(
            "No setting that was measured holds {rate}; the most is {}, with {}.",
            Self::holding(found),
            found.setting
        )
    }

    fn undone(&self, why: &Undone<'_>) -> String {
        undone::sentence(why)
    }

    fn subject(&self, setting: &str, is_in_workers: bool) -> String {
        format!("{setting}{}", if is_in_workers { ":" } else { "" })
    }

    fn holds(&self, subject: &str, rate: &str, interval: Option<&str>) -> String {
        let interval = interval.map(|it| format!(" ({it})")).unwrap_or_default();
        format!("{subject} holds {rate}{interval}")
    }

    fn holds_not(&self, subject: &str, why: NoFigure) -> String {
        let why = match why {
            NoFigure::DoesNotStart => "does not start",
            NoFigure::HoldsNothing => "holds no rate within the goal",
            NoFigure::EndedUnderLoad => "ended by itself under load",
            NoFigure::NotFarEnough => "was not measured far enough to say what it holds",
        };
        format!("{subject} {why}")
    }

    fn gain(&self, change: &str, ratio: &str, interval: Option<(&str, bool)>) -> String {
        match interval {
            None => format!("{change} ({ratio} times as much)"),
            Some((interval, is_doubtful)) => {
                let doubt = match is_doubtful {
                    true => "; no difference can be told apart here",
                    false => "",
                };
                format!("{change}: {ratio} times as much ({interval}){doubt}")
            }
        }
    }

    fn limit_because(&self, limit: &str, evidence: &str, confidence: Option<&str>) -> String {
        let sure = confidence.map(|it| format!(" (confidence {it})")).unwrap_or_default();
        format!("{limit}: {evidence}{sure}")
    }

    fn held(&self, held: &HeldRate, time: &str, at_most: &str, sureness: Sureness) -> String {
        let HeldRate { requests, failed, trial, .. } = held;
        let rate = figures::rate(held.rate_rps);
        let sure = match sureness {
            Sureness::BeyondChance => " beyond chance",
            Sureness::InPart => "",
            Sureness::PlainFigures => " by its plain figures, which chance might explain",
        };
        let failed = if *failed == 0 { "none".into() } else { failed.to_string() };
        format!(
            "started afresh, it was sent {rate} for {time} and met the goal{sure} (trial {trial}); \
             {failed} of {requests} requests failed: at most {at_most}, 95 % sure"
        )
    }

    fn soak(&self, soaked: &Soaked<'_>) -> String {
        let failed = match soaked.failed {
            0 => "none".to_string(),
            failed => failed.to_string(),
        };
        let figure = |what: &str, it: &Lasted| {
            let growth = it.growth.as_ref().map(|it| format!(", growing by {it} an hour"));
            format!("; {what} {}, then {}{}", it.first, it.last, growth.unwrap_or_default())
        };
        let missed =
            soaked.missed.map(|(missed, all)| format!("; {missed} of {all} parts missed the goal"));
        let missed = missed.unwrap_or_default();
        let latency = soaked.latency.as_ref().map(|it| figure("p95", it)).unwrap_or_default();
        let memory = soaked.memory.as_ref().map(|it| figure("memory", it)).unwrap_or_default();
        let full = soaked.full_in.map(|time| format!(": full in {time}")).unwrap_or_default();
        let replaced = match soaked.workers_replaced {
            0 => "no worker was replaced".to_string(),
            1 => "1 worker was replaced".to_string(),
            count => format!("{count} workers were replaced"),
        };
        let ended =
            soaked.ended.map(|why| format!("; it ended before its {}: {why}", soaked.asked));
        format!(
            "{} for {}: {failed} of {} requests failed{missed}{latency}{memory}{full}; \
             {replaced}{}",
            soaked.rate,
            soaked.time,
            soaked.requests,
            ended.unwrap_or_default()
        )
    }

    fn memory_of(&self, used: &str, all: Option<&str>) -> String {
        all.map_or_else(|| used.to_string(), |all| format!("{used} of {all}"))
    }

    fn memory_part(&self, part: MemoryPart, figure: &str, interval: Option<&str>) -> String {
        let what = match part {
            MemoryPart::Shared => "shared",
            MemoryPart::Worker => "a worker",
            MemoryPart::Thread => "a thread",
        };
        let interval = interval.map(|it| format!(" ({it})")).unwrap_or_default();
        format!("{figure} {what}{interval}")
    }

    fn inside(&self, request: &Inside<'_>) -> String {
        let and = |time: Option<&str>, what: &str| {
            time.map(|time| format!(", {time} {what}")).unwrap_or_default()
        };
        format!(
            "a request took {} in the app, {} of it CPU{}{}; the probe took {} more ({} of that \
             CPU)",
            request.app,
            request.cpu,
            and(request.gc, "garbage collection"),
            and(request.lock_wait, "waiting for the lock"),
            request.probe,
            request.probe_share
        )
    }

    fn up_to_connections(&self, connections: u64) -> String {
        format!("up to {}", self.count(connections, Counted::Connections))
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> String {
        let Nearest { setting, offered, quantile, latency, failed, trial } = nearest;
        let errors = match failed {
            None => "no request failed".to_string(),
            Some(share) => format!("{share} of the requests failed"),
        };
        format!("{setting} under {offered}: {quantile} {latency}, {errors} (trial {trial})")
    }

    fn way_out(&self, way: &WayOut<'_>) -> String {
        way_out::say(way)
    }

    fn method(&self, trials_in: &str, load: &str, outcomes: &[String]) -> String {
        let outcomes = match outcomes {
            [] => String::new(),
            some => format!(": {}", some.join(", ")),
        };
        format!("{trials_in}, {load} of it under load{outcomes}.")
    }

    fn arrivals(&self, arrivals: Arrivals) -> &'static str {
        match arrivals {
            Arrivals::Poisson => " Requests arrived as independent users do (Poisson).",
            Arrivals::Uniform => " Requests arrived at equal distances, which overstates capacity.",
        }
    }

    fn machine(&self, machine: &Machine) -> String {
        let (cpu, kernel) = (machine.known_cpu_model(), machine.known_kernel());
        let cpu = cpu.map(|cpu| format!(" of {cpu}")).unwrap_or_default();
        let kernel = kernel.map(|kernel| format!(", kernel {kernel}")).unwrap_or_default();
        let unit = if machine.cores.get() == 1.0 { "core" } else { "cores" };
        format!("{} {unit}{cpu}, {}{kernel}", machine.cores, machine.memory_bytes)
    }

    fn predictions_off(&self, errors: &[String]) -> String {
        format!("Predictions made beforehand were off in the median: {}.", errors.join(", "))
    }

    fn place(&self, place: &str, is_alternative: bool) -> String {
        format!("{}{place}", if is_alternative { "or " } else { "" })
    }

    fn map_heading(&self, has_threads: bool) -> String {
        let by = if has_threads { "workers x threads" } else { "workers" };
        format!("Map: requests/s within the goal, {by}")
    }

    fn front(&self, heading: FrontHeading, rate: Option<&str>) -> String {
        let figures = match heading {
            FrontHeading::CapacityAndMemory => return "Capacity against memory".to_string(),
            FrontHeading::P95 { has_cost: true } => "p95 and cost of requests",
            FrontHeading::P95 { has_cost: false } => "p95",
            FrontHeading::Cost => "cost of an hour and of a million requests",
        };
        let at = rate.unwrap_or("70 % of capacity");
        format!("Capacity against memory; {figures} at {at}")
    }

    fn knob_intervals(&self, tried: usize, level: Option<&str>) -> String {
        match level {
            None => "Intervals of 95 %.".to_string(),
            Some(level) => format!(
                "With {tried} changes tried, each interval is one of {level} %, so that all of \
                 them together hold with 95 %."
            ),
        }
    }

    fn knobs_gain(&self, names: &str, ratio: &str, interval: &str, better: Option<&str>) -> String {
        let threads = better.map(|at| format!("; with it {at} is better")).unwrap_or_default();
        format!("{names}: {ratio} times the capacity ({interval}){threads}")
    }

    fn with_other_cpus(&self, cpus: f64, per_core: f64) -> String {
        let (cpus, per_core) = (figures::percent(cpus), figures::percent(per_core));
        format!("with {cpus} of the CPU, of which each core holds {per_core} as much")
    }

    fn knob_outcome(&self, verdict: KnobVerdict, why: Option<&str>, more: Option<&str>) -> String {
        match (verdict, why, more) {
            (KnobVerdict::Helps, ..) => "helps".to_string(),
            (KnobVerdict::Hurts, ..) => "hurts".to_string(),
            (KnobVerdict::NoDifference, ..) => "no difference within 3 %".to_string(),
            (KnobVerdict::Undecided, Some(why), _) => format!("undecided: {why}"),
            (KnobVerdict::Undecided, None, Some(more)) => {
                format!("undecided: about {more} more would tell")
            }
            (KnobVerdict::Undecided, None, None) => "undecided".to_string(),
            (KnobVerdict::Out, why, _) => format!("out: {}", why.unwrap_or_default()),
        }
    }

    fn at_one_rate(&self, with: &AtOneRate, as_it_is: &AtOneRate) -> String {
        at_one_rate::sentence(with, as_it_is)
    }

    fn still_right(&self, found: &Verification, setting: &str, was_stopped: bool) -> String {
        let (session, reason) = (found.session, Language::English.say(&found.reason));
        let so_far = if was_stopped { "Stopped before its end; so far: " } else { "" };
        let answer = match found.verdict {
            Verdict::Yes => format!("Still right: {setting}, as session {session} recommends"),
            Verdict::No => format!("No longer right: {setting}, as session {session} recommends"),
            Verdict::Undecided => format!(
                "Undecided whether {setting}, as session {session} recommends, is still right"
            ),
        };
        format!("{so_far}{answer}: {reason}.")
    }

    fn goal_met(&self, goal: &GoalSummary) -> String {
        let seen = match (goal.met, goal.leaning) {
            (Some(true), _) => return "met".to_string(),
            (Some(false), _) => return "not met".to_string(),
            (None, Some(true)) => "held",
            (None, Some(false)) => "looks missed",
            (None, None) => "not asked for",
        };
        match goal.requests_needed {
            Some(needed) => format!("{seen} (not certain: {needed} requests are needed)"),
            None => format!("{seen} (not certain: too close)"),
        }
    }

    fn goal(&self, name: &str, slo: Option<(&str, &str)>, seen: &str) -> String {
        match slo {
            Some((slo, met)) => format!("{name}: {slo} {met}; {seen}"),
            None => format!("{name}: no goal; {seen}"),
        }
    }

    fn requests_failed(&self, requests: &str, failed: Option<u64>) -> String {
        failed.map_or_else(|| requests.to_string(), |failed| format!("{requests}, {failed} failed"))
    }

    fn trial_begins(
        &self,
        trial: &str,
        load: &[String; 3],
        time: &str,
        left: Option<&str>,
    ) -> String {
        let left = left.map(|left| format!("; about {left} left")).unwrap_or_default();
        format!("{trial}: {} for {time}{left}", load.join(", "))
    }

    texts! {
        between(low: &str, high: &str) => "{low} to {high}";
        with(setting: &str, changes: &str) => "{setting} with {changes}";
        trials_in(trials: &str, time: &str) => "{trials} in {time}";
        failed(error: &str) => "before its end: this is the answer so far; {error}";
        about(figure: &str) => "about {figure}";
        second_by_second(rate: &str) => "The last part at {rate}, second by second";
        days(days: u64) => "{days} days";
        over_the_time(rate: &str) => "Over time at {rate}";
        day_to_day(rate: &str, share: &str) =>
            "{rate}, {share} of what it holds: the rest is for bursts and bad days";
        best_so_far(subject: &str, rate: &str, trial: u32) =>
            "{subject} held {rate} in trial {trial}";
        measured_on(machine: &str) => "Measured on {machine}.";
        took_up(session: i64, trials: &str) =>
            "Took up session {session}, from which {trials} were known.";
        stored_as(session: i64, store: &str) =>
            "Stored as session {session} in {store}; write a report with:";
        stored_in(session: i64, store: &str, begun: &str) =>
            "session {session} of {store}, begun {begun}";
        off_by(what: &str, percent: &str, settings: &str) => "{what} by {percent} ({settings})";
        doubt(seen: &str, advice: &str) => "{seen}; {advice}";
        did_not_start(setting: &str, message: &str, advice: &str) =>
            "{setting} did not start: {message}; {advice}";
        ended(subject: &str, trial: u32, status: &str) =>
            "{subject} ended in trial {trial} ({status})";
        configuration_file(server: &str) => "{server}'s configuration file";
        and_in(place: &str) => "and {place}";
        knobs_heading(setting: &str) => "Knobs, each tried beside {setting} as it is";
        knobs_together(changes: &str) => "together: {changes}";
        knobs_beside(setting: &str, chosen: &str, changes: &str) =>
            "{setting} beside {chosen}, both with {changes}";
        knob_figures(capacity: &str, memory: &str) => "capacity {capacity}, memory {memory}";
        now_then(setting: &str, ratio: &str) => "{setting}, now / then: {ratio}";
        now_beside(setting: &str, current: &str, ratio: &str) =>
            "{setting} / {current}, now, within blocks: {ratio}";
        targets_at(rate: &str) => "Targets at {rate}";
        starting(setting: &str) => "starting the server with {setting}";
        trial(id: u32) => "trial {id}";
        answered(rate: &str, p95: &str) => "{rate} answered  p95 {p95}";
        left(time: &str) => "{time} left";
        taking_up(session: i64, trials: u32) =>
            "taking up session {session}: {trials} trials are known from it";
        left_out(count: usize) =>
            "{count} more are left out here; `-o csv=FOLDER/` and `-o json` have all of them.";
    }
}
