//! `sweetspot tune`: arguments.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ArgAction, ValueHint};

use super::language::LanguageArgument;
use super::push::{PushArgument, push_to};
use super::{Exit, UsageError, interrupt};
use crate::plan::{self, Plan, Typed};
use crate::report::json::plan_value;
use crate::report::outside::{pad, width};
use crate::report::plan_words::{self, PlanRow};
use crate::report::push::Receiver;
use crate::report::terminal::{Channel, Wanted, for_standard_streams};
use crate::report::{Format, Language, Story, fold};
use crate::session::here::{self, Wishes};
use crate::session::tune::Ended;
use crate::session::{push, report};
use crate::terms::{PlanLine, PlanRecord, Precision, Ratio, SessionState, Verdict};

const EXAMPLES: &str = "\
Examples:
  sweetspot tune                       # the app of the current folder, everything by default
  sweetspot tune --dry-run             # only shows what would be done, and why
  sweetspot tune --target 'GET /' --target 'GET /orders weight=3' --slo 'p95<200ms,errors<1%'
  sweetspot tune --target 'GET / weight=9' --target 'GET /report slo=p95<2s'   # its own goal
  sweetspot tune --workers 1..4 --threads 1,2,4,8 --cpus 2 --memory 4GiB --budget 20m
  sweetspot tune --rate 120/s          # the least memory that holds it
  sweetspot tune --price-per-core-hour 0.04 --price-per-gib-hour 0.005   # the cheapest request
  sweetspot tune --knob MALLOC_ARENA_MAX=2 --knob preload_app=true,false
  sweetspot tune quick.toml -o markdown=tuning.md
  sweetspot tune --start 'bin/serve --workers {workers} --port {port}'   # any other server

A plan file holds the same settings by the same names, and flags come before it:
  workers = \"1..4\"
  slo = \"p95<200ms\"
  [[target]]
  path = \"/orders\"
  weight = 3
  slo = \"p95<2s\"          # its own; the others keep the one above
  [[knob]]
  name = \"jemalloc\"
  env = { LD_PRELOAD = \"libjemalloc.so.2\" }";

/// The budget of `--quick`.
const QUICK: &str = "1m";

/// Finds, by measuring, how many workers and threads the app of this folder should run with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A plan file, or a folder with one [default: ./sweetspot.toml where it exists]
    #[arg(value_name = "PLAN", value_hint = ValueHint::AnyPath)]
    pub plan: Option<PathBuf>,

    #[command(flatten, next_help_heading = "What is tuned")]
    pub subject: Subject,
    #[command(flatten, next_help_heading = "What is asked of it")]
    pub load: Load,
    #[command(flatten, next_help_heading = "What is best")]
    pub best: Best,
    #[command(flatten, next_help_heading = "What it may use")]
    pub limits: Limits,
    #[command(flatten, next_help_heading = "How it is run")]
    pub course: Course,
    #[command(flatten, next_help_heading = "What is shown")]
    pub output: Output,
}

