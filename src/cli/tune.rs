//! `sweetspot tune`: arguments.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ArgAction, ValueHint};

use super::language::LanguageArgument;
use super::print::telling;
use super::push::{PushArgument, push_to};
use super::resolved::{Reached, resolve};
use super::turn::TurnArgument;
use super::{Exit, UsageError, interrupt, print, say};
use crate::plan::{self, Key, Plan, Typed};
use crate::report::json::plan_value;
use crate::report::outside::{line, pad, width};
use crate::report::planned::{self, PlanRow};
use crate::report::push::Receiver;
use crate::report::terminal::{
    Channel, Wanted, for_standard_streams, standard_error, standard_output,
};
use crate::report::{Format, Language, Story, fold};
use crate::session::cluster;
use crate::session::local::{self, RunOptions};
use crate::session::tune::Ended;
use crate::session::{push, remote, report};
use crate::terms::{
    PlanLine, PlanRecord, PlannedStep, Precision, Ratio, SessionState, Soak, StopSignal, Verdict,
};

const EXAMPLES: &str = "\
Examples:
  sweetspot tune                       # the app of the current folder, everything by default
  sweetspot tune --dry-run             # only shows what would be done, and why
  sweetspot tune --target 'GET /' --target 'GET /orders weight=3' --slo 'p95<200ms,errors<1%'
  sweetspot tune --target 'GET / weight=9' --target 'GET /report slo=p95<2s'   # its own goal
  sweetspot tune --workers 1..4 --threads 1,2,4,8 --cpus 2 --memory 4GiB --budget 20m
  sweetspot tune --rate 120/s          # the least memory that holds it
  sweetspot tune --price-per-core-hour 0.04 --price-per-gib-hour 0.005   # the cheapest request
  sweetspot tune --soak 30m            # then half an hour of it: do memory and latency last?
  sweetspot tune --knob MALLOC_ARENA_MAX=2 --knob preload_app=true,false
  sweetspot tune quick.toml -o markdown=tuning.md
  sweetspot tune --start 'bin/serve --workers {workers} --port {port}'   # any other server
  sweetspot tune --deployment shop --generator-image IMAGE   # where it runs, in a cluster
  sweetspot tune --apply 'ssh app1 run {workers} {threads}' --restore 'ssh app1 run 2 5' \\
      --url http://app1:3000 --cpus 4 --memory 8GiB   # where it runs, on any machine

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
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A plan file, or a folder with one [default: ./sweetspot.toml where it exists]
    #[arg(value_name = "PLAN", value_hint = ValueHint::AnyPath)]
    pub plan: Option<PathBuf>,

    #[command(flatten)]
    options: Typed,
    #[command(flatten)]
    turn: TurnArgument,
    #[command(flatten, next_help_heading = "What is shown")]
    pub output: Output,
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
    fn typed(&self) -> Typed {
        let typed = Typed { plan: self.plan.clone(), ..self.options.clone() };
        match typed.has(Key::Quick) {
            true => typed.with(Key::Budget, QUICK),
            false => typed,
        }
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let surroundings = local::surroundings().context("could not find the current folder")?;
    let typed = arguments.typed();
    let (plan, reached) = resolve(&typed, &surroundings)?;
    if typed.has(Key::DryRun) {
        let (steps, language) = (plan::steps(&plan), arguments.output.language.language());
        let text = match arguments.output.json {
            true => json(&plan.records, &steps)?,
            false => table(&plan.records, language) + &steps_in_words(&steps, language),
        };
        print(&text)?;
        return Ok(Exit::Done);
    }
    let language = arguments.output.language.language();
    let mut outputs = arguments.output.output;
    if arguments.output.json {
        outputs.push(report::Output { format: Format::Json, path: None });
    }
    report::check(&outputs).map_err(UsageError::of)?;
    let receivers = arguments.output.push.receivers()?;
    let shown = Shown { outputs: &outputs, is_quiet: arguments.output.quiet, language, receivers };
    let stop = interrupt::install_with_answer();
    let _turn = reached.turn(arguments.turn, &plan.store, &stop)?;
    tune(&plan, &reached, &shown, (stop, !typed.has(Key::FreshSession)))
}

/// What is shown and written of a session, and how.
struct Shown<'a> {
    outputs: &'a [report::Output],
    is_quiet: bool,
    language: Language,
    receivers: Vec<Receiver>,
}

