//! What `sweetspot load --find-capacity` does: the highest sustainable rate of whatever runs at the
//! URL.
//!
//! In: what was typed. Out: a [`CapacitySummary`]. `search` says what to send next; `find` has it
//! sent by a closure, judges it, and tells the search. Must not print.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::window::{Offer, Sender, Sent};
use super::{Asked, Conclusion, LoadVerbError, Prepared, Shape, on_the_way, tls};
use crate::load::Length;
use crate::report::load::text::nothing_answered;
use crate::search::{BurstAnswer, RateAsk, RateSearch, WindowAnswer};
use crate::summary::load::summarise;
use crate::summary::{between, verdict};
use crate::terms::{
    Arrivals, CapacityConclusion, CapacityDoubt, CapacityLatency, CapacitySummary, CapacityWindow,
    Doubt, GeneratorDoubt, Goals, LiveSecond, LoadDoubt, LoadOffered, LoadRecord, LoadSummary,
    Offered, Rate, StopSignal, Verdict, Warning, format_duration,
};

/// A search that can begin.
pub struct PreparedCapacity {
    load: Prepared,
    plan: Plan,
    /// What is going to be done, for people; without secrets.
    pub description: Vec<String>,
}

/// What is searched, and within what.
#[derive(Debug, Clone)]
struct Plan {
    goals: Goals,
    arrivals: Arrivals,
    guess: Option<Rate>,
    time: Duration,
    settle: Duration,
    /// Of a request.
    timeout: Duration,
}

/// What happens while it runs.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    Second(&'a LiveSecond),
    Burst { clients: u32, throughput_rps: f64 },
    Window(&'a CapacityWindow),
}

