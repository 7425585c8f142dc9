//! What a comparison or a verification says beside its figures, in English.

use std::fmt;

use super::English;
use crate::report::figures::{count, latency, number, rate, span};
use crate::report::outside::line;
use crate::report::wording::{Counted, Language, Phrases, PlanPhrases};
use crate::terms::{
    CompareNote, CompareRefusal, Difference, FigureKind, FigureLeftOut, LoadOffered, Machine,
    MachineDifference, MetricRead, NamedPart, NamedSetting, ShapeSummary, StageSummary,
};

/// More stages than this are not named one by one.
const STAGES_NAMED: usize = 4;

pub fn machines(difference: &MachineDifference) -> String {
    let one = |it: &Machine| format!("{} with {} cores", it.cpu_model, it.cores);
    match difference {
        MachineDifference::MachineNotKnown => "of one of them the machine is not known".into(),
        MachineDifference::MeasuredElsewhere { a, b } => {
            format!("A was measured on {}, B on {}", one(a), one(b))
        }
    }
}

pub fn refusal(refusal: &CompareRefusal) -> String {
    match refusal {
        CompareRefusal::MachinesDiffer { why } => format!(
            "the machines differ: {}; a difference would be the machine's as much as the app's. \
             Measure both on one machine, or say --machines if the machine is what you compare",
            machines(why)
        ),
        CompareRefusal::TooFewStarts { side, starts, needed } => format!(
            "{side} has {} of its setting, and to compare machines takes at least {needed} on \
             each; give its tune a longer --budget",
            English.count(*starts, Counted::Starts)
        ),
        CompareRefusal::OneStartEach { needed } => format!(
            "each side is one start, and to compare machines takes at least {needed} on each: \
             tune on both, and compare the sessions"
        ),
        CompareRefusal::GoalsDiffer { a, b, is_of_sessions } => {
            let verb = if *is_of_sessions { "measure both with" } else { "use" };
            format!("the goals differ: A's is {a}, B's {b}; {verb} the same --slo")
        }
        CompareRefusal::PlansDiffer { a, b, flag } => {
            let (what, [a, b]) = English.both([a.as_ref(), b.as_ref()], Language::English);
            format!("{what} differ: A has {a}, B {b}; measure both with the same {flag}")
        }
        CompareRefusal::LoadsDiffer { a, b } => {
            format!("the loads differ: A is {}, B {}; offer both the same", load(*a), load(*b))
        }
        CompareRefusal::ShapesDiffer { a, b } => {
            format!("the loads differ: A is {}, B {}; offer both the same", shape(a), shape(b))
        }
        CompareRefusal::LoadNotValid { side } => format!(
            "{side} is invalid: it describes the load generator or the machine, not the server; \
             its warnings say how to mend that"
        ),
        CompareRefusal::ArrivalsDiffer => "the arrivals differ; use the same --arrivals".into(),
        CompareRefusal::CapacityNotFound { side } => format!("{side} found no capacity"),
        CompareRefusal::BlocksTooFew { blocks, block_s, needed } => format!(
            "cannot tell: of the range A and B have {blocks} blocks of {} in common, and it takes \
             at least {needed}; look again later, or give a longer range",
            span(f64::from(*block_s))
        ),
        CompareRefusal::HoursUnmatched => {
            "cannot tell: no day of the later range has twelve hours whose weekday and time are in \
             the earlier one too; give whole weeks, or whole days that lie whole weeks apart"
                .into()
        }
        CompareRefusal::TooFewDays { days, needed } => format!(
            "cannot tell: of the later range {} can be set beside the same weekday of the earlier \
             one, and it takes at least {needed}; give longer ranges",
            if *days == 1 { "1 day".to_string() } else { format!("{days} days") }
        ),
        CompareRefusal::MostlyGaps { present, possible } => format!(
            "cannot tell: of {possible} blocks, or days of ranges one after the other, only \
             {present} have figures on both sides; where requests are few, a longer --block (1h \
             at most) has more of them"
        ),
    }
}

fn load(offered: Option<LoadOffered>) -> String {
    match offered {
        Some(LoadOffered::RateRps(rate)) => format!("{rate:.1}/s"),
        Some(LoadOffered::Clients(clients)) => format!("{clients} clients"),
        None => "an unknown load".into(),
    }
}

fn shape(shape: &ShapeSummary) -> String {
    match shape {
        ShapeSummary::Constant => "one rate all the time".into(),
        ShapeSummary::Stages { stages } => {
            let mut named: Vec<String> = stages.iter().take(STAGES_NAMED).map(stage).collect();
            let others = stages.len().saturating_sub(STAGES_NAMED) as u64;
            if others > 0 {
                named.push(count(others, "more stage", "more stages"));
            }
            named.join(", then ")
        }
        ShapeSummary::Recorded { requests } => {
            format!("a replay of {}", count(*requests, "request", "requests"))
        }
        ShapeSummary::Clients { think_s } if *think_s == 0.0 => "clients that never pause".into(),
        ShapeSummary::Clients { think_s } => format!("clients that think {}", latency(*think_s)),
    }
}