/// Measures, and writes the reports asked for.
fn tune(
    plan: &Plan,
    reached: &Reached,
    shown: &Shown<'_>,
    (stop, may_resume): (StopSignal, bool),
) -> anyhow::Result<Exit> {
    let is_stdout_taken = shown.outputs.iter().any(|output| output.path.is_none());
    let wanted = match (shown.is_quiet, is_stdout_taken) {
        (true, true) => None,
        (true, false) => Some(Wanted::Quiet),
        (false, true) => Some(Wanted::NothingOnStandardOutput),
        (false, false) => Some(Wanted::Everything),
    };
    let mut stored = None;
    let stop_while_asking = stop.clone();
    let options = RunOptions {
        stop,
        reporters: &mut |place| {
            stored = Some(place.clone());
            let reporter = |wanted| for_standard_streams(wanted, Some(place), shown.language);
            wanted.map(reporter).into_iter().collect()
        },
        consent: &mut |question: &str| !stop_while_asking.is_raised() && ask(question),
        may_resume,
    };
    let ended = match reached {
        Reached::Cluster(found, cluster) => cluster::tune(plan, (found, cluster), options)?,
        Reached::Remote(to, remote) => {
            remote::tune(plan, (to, remote), options, telling(shown.is_quiet))?
        }
        Reached::Here => local::tune(plan, options)?,
    };
    let story = fold(&ended.events, stored);
    let style = Channel::standard_output().in_language(shown.language).style;
    let written = report::write(&story, shown.outputs, &mut standard_output(), style);
    // A file that can't be written takes nothing from who gets the result otherwise.
    let exit = exit(&ended, &story, plan.precision);
    let exit =
        push_to(&shown.receivers, exit, |receiver| push::session_just_ended(receiver, &story));
    for path in written? {
        say(format!("wrote {}", path.display()));
    }
    Ok(exit)
}

/// A question on the terminal; without one the careful answer is taken.
fn ask(question: &str) -> bool {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return false;
    }
    drop(write!(standard_error(), "{question} [y/N] "));
    is_yes(io::stdin().lock())
}

