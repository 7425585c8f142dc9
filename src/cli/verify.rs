//! `sweetspot verify`: arguments.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueHint;

use super::language::LanguageArgument;
use super::options::{Selection, TypedOf};
use super::print::telling;
use super::resolved::{Reached, resolve};
use super::sessions::StoreArgument;
use super::turn::TurnArgument;
use super::{Exit, UsageError, interrupt, print, say};
use crate::plan::{self, Key, Plan, Typed, lacks_commands, with_earlier, without_knobs};
use crate::report::terminal::{Wanted, for_standard_streams};
use crate::report::{Language, Stored, Style, document, fold, json, planned};
use crate::session::cluster;
use crate::session::local::{self, RunOptions};
use crate::session::remote;
use crate::session::report::{self, Which};
use crate::session::verify::{Claim, DEFAULT_BUDGET, Verified, VerifyError, claim};
use crate::store::Store;
use crate::terms::{RecheckReason, Verdict, format_duration, plan_records};

const EXAMPLES: &str = "\
Examples:
  sweetspot verify last                  # about two minutes
  sweetspot verify 3 --budget 5m --json
  sweetspot verify last -o junit=verify.xml
  sweetspot verify 3 -H 'Authorization: Bearer abc' --env API_KEY=xyz   # what is never stored

Exit codes: 0 still right; 3 no longer right; 4 undecided, or another machine; 1 not measured.";

const NOT_KEPT: &str = "What the store does not keep";

/// Measures whether a session's recommendation is still right; about two minutes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The session's number (see 'sweetspot sessions list'), or 'last'.
    session: Which,
    /// Time for everything [default: 2m]
    #[arg(long, value_name = "DURATION")]
    budget: Option<String>,
    /// The machine may be another one than the session's
    #[arg(long)]
    machines: bool,
    /// The plan file of the session [default: ./sweetspot.toml where it exists]
    #[arg(long, value_name = "PLAN", value_hint = ValueHint::AnyPath, help_heading = NOT_KEPT)]
    plan: Option<PathBuf>,
    #[command(flatten, next_help_heading = NOT_KEPT)]
    again: TypedOf<Again>,
    #[command(flatten)]
    turn: TurnArgument,
    #[command(flatten)]
    language: LanguageArgument,
    #[command(flatten)]
    store: StoreArgument,
    /// Also write the session: text, markdown, json, csv, html, junit or prometheus, to the file
    /// named; repeatable
    #[arg(short, long, value_name = "FORMAT=PATH")]
    output: Vec<report::Output>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the answer alone, and no progress.
    #[arg(short, long)]
    quiet: bool,
}

/// What the session was given and has to be given again, where it was.
const AGAIN: [(Key, &str); 30] = [
    (Key::App, "The app's folder, where it was moved [default: the session's]"),
    (Key::Entry, "What the server is told to run, where the session was told"),
    (Key::Start, "The command that starts the server, where the session had one"),
    (Key::StopSignal, "The signal with which that command is asked to end"),
    (Key::Apply, "The command that changes an app elsewhere, where the session had one"),
    (Key::Restore, "The command that puts it back, where the session had one"),
    (Key::ReadyCommand, "The command that says that it is ready, where the session had one"),
    (Key::Observe, "The command that gives a shell there, where the session had one"),
    (Key::From, "The host that sends the load, where the session had one"),
    (Key::Today, "What it runs with today, where the session was told"),
    (Key::AllowPublic, "Its address may be one of the internet's"),
    (Key::Kamal, "Kamal's own commands change it, where the session was told"),
    (Key::KamalDestination, "Kamal's destination, where the session was told"),
    (Key::Ecs, "The service of ECS, where the session was told"),
    (Key::Env, "A variable for the app; repeatable"),
    (Key::Target, "A request of the mix, where its query was left out of the store; repeatable"),
    (Key::Targets, "A file with more of them"),
    (Key::Header, "A header for every request; repeatable"),
    (
        Key::Ready,
        "Path that answers 2xx once the app serves, where its query was left out of the store",
    ),
    (Key::BootTimeout, "How long the server may take to answer [default: as in the session]"),
    (Key::User, "Whom the app and its server run as, where the session was told"),
    (Key::Seed, "Seed of everything random [default: 1]"),
    (
        Key::PodTemplate,
        "The file that an image's pods are like, where it was moved [default: the session's]",
    ),
    (Key::Container, "Which of the Deployment's containers, where the session was told"),
    (Key::Service, "The Service that leads to its pods, where the session was told"),
    (Key::ImagePullPolicy, "As of the image that was tuned, where the session was told"),
    (Key::Context, "A context of the kubeconfig [default: its current one]"),
    (Key::GeneratorImagePullPolicy, "As of the session's generators, where it was told"),
    (Key::GeneratorCpus, "Cores of each generator's pod, where the session was told"),
    (Key::Yes, "Go on where context or namespace look like production"),
];

/// Those of [`AGAIN`].
struct Again;