fn stage(stage: &StageSummary) -> String {
    let StageSummary { from_rps, to_rps, duration_s } = *stage;
    if from_rps == to_rps {
        format!("{} for {}", rate(to_rps), span(duration_s))
    } else {
        format!("{} to {} in {}", rate(from_rps), rate(to_rps), span(duration_s))
    }
}

pub fn left_out(why: &FigureLeftOut) -> String {
    match why {
        FigureLeftOut::ServerCpuNotInLoad => {
            "CPU per request: a load's result does not say what the server used".into()
        }
        FigureLeftOut::NothingAnswered { figure } => {
            format!("{figure}: nothing was answered on one side")
        }
        FigureLeftOut::NotMeasuredOnBoth { figure } => {
            format!("{figure}: not measured on both sides")
        }
        FigureLeftOut::MissingOnOneSide { figure: FigureKind::CurrentCapacity } => {
            "current setting's capacity: one side has none".into()
        }
        FigureLeftOut::MissingOnOneSide { figure } => format!("{figure}: one side has none"),
        FigureLeftOut::SettingHoldsNothing { figure, setting, side } => {
            format!("{figure}: {setting} holds nothing in {side}, or was not measured there")
        }
        FigureLeftOut::NoCommonRate => "p95: there is no rate that both were offered".into(),
        FigureLeftOut::MetricAbsent { figure, near } if near.is_empty() => {
            format!("{figure}: no metric that says it is there (docs/observe.md lists them)")
        }
        FigureLeftOut::MetricAbsent { figure, near } => format!(
            "{figure}: no metric that says it is there; near it are {}; --metric names one",
            English.list(near)
        ),
        FigureLeftOut::OnlySummary { figure, metric } => format!(
            "{figure}: {metric} is a summary, and quantiles of several processes cannot be put \
             together; a histogram can tell"
        ),
        FigureLeftOut::BeyondBuckets { figure, bound_s } => format!(
            "{figure}: it lies beyond the histogram's last bound, {}; give the histogram more \
             buckets",
            latency(*bound_s)
        ),
        FigureLeftOut::NotInLog { figure } => format!("{figure}: an access log does not say it"),
        FigureLeftOut::NotAtLoadBalancer { figure } => {
            format!("{figure}: a load balancer's metrics do not say it")
        }
        FigureLeftOut::NotInTraces { figure } => format!("{figure}: traces do not say it"),
    }
}

pub fn difference(difference: &Difference) -> String {
    let tell = |what: &str, a: &str, b: &str| format!("{what}: A {a}, B {b}");
    match difference {
        Difference::NameDiffers { what, a, b } => {
            let what = match what {
                NamedPart::App => "app",
                NamedPart::Server => "server",
                NamedPart::Kernel => "kernel",
            };
            tell(what, a, b)
        }
        Difference::PlannedOtherwise { a, b } => {
            let (what, [a, b]) = English.both([a.as_ref(), b.as_ref()], Language::English);
            tell(what, &a, &b)
        }
        Difference::ServerMemoryDiffers { a, b } => {
            tell("memory of the server", &a.to_string(), &b.to_string())
        }
        Difference::RecommendedDiffers { a, b } => {
            tell("recommended setting", &setting(*a), &setting(*b))
        }
        Difference::KnobsNotVerified { changes, at } => {
            let at = at.map_or_else(String::new, |at| format!(" at {}", setting(at)));
            format!(
                "knobs: {}{at} is recommended too, and is not verified: then and now count \
                 without it",
                English.all_of(changes)
            )
        }
    }
}

fn setting(NamedSetting { workers, threads }: NamedSetting) -> String {
    match threads {
        Some(threads) => format!("{workers} x {threads}"),
        None => English.count(workers.into(), Counted::Workers),
    }
}

const NOT_MEASURED_IN_TURN: &str = "the two were not measured in turn: the intervals of \
     latency, memory and CPU have what starts differ by, and not what the machine did differently \
     at another time; those of one session that measures both do";
const GOAL_OUT_OF_REACH: &str = "not even one client alone is served within the goal, so there is \
     no capacity to compare; give a --slo that can be met";
const RAN_AT_ONCE: &str = "both ran at once, and the intervals hold however often one looks, as \
     long as the range begins at the same moment";
const INSTANCES_DIFFER: &str = "what the instances of A and B differ by of themselves is not in \
     them: the same two at a time when both had one setting tell";
const HOURS_MATCHED: &str = "hours of the same weekday were set beside each other; what else \
     changed between the two ranges is not told apart: two settings at once, on two halves of the \
     fleet, do";