/// Reads the answer to a question. A signal while nothing is typed, such as that of Ctrl-C, is no:
/// `read_line` alone would go on reading after it.
fn is_yes(mut input: impl BufRead) -> bool {
    let mut answer = String::new();
    let is_read = input.fill_buf().is_ok() && input.read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// An answer is success, also when the user stopped the search early; but for a rate that was asked
/// for and that nothing holds or that could not be decided, a setting of which no load met the goal
/// or that did not last, and a capacity that is not as precise as was asked for.
fn exit(ended: &Ended, story: &Story, asked: Option<Ratio>) -> Exit {
    if let Some(decision) = &ended.result.decision {
        let has_lasted = decision.soak.as_ref().is_none_or(Soak::has_lasted);
        if !has_lasted || story.has_held_none() {
            return Exit::NotMet;
        }
        let held = ended.result.objective.as_ref().and_then(|objective| objective.held);
        let is_reached = |precision: Precision| precision.is_reached();
        let is_enough = asked.is_none() || decision.precision.is_some_and(is_reached);
        return of_answer(held, is_enough);
    }
    match ended.state {
        SessionState::Done if ended.is_server_always_gone() => Exit::CouldNotMeasure,
        SessionState::Done if story.has_missed() => Exit::NotMet,
        SessionState::Done => Exit::Invalid,
        _ => Exit::CouldNotMeasure,
    }
}

/// `held`: whether the rate is that was asked for; `None` where none was. `is_enough`: the capacity
/// is as precise as was asked for.
fn of_answer(held: Option<Verdict>, is_enough: bool) -> Exit {
    match (held, is_enough) {
        (Some(Verdict::No), _) => Exit::NotMet,
        (None | Some(Verdict::Yes), true) => Exit::Done,
        (Some(Verdict::Undecided), _) | (_, false) => Exit::Invalid,
    }
}

/// The plan in three columns: what, value, and where it came from.
fn table(records: &[PlanRecord], language: Language) -> String {
    // A longer value pushes its source to the right, rather than all the others'.
    const WIDEST: usize = 52;
    let rows: Vec<_> = records.iter().map(|it| planned::row_of(it, language)).collect();
    let widest = |text: fn(&PlanRow) -> &str| {
        rows.iter().map(|row| width(text(row))).filter(|n| *n <= WIDEST).max().unwrap_or(0)
    };
    let (what_width, value_width) = (widest(|row| &row.what), widest(|row| &row.value));
    let mut text = String::new();
    for PlanRow { what, value, source } in &rows {
        let row = format!("{}  {}  ({source})", pad(what, what_width), pad(value, value_width));
        writeln!(text, "{}", line(&row)).expect("a String takes every text");
    }
    text
}

/// What will be done where the app runs elsewhere, a line each; empty where it is started here.
fn steps_in_words(steps: &[PlannedStep], language: Language) -> String {
    let steps: Vec<_> = steps.iter().map(|it| planned::step(it, language)).collect();
    let widest = steps.iter().map(|(when, _)| width(when)).max().unwrap_or(0);
    let mut text = String::new();
    for (when, what) in &steps {
        let what = what.replace('\n', &format!("\n{}", " ".repeat(widest + 2)));
        write!(text, "\n{}  {what}", pad(when, widest)).expect("a String takes every text");
    }
    // A line is left free between these and the plan.
    if text.is_empty() { text } else { text + "\n" }
}

/// The plan for scripts: an array of `{what, value, source, fact}`, in the order of the table, and
/// of what will be done `{step}` after it.
fn json(records: &[PlanRecord], steps: &[PlannedStep]) -> serde_json::Result<String> {
    let row = |it: &PlanRecord| serde_json::to_value(plan_value(&PlanLine::Record(it.clone())));
    let steps = steps.iter().map(|step| Ok(serde_json::json!({ "step": step })));
    let rows: Vec<_> = records.iter().map(row).chain(steps).collect::<Result<_, _>>()?;
    serde_json::to_string_pretty(&rows).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Form;
    use crate::terms::{PlanSource, PlannedValue, Workers};
    use clap::Parser;

    #[derive(Parser)]
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
        let mut arguments = vec!["plan.toml".to_string()];
        for key in Key::ALL.iter().filter(|key| **key != Key::Quick) {
            let name = key.name();
            match key.row().form {
                Form::Flag => arguments.push(format!("--{name}")),
                Form::Table(_) => {
                    arguments.extend([1, 2].map(|it| format!("--{name}={name}={it}")))
                }
                _ => arguments.push(format!("--{name}=of {name}")),
            }
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let typed = parse(&arguments).unwrap().typed();
        assert_eq!(typed.plan, Some(PathBuf::from("plan.toml")));
        for key in Key::ALL.iter().copied().filter(|key| *key != Key::Quick) {
            let name = key.name();
            let expected = match key.row().form {
                Form::Flag => vec!["true".to_string()],
                Form::Table(_) => [1, 2].map(|it| format!("{name}={it}")).to_vec(),
                _ => vec![format!("of {name}")],
            };
            match typed.paths.get(&key) {
                Some(path) => assert_eq!(path.to_str(), Some(expected[0].as_str())),
                None => assert_eq!(typed.all(key), expected, "{name}"),
            }
        }
        let typed = parse(&["-H", "h:1", "-y", "--print-plan", "--quick"]).unwrap().typed();
        assert_eq!([typed.all(Key::Header), typed.all(Key::Budget)], [["h:1"], ["1m"]]);
        assert!(typed.has(Key::Yes) && typed.has(Key::DryRun));
        assert_eq!(parse(&["--total-cpus", "8"]).unwrap().typed().all(Key::Cpus), ["8"]);
        assert!(parse(&["--quick", "--budget", "5m"]).is_err());
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
            assert_eq!(typed.all(Key::Probe).first().map(String::as_str), probe, "{arguments:?}");
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

    /// A terminal at which Ctrl-C is pressed before anything is typed.
    struct Interrupted(bool);

    impl io::Read for Interrupted {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match std::mem::replace(&mut self.0, true) {
                false => Err(io::ErrorKind::Interrupted.into()),
                true => Ok(0),
            }
        }
    }

    #[test]
    fn only_yes_is_yes_and_a_signal_at_the_question_is_no() {
        for (typed, expected) in [("y\n", true), ("Yes\r\n", true), ("n\ny\n", false), ("", false)]
        {
            assert_eq!(is_yes(typed.as_bytes()), expected, "{typed:?}");
        }
        let then_yes = io::Read::chain(Interrupted(false), &b"y\n"[..]);
        assert!(!is_yes(io::BufReader::new(then_yes)));
    }

    #[test]
    fn a_rate_that_stays_undecided_is_no_success() {
        for (held, is_enough, expected) in [
            (None, true, Exit::Done),
            (None, false, Exit::Invalid),
            (Some(Verdict::Yes), true, Exit::Done),
            (Some(Verdict::Undecided), true, Exit::Invalid),
            (Some(Verdict::Undecided), false, Exit::Invalid),
            (Some(Verdict::No), false, Exit::NotMet),
        ] {
            assert_eq!(of_answer(held, is_enough), expected, "{held:?}, {is_enough}");
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