#[derive(Debug, clap::Args)]
pub struct Subject {
    /// The app's folder [default: the current one, or the plan's]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub app: Option<PathBuf>,
    /// What the server is told to run, such as config.ru, shop.wsgi:application or server.js
    /// [default: found in the app's folder]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// The app server, such as puma or php-fpm [default: the one that the app's own files name,
    /// else the usual one for its language]
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// What stands in front of the server: none or nginx [default: none, unless the server needs
    /// one]
    #[arg(long, value_name = "NAME")]
    pub proxy: Option<String>,
    /// Start any server with this command; {workers}, {threads}, {port} and {socket} are filled in,
    /// here and in --env
    #[arg(long, value_name = "COMMAND")]
    pub start: Option<String>,
    /// The signal with which that command is asked to end [default: TERM]
    #[arg(long, value_name = "NAME")]
    pub stop_signal: Option<String>,
    /// A variable for the app; its value is never stored or shown; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Try a variable (in capitals) or a setting of the server's once workers and threads are
    /// chosen, each value after a comma beside what is set today; shown and stored; repeatable
    #[arg(long, value_name = "NAME=VALUES")]
    pub knob: Vec<String>,
    /// Worker processes to consider, such as 1..4 or 1,2,4 [default: 1 to twice the
    /// cores; to eight times where workers have one thread]
    #[arg(long, value_name = "RANGE")]
    pub workers: Option<String>,
    /// Threads in each worker to consider, where the server has them [default: 1,2,3,5,8,16]
    #[arg(long, value_name = "RANGE")]
    pub threads: Option<String>,
    /// Path that answers 2xx once the app serves [default: the first GET target]
    #[arg(long, value_name = "PATH")]
    pub ready: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Load {
    /// A request of the mix, such as 'GET /' or 'POST /orders weight=3 slo=p95<2s', which is then
    /// judged by its own goal; repeatable [default: GET /]
    #[arg(long, value_name = "TARGET")]
    pub target: Vec<String>,
    /// A file with more of them, one a line; # begins a comment
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub targets: Option<PathBuf>,
    /// A header for every request; its value is never stored or shown; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The latency goal, such as 'p95<200ms,errors<1%', of all targets without one of their own
    /// [default: p95 < max(200 ms, 3 x unloaded p95), errors < 0.1 %]
    #[arg(long, value_name = "GOAL")]
    pub slo: Option<String>,
    /// How arrivals are spaced: poisson, as independent users arrive, or uniform
    /// [default: poisson]
    #[arg(long, value_name = "KIND")]
    pub arrivals: Option<String>,
    /// A fresh connection for every request, as a default nginx in front does, or keep-alive
    /// [default: fresh]
    #[arg(long, value_name = "MODE")]
    pub connection: Option<String>,
    /// When a request is given up, counted from when it was due
    /// [default: 10s, or twice the goal's limit when that is more]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,
    /// Allow load on, and --push to, an address that is neither loopback nor private
    #[arg(long)]
    pub allow_public: bool,
}

#[derive(Debug, clap::Args)]
pub struct Best {
    /// What is looked for within the latency goal: the highest capacity; the least memory or the
    /// lowest latency for --rate; the lowest cost [default: capacity; cost with a price, else
    /// memory with a rate]
    #[arg(long, value_name = "capacity|memory|latency|cost")]
    pub goal: Option<String>,
    /// The rate to be served, such as 120/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// What a core costs an hour, such as 0.04 [default: 0]
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true)]
    pub price_per_core_hour: Option<String>,
    /// What a GiB of memory costs an hour, such as 0.005 [default: 0]
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true)]
    pub price_per_gib_hour: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Limits {
    /// Cores for the app server, such as 2 or 1.5 [default: all]
    #[arg(long, value_name = "CORES")]
    pub cpus: Option<String>,
    /// Memory for the app server, such as 512MiB or 4GiB [default: all]
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<String>,
    /// Most database connections that may be open at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub db_connections: Option<String>,
    /// Time for everything, from 20s to 24h [default: 8m]
    #[arg(long, value_name = "DURATION")]
    pub budget: Option<String>,
    /// About a minute: the answer is less sure, and says by how much; the same as --budget 1m
    #[arg(long, conflicts_with = "budget")]
    pub quick: bool,
    /// End as soon as the capacity is known this well, such as 3% either way, and with exit code 4
    /// when the budget does not suffice for it [default: as the budget allows, 3% at best]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct Course {
    /// Where trials run: local, on this machine [default: local]
    #[arg(long, value_name = "PLACE")]
    pub place: Option<String>,
    /// Look into the app from inside too: the CPU, the garbage collection and the waits of its
    /// requests; for Ruby's servers [default: false]
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub probe: Option<String>,
    /// Seed of everything random, so that a run can be repeated [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Where results are kept [default: .sweetspot/sweetspot.db]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub store: Option<PathBuf>,
    /// Begin anew, also when an earlier session of the same plan was cut off
    #[arg(long)]
    pub fresh_session: bool,
    /// Answer every question with yes, such as whether an app that runs one thread may run more
    #[arg(short, long)]
    pub yes: bool,
    /// Print the plan, with where every value came from, and end
    #[arg(long, visible_alias = "print-plan")]
    pub dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub struct Output {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the decision only, and no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Also write the result: text, markdown, json, csv (every table into FOLDER/), html, junit or
    /// prometheus, to the file named or else to standard output; repeatable
    #[arg(short, long, value_name = "FORMAT[=PATH]", action = ArgAction::Append)]
    pub output: Vec<report::Output>,
    #[command(flatten)]
    pub push: PushArgument,
    #[command(flatten)]
    pub language: LanguageArgument,
}

impl Arguments {
    /// What was typed, for the plan.
    pub fn typed(&self) -> Typed {
        let Self { subject, load, best, limits, course, .. } = self;
        Typed {
            plan: self.plan.clone(),
            app: subject.app.clone(),
            entry: subject.entry.clone(),
            server: subject.server.clone(),
            proxy: subject.proxy.clone(),
            start: subject.start.clone(),
            stop_signal: subject.stop_signal.clone(),
            env: subject.env.clone(),
            knob: subject.knob.clone(),
            workers: subject.workers.clone(),
            threads: subject.threads.clone(),
            ready: subject.ready.clone(),
            target: load.target.clone(),
            targets: load.targets.clone(),
            header: load.header.clone(),
            slo: load.slo.clone(),
            goal: best.goal.clone(),
            rate: best.rate.clone(),
            price_per_core_hour: best.price_per_core_hour.clone(),
            price_per_gib_hour: best.price_per_gib_hour.clone(),
            arrivals: load.arrivals.clone(),
            connection: load.connection.clone(),
            timeout: load.timeout.clone(),
            allow_public: load.allow_public,
            cpus: limits.cpus.clone(),
            memory: limits.memory.clone(),
            db_connections: limits.db_connections.clone(),
            budget: limits.quick.then(|| QUICK.to_string()).or_else(|| limits.budget.clone()),
            precision: limits.precision.clone(),
            place: course.place.clone(),
            probe: course.probe.clone(),
            seed: course.seed.clone(),
            store: course.store.clone(),
            yes: course.yes,
        }
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let surroundings = here::surroundings().context("could not find the current folder")?;
    let plan = plan::resolve(&arguments.typed(), &surroundings)
        .map_err(|error| UsageError { message: error.to_string() })?;
    if arguments.course.dry_run {
        let text = match arguments.output.json {
            true => json(&plan.records)?,
            false => table(&plan.records, arguments.output.language.language()),
        };
        io::stdout().write_all(text.as_bytes())?;
        return Ok(Exit::Done);
    }
    let language = arguments.output.language.language();
    let mut outputs = arguments.output.output;
    if arguments.output.json {
        outputs.push(report::Output { format: Format::Json, path: None });
    }
    report::check(&outputs).map_err(|error| UsageError { message: error.to_string() })?;
    let receivers = arguments.output.push.receivers(arguments.load.allow_public)?;
    let shown = Shown { outputs: &outputs, is_quiet: arguments.output.quiet, language, receivers };
    tune(&plan, &shown, !arguments.course.fresh_session)
}

/// What is shown and written of a session, and how.
struct Shown<'a> {
    outputs: &'a [report::Output],
    is_quiet: bool,
    language: Language,
    receivers: Vec<Receiver>,
}

/// Measures, and writes the reports asked for.
fn tune(plan: &Plan, shown: &Shown<'_>, may_resume: bool) -> anyhow::Result<Exit> {
    let is_stdout_taken = shown.outputs.iter().any(|output| output.path.is_none());
    let wanted = match (shown.is_quiet, is_stdout_taken) {
        (true, true) => None,
        (true, false) => Some(Wanted::Quiet),
        (false, true) => Some(Wanted::NothingOnStandardOutput),
        (false, false) => Some(Wanted::Everything),
    };
    let mut stored = None;
    let wishes = Wishes {
        stop: interrupt::install_with_answer(),
        reporters: &mut |place| {
            stored = Some(place.clone());
            let reporter = |wanted| for_standard_streams(wanted, Some(place), shown.language);
            wanted.map(reporter).into_iter().collect()
        },
        consent: &mut ask,
        may_resume,
    };
    let ended = here::tune(plan, wishes)?;
    let story = fold(&ended.events, stored);
    let style = Channel::standard_output().in_language(shown.language).style;
    let written = report::write(&story, shown.outputs, &mut io::stdout(), style);
    // A file that can't be written takes nothing from who gets the result otherwise.
    let exit = exit(&ended, &story, plan.precision);
    let exit = push_to(&shown.receivers, exit, |receiver| push::session(receiver, &story));
    for path in written? {
        eprintln!("wrote {}", path.display());
    }
    Ok(exit)
}

/// A question on the terminal; without one the careful answer is taken.
fn ask(question: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    let is_read = io::stdin().read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// An answer is success, also when the user stopped the search early; but for a rate that was asked
/// for and that nothing holds, and one that is not as precise as was asked for.
fn exit(ended: &Ended, story: &Story, asked: Option<Ratio>) -> Exit {
    if let Some(decision) = &ended.result.decision {
        let held = ended.result.objective.as_ref().and_then(|objective| objective.held);
        let is_reached = |precision: Precision| precision.is_reached();
        let is_enough = asked.is_none() || decision.precision.is_some_and(is_reached);
        return match (held, is_enough) {
            (Some(Verdict::No), _) => Exit::NotMet,
            (_, true) => Exit::Done,
            (_, false) => Exit::Invalid,
        };
    }
    match ended.state {
        SessionState::Done if ended.is_server_always_gone() => Exit::CouldNotMeasure,
        SessionState::Done if story.has_missed() => Exit::NotMet,
        SessionState::Done => Exit::Invalid,
        _ => Exit::CouldNotMeasure,
    }
}

/// The plan in three columns: what, value, and where it came from.
fn table(records: &[PlanRecord], language: Language) -> String {
    // A longer value pushes its source to the right, rather than all the others'.
    const WIDEST: usize = 52;
    let rows: Vec<_> = records.iter().map(|it| plan_words::row_of(it, language)).collect();
    let widest = |text: fn(&PlanRow) -> &str| {
        rows.iter().map(|row| width(text(row))).filter(|n| *n <= WIDEST).max().unwrap_or(0)
    };
    let (what_width, value_width) = (widest(|row| &row.what), widest(|row| &row.value));
    let mut text = String::new();
    for PlanRow { what, value, source } in &rows {
        writeln!(text, "{}  {}  ({source})", pad(what, what_width), pad(value, value_width))
            .expect("a String takes every text");
    }
    text
}

/// The plan for scripts: an array of `{what, value, source, fact}`, in the order of the table.
fn json(records: &[PlanRecord]) -> serde_json::Result<String> {
    let row = |it: &PlanRecord| plan_value(&PlanLine::Record(it.clone()));
    let rows: Vec<_> = records.iter().map(row).collect();
    serde_json::to_string_pretty(&rows).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{PlanSource, PlannedValue, Workers};
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        let all = ["tune"].iter().chain(arguments);
        Command::try_parse_from(all).map(|command| command.arguments)
    }

    #[test]
    fn every_flag_reaches_the_plan_as_it_was_typed() {
        let text = "plan.toml --app a --server b --workers c --threads d --target e --target f \
                    --targets g -H h:1 --header i:2 --slo j --cpus k --memory l --budget m \
                    --arrivals n --connection o --ready p --db-connections q --place r --seed s \
                    --store t --timeout u --yes --allow-public --entry v --proxy w --start x \
                    --stop-signal y --env z=1 --env z=2 --probe=aa --precision bb --goal cc \
                    --rate dd --price-per-core-hour ee --price-per-gib-hour ff --knob A=1,2 \
                    --knob b=3";
        let arguments: Vec<_> = text.split_whitespace().collect();
        let Typed {
            plan,
            app,
            entry,
            server,
            proxy,
            start,
            stop_signal,
            env,
            knob,
            workers,
            threads,
            target,
            targets,
            header,
            slo,
            goal,
            rate,
            price_per_core_hour,
            price_per_gib_hour,
            cpus,
            memory,
            arrivals,
            connection,
            timeout,
            budget,
            precision,
            place,
            probe,
            ready,
            db_connections,
            seed,
            store,
            yes,
            allow_public,
        } = parse(&arguments).unwrap().typed();
        let paths = [plan, app, targets, store];
        assert_eq!(
            paths.map(|path| path.unwrap().display().to_string()),
            ["plan.toml", "a", "g", "t"]
        );
        let texts = [
            server,
            workers,
            threads,
            slo,
            cpus,
            memory,
            budget,
            arrivals,
            connection,
            ready,
            db_connections,
            place,
            seed,
            timeout,
            entry,
            proxy,
            start,
            stop_signal,
            probe,
            precision,
            goal,
            rate,
            price_per_core_hour,
            price_per_gib_hour,
        ];
        let expected = [
            "b", "c", "d", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "u", "v", "w", "x",
            "y", "aa", "bb", "cc", "dd", "ee", "ff",
        ];
        assert_eq!(texts.map(Option::unwrap), expected);
        assert_eq!(env, ["z=1", "z=2"]);
        assert_eq!(knob, ["A=1,2", "b=3"]);
        assert_eq!(
            (target, header),
            (vec!["e".into(), "f".into()], vec!["h:1".into(), "i:2".into()])
        );
        assert!(yes && allow_public);
    }

    #[test]
    fn a_switch_needs_no_value_and_takes_none_that_stands_apart() {
        for (arguments, probe, plan) in [
            (vec!["--probe"], Some("true"), None),
            (vec!["--probe", "plan.toml"], Some("true"), Some("plan.toml")),
            (vec!["--probe=false"], Some("false"), None),
            (vec!["plan.toml"], None, Some("plan.toml")),
        ] {
            let typed = parse(&arguments).unwrap().typed();
            assert_eq!(typed.probe.as_deref(), probe, "{arguments:?}");
            assert_eq!(typed.plan, plan.map(PathBuf::from), "{arguments:?}");
        }
    }

    #[test]
    fn outputs_name_a_format_and_maybe_a_file() {
        let arguments = parse(&["-o", "json", "-o", "markdown=a=b.md", "--json", "-q"]).unwrap();
        assert_eq!(
            arguments.output.output,
            [
                report::Output { format: Format::Json, path: None },
                report::Output { format: Format::Markdown, path: Some("a=b.md".into()) }
            ]
        );
        assert!(arguments.output.json && arguments.output.quiet);
        for wrong in ["pdf", "json=", ""] {
            assert!(parse(&["-o", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_long_value_does_not_push_the_other_sources_away() {
        let long = "x".repeat(60);
        let workers = [1, 2, 3, 4].map(|count| Workers::new(count).unwrap()).to_vec();
        let records = [
            (PlannedValue::Store(long.clone()), PlanSource::App),
            (PlannedValue::Seed(1), PlanSource::Default),
            (PlannedValue::Workers(workers), PlanSource::PlanFile { line: 3 }),
        ]
        .map(|(value, source)| PlanRecord { value, source });
        let expected = format!(
            "store    {long}  (found in the app)\nseed     1     (default)\n\
             workers  1..4  (plan file, line 3)\n"
        );
        assert_eq!(table(&records, Language::English), expected);
        let japanese = table(&records, Language::Japanese);
        assert!(japanese.contains("\nワーカー  1..4  (計画ファイルの 3 行目)\n"), "{japanese}");
    }
}