pub fn note(note: &CompareNote) -> String {
    match note {
        CompareNote::NotMeasuredInTurn => NOT_MEASURED_IN_TURN.into(),
        CompareNote::NoCommonBlock => {
            "no block has both settings, so they are compared as they were met in the race".into()
        }
        CompareNote::FiguresOfRace { side } => format!(
            "{side}'s setting was not measured again after the choice; its figure is the race's \
             own"
        ),
        CompareNote::PlanNotKnown { side } => format!(
            "{side} does not say what was asked for, so whether targets, arrivals and connections \
             were the same could not be checked"
        ),
        CompareNote::MachinesNotSaid { starts_differ_ratio } => format!(
            "neither result says on which machine it was measured: that it was the same, and as \
             quiet, is for you to know. What two starts differ by (some {:.0} %) is in the \
             intervals",
            starts_differ_ratio * 100.0
        ),
        CompareNote::ChangesNotMeasured { files: 1 } => {
            "1 file has changes that are not committed; commits are what was measured".into()
        }
        CompareNote::ChangesNotMeasured { files } => format!(
            "{files} files have changes that are not committed; commits are what was measured"
        ),
        CompareNote::SubmodulesLeftOut { side } => format!(
            "{side} has submodules, which are not checked out; --prepare 'git submodule update \
             --init' brings them"
        ),
        CompareNote::CodeShared { paths } => code_shared(paths),
        CompareNote::GoalOutOfReach => GOAL_OUT_OF_REACH.into(),
        CompareNote::FewBlocks { blocks, block_s, wanted, budget_s } => {
            few_blocks(*blocks, *block_s, *wanted, *budget_s)
        }
        CompareNote::RanAtOnce => format!("{RAN_AT_ONCE}; {INSTANCES_DIFFER}"),
        CompareNote::RanAtOnceLately { from } => lately(from),
        CompareNote::MetricsRead { metrics } => metrics_read(metrics),
        CompareNote::BalancersOwnErrors => BALANCERS_OWN_ERRORS.into(),
        CompareNote::HoursMatched => HOURS_MATCHED.into(),
        CompareNote::BlocksMissing { missing, possible } => format!(
            "gaps: {missing} of {possible} blocks have no figure on one side, and count on neither"
        ),
        CompareNote::TrafficUneven { traffic_ratio } => format!(
            "B got {} times as many requests as A: latency, memory and CPU may differ for that \
             alone, unless B has as many times the instances",
            number(*traffic_ratio)
        ),
        CompareNote::ClocksApart { ahead_s } => clocks_apart(*ahead_s),
        CompareNote::RangeCut { to } => {
            format!("the range was cut at {to}: what is later is not known yet")
        }
        CompareNote::CountersReset { side, times } => format!(
            "counters of {side} began anew {times} times: processes were started meanwhile, and \
             what that costs is in the figures"
        ),
        CompareNote::BucketWide { figure, low_s, high_s } => format!(
            "{figure} lies in a bucket from {} to {} of the histogram, within which it is \
             interpolated: the direction of a change is right, its size may not be",
            latency(*low_s),
            latency(*high_s)
        ),
        CompareNote::LinesLeftOut { side, lines, of } => format!(
            "{lines} of {of} lines of {side}'s log are not understood or say no response time"
        ),
        CompareNote::SourceWarned { text } => format!("remarked of the record: {}", line(text)),
    }
}

const BALANCERS_OWN_ERRORS: &str = "of a target group, requests count as failed that it answered \
     with 5xx, and connections to it that could not be made; other replies that the load balancer \
     makes itself (502, 504) are counted of a whole balancer alone";

fn lately(from: &str) -> String {
    format!(
        "both ran at once, and the intervals hold for this one look, as the range of --last begins \
         at another moment each time; say '--between {from}..' when you look again: of ranges that \
         begin there they hold however often one looks; {INSTANCES_DIFFER}"
    )
}

fn metrics_read(metrics: &[MetricRead]) -> String {
    let each = metrics.iter().map(|it| format!("{} by {}", it.figure, line(&it.metric)));
    format!("read: {}", each.collect::<Vec<_>>().join(", "))
}

fn clocks_apart(ahead_s: f64) -> String {
    let span = span(ahead_s.abs());
    let side = if ahead_s > 0.0 { "ahead of" } else { "behind" };
    format!("Prometheus' clock is {span} {side} ours; ranges go by Prometheus'")
}

fn code_shared(paths: &[String]) -> String {
    format!(
        "A and B may both run code of the working folder, by {}: what they differ by in there is \
         not measured; --prepare 'COMMAND' makes each its own, such as 'npm ci && npm run build'",
        English.list(paths)
    )
}

fn few_blocks(blocks: u64, block_s: f64, wanted: u64, budget_s: f64) -> String {
    let room = count(blocks, "block", "blocks");
    let (each, minutes) = (span(block_s), (budget_s / 60.0).ceil());
    format!(
        "the budget has room for {room} of {each} each, and fewer than {wanted} tell large \
         differences alone: --budget {minutes}m has room for {wanted}"
    )
}

impl fmt::Display for FigureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capacity => "capacity",
            Self::CurrentCapacity => "current setting's",
            Self::Gain => "gain",
            Self::Memory => "memory",
            Self::CpuPerRequest => "CPU per request",
            Self::Throughput => "throughput",
            Self::LatencyP50 => "p50",
            Self::LatencyP95 => "p95",
            Self::LatencyP99 => "p99",
            Self::LatencyMean => "mean latency",
            Self::QueueTime => "queue time",
            Self::Errors => "errors",
        })
    }
}