impl Selection for Again {
    const OPTIONS: &'static [(Key, &'static str)] = &AGAIN;
    const HEADING: &'static str = NOT_KEPT;
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    check(&arguments.output)?;
    let store = Store::open_existing(&arguments.store.path)
        .map_err(|error| super::sessions::with_exit_code(error.into()))?;
    let claim = claim(&store, arguments.session).map_err(with_exit_code)?;
    drop(store);
    let (plan, reached) = plan_again(&arguments, &claim)?;
    let language = arguments.language.language();
    let wanted = match (arguments.quiet, arguments.json) {
        (true, _) => None,
        (false, true) => Some(Wanted::NothingOnStandardOutput),
        (false, false) => Some(Wanted::Everything),
    };
    let stop = interrupt::install_with_answer();
    let _turn = reached.turn(arguments.turn, &plan.store, &stop)?;
    let mut stored = None;
    let options = RunOptions {
        stop,
        reporters: &mut |place| {
            stored = Some(place.clone());
            let reporter = |wanted| for_standard_streams(wanted, Some(place), language);
            wanted.map(reporter).into_iter().collect()
        },
        consent: &mut |_| false,
        may_resume: false,
    };
    let how = (arguments.machines, options);
    let verified = match &reached {
        Reached::Cluster(found, cluster) => cluster::verify(&claim, &plan, (found, cluster), how),
        Reached::Remote(to, remote) => {
            remote::verify(&claim, &plan, (to, remote), how, telling(arguments.quiet))
        }
        Reached::Here => local::verify(&claim, &plan, how),
    };
    let verified = match verified {
        Err(error @ VerifyError::OtherMachine { .. }) => {
            say(format!("sweetspot: {error}"));
            return Ok(Exit::Invalid);
        }
        other => other.map_err(with_exit_code)?,
    };
    if arguments.json {
        print(json::render(&verified.verification))?;
    } else if arguments.quiet {
        let story = fold(&verified.events, None);
        print(document::verification::in_short(&story, &verified.verification, language))?;
    }
    write(&arguments.output, &verified, stored, language)?;
    Ok(exit(&verified))
}

/// What is printed is the answer: a report needs a file.
fn check(outputs: &[report::Output]) -> Result<(), UsageError> {
    match outputs.iter().all(|output| output.path.is_some()) {
        true => Ok(()),
        false => Err(UsageError::of("give -o a file, such as -o junit=verify.xml")),
    }
}

fn write(
    outputs: &[report::Output],
    verified: &Verified,
    stored: Option<Stored>,
    language: Language,
) -> anyhow::Result<()> {
    let story = fold(&verified.events, stored);
    let style = Style { language, ..Style::PLAIN };
    for path in report::write(&story, outputs, &mut std::io::sink(), style)? {
        say(format!("wrote {}", path.display()));
    }
    Ok(())
}

/// The session's plan, with what was typed now where the store does not keep it.
fn plan_again(arguments: &Arguments, claim: &Claim) -> anyhow::Result<(Plan, Reached)> {
    let budget = arguments.budget.clone().unwrap_or_else(|| format_duration(DEFAULT_BUDGET));
    let typed = Typed { plan: arguments.plan.clone(), ..arguments.again.0.clone() }
        .with(Key::Budget, budget)
        .with_path(Key::Store, &arguments.store.path);
    let earlier = plan_records(&claim.story.plan);
    let surroundings = local::surroundings().context("could not find the current folder")?;
    let lacks = lacks_commands(&typed, &earlier, &surroundings.folder);
    if lacks.map_err(UsageError::of)? {
        let message = format!(
            "session {} measured an app elsewhere: give --apply, --restore and what else it had \
             again, or --plan with the plan file, since commands are not stored",
            claim.session
        );
        return Err(UsageError::of(message).into());
    }
    let typed = with_earlier(typed, &earlier, &claim.story.app, claim.slo.as_ref());
    let (plan, reached) = resolve(&typed, &surroundings)?;
    let differs = |(values, flag)| planned::differs(values, flag, Language::DATA);
    let differences: Vec<_> = plan::differences(&earlier, &plan).into_iter().map(differs).collect();
    if !differences.is_empty() {
        let (session, differences) = (claim.session, differences.join("; "));
        let what = "the plan is not the one that was measured";
        let message = format!("session {session}: {what}: {differences}");
        return Err(UsageError::of(message).into());
    }
    Ok((without_knobs(plan), reached))
}

fn exit(verified: &Verified) -> Exit {
    let found = &verified.verification;
    match found.verdict {
        Verdict::Yes => Exit::Done,
        Verdict::No => Exit::NotMet,
        Verdict::Undecided => match found.reason.fact() {
            Some(RecheckReason::NoWholeStart) => Exit::CouldNotMeasure,
            _ => Exit::Invalid,
        },
    }
}

/// A session that is not there, or that recommends nothing, is the user's to correct.
fn with_exit_code(error: VerifyError) -> anyhow::Error {
    match error {
        VerifyError::Session(error) => super::sessions::with_exit_code(error),
        VerifyError::Tune(error) => error.into(),
        other => UsageError::of(other).into(),
    }
}