type Tell<'a> = &'a mut dyn FnMut(Progress<'_>);

/// Sends one offer and tells every second of it.
type SendOffer<'a> =
    &'a mut dyn FnMut(&Offer, &mut dyn FnMut(&LiveSecond)) -> Result<Sent, LoadVerbError>;

/// Time for bursts and one window, beside its settling.
const LEAST: Duration = Duration::from_secs(10);

/// Without a reply for so long before the end, and with connections refused, a server has gone.
const SILENCE: Duration = Duration::from_secs(1);

/// Checks what was typed, and finds the server's addresses (without sending anything). `asked` has
/// the time in all as its length, the settling as its warm-up, and an open load of any rate;
/// `guess`: where to begin.
///
/// # Errors
/// What was typed makes no sense or is not allowed, or the name is not known.
pub fn prepare(asked: Asked, guess: Option<Rate>) -> Result<PreparedCapacity, LoadVerbError> {
    let usage = |what: String| Err(LoadVerbError::Usage(what));
    let has_targets = !asked.targets.is_empty() || asked.targets_file.is_some();
    let without_goal = "--find-capacity needs a goal; add for example --slo 'p95<200ms,errors<1%'";
    if asked.slo.is_none() && !has_targets {
        return usage(without_goal.into());
    }
    let (Some(Shape::Constant { arrivals, .. }), Length::Duration(time)) =
        (&asked.shape, asked.length)
    else {
        return usage(
            "--find-capacity searches a rate within a time; leave out the clients or the \
                      number of requests"
                .into(),
        );
    };
    if guess.is_some_and(|rate| rate.as_per_second() <= 0.0) {
        return usage("the first guess must be above zero, such as --rate 10/s".into());
    }
    if asked.warm_up.subsec_nanos() != 0 {
        return usage("the warm-up must be whole seconds, such as 2s".into());
    }
    let least = LEAST + asked.warm_up;
    if time < least {
        return usage(format!(
            "{} are too short to find a capacity; give it {} or more (--duration)",
            format_duration(time),
            format_duration(least)
        ));
    }
    let (settle, timeout) = (asked.warm_up, asked.timeout);
    let arrivals = *arrivals;
    let connection = asked.connection;
    let load = super::prepare(asked)?;
    if load.goals.are_none() {
        return usage(without_goal.into());
    }
    let plan = Plan { goals: load.goals.clone(), arrivals, guess, time, settle, timeout };
    // The second line is about one rate.
    let mut description = load.description.clone();
    let rest = description.split_off(2);
    description.truncate(1);
    description.push(format!(
        "the highest rate within {}, {} arrivals, found in {}",
        plan.goals.list(),
        format!("{arrivals:?}").to_lowercase(),
        format_duration(time)
    ));
    description.push(format!(
        "{} of settling before each window, {connection} connections, timeout {}",
        format_duration(settle),
        format_duration(timeout)
    ));
    description.extend(rest);
    Ok(PreparedCapacity { load, plan, description })
}

/// Searches until the answer is good enough, the time is used, or `stop` is raised.
///
/// # Errors
/// The generator cannot work, or not one request was answered.
pub fn run(
    prepared: &PreparedCapacity,
    stop: &StopSignal,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<CapacitySummary, LoadVerbError> {
    let (spec, route) = on_the_way(&prepared.load, stop);
    let mut sender = Sender::new(spec, stop);
    let mut send = |offer: &Offer, second: &mut dyn FnMut(&LiveSecond)| sender.send(offer, second);
    let mut summary = find(&prepared.plan, &mut send, tell)?;
    let tightest = prepared.plan.goals.tightest_limit();
    summary.route = route;
    summary.warnings.extend(prepared.load.warnings.iter().cloned());
    summary.warnings.extend(route.and_then(|route| between::doubt_route(&route, tightest)));
    Ok(summary)
}

/// What the exit code says.
pub fn conclude(summary: &CapacitySummary) -> Conclusion {
    match summary.conclusion {
        CapacityConclusion::Found if summary.valid => Conclusion::Done,
        CapacityConclusion::Below if summary.valid => Conclusion::NotMet,
        _ => Conclusion::Invalid,
    }
}

/// The search itself; whatever touches the network is in `send`.
fn find(
    plan: &Plan,
    send: SendOffer<'_>,
    tell: Tell<'_>,
) -> Result<CapacitySummary, LoadVerbError> {
    let mut finder = Finder::new(plan);
    while let Some(ask) = finder.search.next() {
        let offer = finder.offer(ask);
        let sent = send(&offer, &mut |second| tell(Progress::Second(second)))?;
        finder.load_s += sent.took.as_secs_f64();
        if sent.is_stopped {
            finder.is_stopped = true;
            break;
        }
        finder.check_answers(&sent.record)?;
        if finder.is_gone {
            break;
        }
        match ask {
            RateAsk::Burst { clients, .. } => finder.take_burst(clients, &sent, tell),
            RateAsk::Window { rate, .. } => finder.take_window(rate, &offer, &sent, tell),
        }
    }
    finder.conclude()
}

struct Finder<'a> {
    plan: &'a Plan,
    search: RateSearch,
    windows: Vec<CapacityWindow>,
    warnings: Vec<Warning>,
    load_s: f64,
    has_answered: bool,
    is_gone: bool,
    is_stopped: bool,
}

impl<'a> Finder<'a> {
    fn new(plan: &'a Plan) -> Self {
        let search = RateSearch::new(plan.time, plan.settle);
        Self {
            plan,
            search: match plan.guess {
                Some(guess) => search.with_guess(guess),
                None => search,
            },
            windows: Vec::new(),
            warnings: Vec::new(),
            load_s: 0.0,
            has_answered: false,
            is_gone: false,
            is_stopped: false,
        }
    }

    fn offer(&self, ask: RateAsk) -> Offer {
        let offer = match ask {
            RateAsk::Burst { clients, duration } => Offer::burst(clients, duration),
            RateAsk::Window { rate, settle, duration } => {
                let offered = Offered::Open { rate, arrivals: self.plan.arrivals };
                Offer::window((rate, offered), (settle, duration), &self.plan.goals)
            }
        };
        // A slow server's first reply is worth the wait: without any there is nothing to measure.
        match self.has_answered {
            true => offer,
            false => Offer { patience: self.plan.timeout, ..offer },
        }
    }

    /// A server that answers nothing ends the search; so does one that no longer answers.
    fn check_answers(&mut self, record: &LoadRecord) -> Result<(), LoadVerbError> {
        let whole = self.summary(record, Duration::ZERO);
        let is_silent = whole.due > 0 && whole.completed == 0;
        if is_silent && !self.has_answered {
            return Err(LoadVerbError::NothingAnswered(nothing_answered(&whole)));
        }
        let silence = record.run.duration.saturating_sub(record.run.last_reply);
        self.is_gone = is_silent || (whole.errors.refused > 0 && silence >= SILENCE);
        self.has_answered |= whole.completed > 0;
        if self.is_gone {
            let load = match record.run.offered {
                Offered::Open { rate, .. } => LoadOffered::RateRps(rate.as_per_second()),
                Offered::Closed { clients, .. } => LoadOffered::Clients(clients),
            };
            self.warnings.push(CapacityDoubt::ServerGone { load }.into());
        }
        Ok(())
    }

    fn summary(&self, record: &LoadRecord, cut: Duration) -> LoadSummary {
        let mut summary = summarise(record, cut, &self.plan.goals);
        summary.warnings.extend(tls::warning(&record.run, &summary.errors));
        summary
    }

    fn take_burst(&mut self, clients: u32, sent: &Sent, tell: Tell<'_>) {
        let summary = self.summary(&sent.record, Duration::ZERO);
        self.note(&summary, clients > 1);
        self.search.tell_burst(BurstAnswer {
            clients,
            throughput_rps: summary.throughput_rps,
            completed: summary.completed,
            met: summary.slo.as_ref().and_then(|slo| slo.met),
            is_valid: summary.valid,
            load_s: sent.took.as_secs_f64(),
        });
        tell(Progress::Burst { clients, throughput_rps: summary.throughput_rps });
    }

    fn take_window(&mut self, rate: Rate, offer: &Offer, sent: &Sent, tell: Tell<'_>) {
        let record = &sent.record;
        // One that was ended early has settled as far as it ever will.
        let cut = if record.run.is_cut_short { Duration::ZERO } else { offer.settle };
        let summary = self.summary(record, cut);
        let judged = verdict::judge(record, &self.plan.goals, &summary, cut);
        self.note(&summary, judged.leaning != Verdict::Yes);
        let is_busy =
            |it: &Warning| matches!(it.of_generator(), Some(GeneratorDoubt::LoopBusy { .. }));
        self.search.tell_window(WindowAnswer {
            rate_rps: rate.as_per_second(),
            verdict: judged.verdict,
            leaning: judged.leaning,
            resolution: judged.resolution,
            edge: judged.edge,
            is_valid: summary.valid,
            is_generator_busy: !summary.valid && summary.warnings.iter().any(is_busy),
            load_s: sent.took.as_secs_f64(),
        });
        let window = CapacityWindow {
            rate_rps: rate.as_per_second(),
            duration_s: summary.duration_s,
            met: judged.verdict.met(),
            reason: judged.reason.into(),
            latency_s: CapacityLatency {
                p50: summary.latency_s.p50,
                p95: summary.latency_s.p95,
                p99: summary.latency_s.p99,
            },
            throughput_rps: summary.throughput_rps,
            valid: summary.valid,
        };
        tell(Progress::Window(&window));
        self.windows.push(window);
    }

    /// Keeps one doubt of each kind that an overload does not explain.
    fn note(&mut self, summary: &LoadSummary, is_overload: bool) {
        for warning in &summary.warnings {
            let is_explained = match warning.doubt() {
                Some(Doubt::Load(
                    LoadDoubt::Unanswered { .. }
                    | LoadDoubt::WaitedForPlace { .. }
                    | LoadDoubt::FailedReplies { .. },
                )) => is_overload,
                // What was cut short was so by the search itself.
                Some(Doubt::Load(LoadDoubt::LoadCutShort { .. })) => true,
                _ => false,
            };
            if !is_explained {
                warning.raise_in(&mut self.warnings);
            }
        }
    }

    fn conclude(mut self) -> Result<CapacitySummary, LoadVerbError> {
        if self.is_stopped && !self.has_answered {
            let what = "the search was ended before anything was measured";
            return Err(LoadVerbError::NothingAnswered(what.to_string()));
        }
        let answer = self.search.answer();
        let (is_at_least, is_below) = (
            answer.conclusion == CapacityConclusion::AtLeast,
            answer.conclusion == CapacityConclusion::Below,
        );
        self.doubt_answer(answer.conclusion, answer.is_generator_limited);
        let has_valid = self.windows.is_empty() || self.windows.iter().any(|window| window.valid);
        let rps = answer.capacity_rps.filter(|_| !is_at_least && !is_below);
        Ok(CapacitySummary {
            conclusion: answer.conclusion,
            capacity_rps: rps.map(|rps| rps.value),
            capacity_rps_interval: rps.map(|rps| rps.interval()),
            bound_rps: answer.bound_rps,
            slo: self.plan.goals.list(),
            arrivals: self.plan.arrivals,
            windows: self.windows,
            valid: has_valid && !answer.is_generator_limited && !self.is_gone,
            warnings: self.warnings,
            load_s: self.load_s,
            route: None,
        })
    }

    fn doubt_answer(&mut self, conclusion: CapacityConclusion, is_generator_limited: bool) {
        if self.is_stopped {
            self.warnings.push(CapacityDoubt::SearchCutShort { after_s: self.load_s }.into());
        }
        let doubt = match conclusion {
            _ if is_generator_limited => Some(CapacityDoubt::GeneratorLimited),
            CapacityConclusion::AtLeast => Some(CapacityDoubt::NoUpperBound),
            CapacityConclusion::Undecided => Some(CapacityDoubt::NoCapacityNamed),
            CapacityConclusion::Found | CapacityConclusion::Below => None,
        };
        self.warnings.extend(doubt.map(Warning::from));
    }
}
