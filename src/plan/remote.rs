//! `--apply`, `--kamal` and `--ecs`: an app that runs elsewhere, to which a command gives each
//! setting.
//!
//! In: the settings, and the user's variables. Out: the subject of a plan. Looks into a folder only
//! for what Kamal deploys: what runs elsewhere is not what a folder here holds.

use std::collections::BTreeMap;
use std::path::Path;

use super::checked::Plan;
use super::cluster::{FOR_CLUSTERS, FOR_IMAGES, STARTED_HERE};
use super::deployment::{Deployment, fixed_flag};
use super::ecs;
use super::elsewhere::{AskedRemote, Commands, Platform, Remote};
use super::error::{PlanError, Problem};
use super::kamal;
use super::options::Key;
use super::pods;
use super::record::Subject;
use super::settings::{Given, SWITCH, Settings, Sourced};
use super::start;
use super::traffic::Url;
use crate::place::remote::Host;
use crate::server::command::{CommandTemplate, Runs, has_place};
use crate::server::{App, FOR_COMMANDS, Framework, Proxy};
use crate::terms::Configuration;

/// Other ways to say what is tuned.
const OTHERS: [Key; 3] = [Key::Place, Key::Deployment, Key::Image];

/// What has no meaning without it.
const FOR_REMOTE: [Key; 8] = [
    Key::Url,
    Key::Restore,
    Key::ReadyCommand,
    Key::Observe,
    Key::From,
    Key::Today,
    Key::AllowPublic,
    Key::KamalDestination,
];

/// What the commands of a platform stand for.
const COMMANDS: [Key; 3] = [Key::Apply, Key::Restore, Key::ReadyCommand];

/// What is tuned where an app elsewhere was asked for; `None`: another is. `env`: the user's
/// variables; `store`: where results are kept, with files of ours beside.
///
/// # Errors
/// Something that it takes is missing, or contradicts it.
pub fn subject(
    settings: &Settings<'_>,
    env: &Sourced<BTreeMap<String, String>>,
    store: &Path,
) -> Result<Option<Subject>, PlanError> {
    let Some((by, key)) = platform(settings)? else {
        settings.refuse(&FOR_REMOTE, Problem::NoApply)?;
        return Ok(None);
    };
    let asked = settings.get(key).expect("it was asked for");
    for keys in [&STARTED_HERE[..], &OTHERS, &FOR_IMAGES, &FOR_CLUSTERS] {
        settings.refuse(keys, Problem::OfRemote)?;
    }
    let need =
        |key: Key, error: Problem| settings.get(key).ok_or_else(|| asked.hidden_problem(error));
    let url = need(Key::Url, Problem::UrlMissing)?.read_secret(url)?.value;
    // A task of ECS has a size.
    if !matches!(by, Platform::Ecs(_)) {
        need(Key::Cpus, Problem::MachineMissing)?;
        need(Key::Memory, Problem::MachineMissing)?;
    }
    if !matches!(by, Platform::Kamal { .. }) {
        settings.refuse(&[Key::KamalDestination], Problem::NoApply)?;
    }
    let (folder, folder_source) = start::folder(settings)?;
    let beside = store.parent().unwrap_or(&folder);
    let mut variables = match by {
        Platform::Any => env.value.clone(),
        Platform::Kamal { .. } | Platform::Ecs(_) => pods::with_usual(env.value.clone()),
    };
    let (commands, runs) = commands(settings, (&by, &asked), (&folder, beside), &variables)?;
    let commands = with_observe(settings, commands)?;
    let only_workers = pods::with_place_for_workers(&mut variables, &commands.apply);
    let today = today(settings, &by, &folder)?;
    let public = settings.value(Key::AllowPublic, |given| given.choice(&SWITCH))?;
    let allows_public = public.unwrap_or(false);
    let one = Configuration::new(1, 1).expect("one of each can run");
    let command = Some(CommandTemplate {
        words: vec![commands.apply.clone()],
        text: commands.apply.clone(),
        stop_signal: 0,
        today: today.unwrap_or(one),
        runs,
    });
    let app = App { command, env: variables.into(), ..App::new(folder, Framework::Other, "") };
    let from = settings.value(Key::From, |given| given.read(host))?;
    let (has, release, reserved) = (None, None, None);
    let remote = Remote { url, commands, today, allows_public, by, from, has, release, reserved };
    Ok(Some(Subject {
        app: Sourced { value: app, source: folder_source },
        env_source: env.source.clone(),
        threads_asked: Some(asked.source()),
        entry_asked: None,
        deployment: Deployment::default(),
        server: Sourced { value: FOR_COMMANDS, source: asked.source() },
        proxy: Sourced::default(Proxy::None),
        probe: Sourced::default(false),
        run_as: None,
        cluster: None,
        remote: Some(AskedRemote { remote, source: asked.source(), only_workers }),
    }))
}

fn host(text: &str) -> Result<Host, Problem> {
    text.parse().map_err(Problem::Address)
}

/// What changes the app and puts it back, and whose doing that is. `asked`: where that was said.
fn commands(
    settings: &Settings<'_>,
    (by, asked): (&Platform, &Given<'_>),
    (folder, beside): (&Path, &Path),
    variables: &BTreeMap<String, String>,
) -> Result<(Commands, Runs), PlanError> {
    match by {
        Platform::Any => Ok((own_commands(settings, variables)?, Runs::Setting)),
        Platform::Kamal { destination } => {
            settings.refuse(&COMMANDS, Problem::HasOwn { by: "--kamal" })?;
            let made = kamal::commands(destination.as_deref(), folder, beside);
            let named = settings.get(Key::KamalDestination);
            let made = made.map_err(|error| named.as_ref().unwrap_or(asked).problem(error))?;
            Ok((made, Runs::KamalSetting))
        }
        Platform::Ecs(name) => {
            settings.refuse(&COMMANDS, Problem::HasOwn { by: "--ecs" })?;
            Ok((ecs::commands(name, beside), Runs::EcsSetting))
        }
    }
}

/// The user's own commands.
fn own_commands(
    settings: &Settings<'_>,
    variables: &BTreeMap<String, String>,
) -> Result<Commands, PlanError> {
    let apply = settings.get(Key::Apply).expect("it was asked for");
    let restore = settings.get(Key::Restore);
    let restore = restore.ok_or_else(|| apply.hidden_problem(Problem::RestoreMissing))?;
    Ok(Commands {
        apply: apply.read_secret(|text| command_with_places(text, variables))?.value,
        ready: settings.value(Key::ReadyCommand, |given| given.read_secret(command))?,
        check: None,
        release: None,
        observe: None,
        restore: restore.read_secret(command)?.value,
        files: Vec::new(),
    })
}

/// The flags by which the command that starts an app there gives its server another number of
/// workers or threads than one that is tried: they come before variables. `None`: there are none.
pub fn fixed_flags(command: &str, plan: &Plan) -> Option<String> {
    let today = plan.remote.as_ref().and_then(|remote| remote.today);
    let workers = plan.workers.iter().copied().chain(today.map(|it| it.workers));
    let threads = plan.threads.iter().copied().chain(today.map(|it| it.threads));
    // Without a place for them in a variable they are only shown as one, and may be any number.
    let threads = threads.filter(|_| plan.has_threads);
    let (workers, threads): (Vec<u16>, Vec<u16>) =
        (workers.map(|it| it.get()).collect(), threads.map(|it| it.get()).collect());
    let fixed = [
        (fixed_flag(command, |names| names.workers), workers),
        (fixed_flag(command, |names| names.threads), threads),
    ];
    let against = fixed.into_iter().filter_map(|(flag, tried)| {
        let flag = flag?;
        // Of `5:5` the most; none of Puma's workers is one process.
        let number = flag.rsplit([' ', ':']).next().and_then(|it| it.parse::<u16>().ok());
        let number = number.map(|it| it.max(1));
        tried.iter().any(|it| Some(*it) != number).then_some(flag)
    });
    let against: Vec<String> = against.collect();
    (!against.is_empty()).then(|| against.join(" "))
}

/// Whose commands change the app, and the setting that says so; `None`: it does not run elsewhere.
/// Where two say so, the first is taken and refuses the other.
fn platform(settings: &Settings<'_>) -> Result<Option<(Platform, Key)>, PlanError> {
    if let Some(given) = settings.get(Key::Ecs) {
        settings.refuse(&[Key::Kamal], Problem::HasOwn { by: "--ecs" })?;
        let name = given.read(|text: &str| text.parse().map_err(|_| Problem::Service))?.value;
        return Ok(Some((Platform::Ecs(name), Key::Ecs)));
    }
    if settings.value(Key::Kamal, |given| given.choice(&SWITCH))?.unwrap_or(false) {
        let destination = settings.value(Key::KamalDestination, |given| given.read(kamal::name))?;
        return Ok(Some((Platform::Kamal { destination }, Key::Kamal)));
    }
    Ok(settings.get(Key::Apply).map(|_| (Platform::Any, Key::Apply)))
}

/// The user's own way to look comes before another.
fn with_observe(settings: &Settings<'_>, own: Commands) -> Result<Commands, PlanError> {
    let given = settings.value(Key::Observe, |given| given.read_secret(command))?;
    Ok(Commands { observe: given.or(own.observe), ..own })
}

/// What it runs with before anything is changed: as the user says, else as Kamal's configuration
/// does; `None`: neither says it.
fn today(
    settings: &Settings<'_>,
    by: &Platform,
    folder: &Path,
) -> Result<Option<Configuration>, PlanError> {
    let said = settings.value(Key::Today, |given| given.read(configuration))?;
    let deployed = || today_of(&Deployment::by_kamal(folder));
    // A destination's own configuration may say otherwise.
    let is_known = *by == Platform::Kamal { destination: None };
    Ok(said.or_else(|| is_known.then(deployed).flatten()))
}

/// What Kamal's configuration starts an app with; empty: its image says it.
pub fn command_of_kamal(folder: &Path) -> String {
    Deployment::by_kamal(folder).command_of_kamal().to_string()
}

/// What the files that deploy an app say that it runs with.
fn today_of(deployment: &Deployment) -> Option<Configuration> {
    let said = |name: &str| deployment.variables.get(name).map(|(text, _)| text.parse::<u16>());
    // Who says nothing of workers runs one; what `auto` comes to is not seen here.
    let workers = said("WEB_CONCURRENCY").unwrap_or(Ok(1)).ok()?;
    let threads = said("RAILS_MAX_THREADS")?.ok()?;
    Configuration::new(workers, threads).ok()
}

fn command(text: &str) -> Result<String, Problem> {
    let text = text.trim();
    match text.is_empty() {
        true => Err(Problem::CommandEmpty),
        false => Ok(text.to_string()),
    }
}

/// A shell's own braces are left alone; a slip is not.
fn command_with_places(text: &str, env: &BTreeMap<String, String>) -> Result<String, Problem> {
    let text = command(text)?;
    let all = || env.values().chain([&text]);
    start::check_slips(all(), &pods::PLACES)?;
    match pods::PLACES.iter().any(|place| all().any(|text| has_place(text, place))) {
        true => Ok(text),
        false => Err(Problem::NoPlaces),
    }
}

fn url(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text.trim()).map_err(|error| Problem::Address(error.to_string()))?;
    match (&url.user, url.is_bare()) {
        (Some(_), _) => Err(Problem::UserInUrl),
        (None, false) => Err(Problem::PathInUrl),
        (None, true) => Ok(url),
    }
}

/// Such as `2x5`.
fn configuration(text: &str) -> Result<Configuration, Problem> {
    let (workers, threads) = text.split_once('x').ok_or(Problem::Configuration)?;
    let number = |text: &str| text.trim().parse().map_err(|_| Problem::Configuration);
    let read = Configuration::new(number(workers)?, number(threads)?);
    read.map_err(|_| Problem::Configuration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Surroundings, Typed, resolve};
    use crate::terms::PlanSource;

    fn subject_of(more: &[(Key, &str)]) -> Result<Option<Subject>, PlanError> {
        let folder = std::env::temp_dir();
        let typed =
            more.iter().fold(Typed::default(), |typed, (key, text)| typed.with(*key, *text));
        subject(
            &Settings { typed: &typed, file: None, plan_folder: folder.clone(), folder: &folder },
            &Sourced::default(BTreeMap::new()),
            &folder.join("results.db"),
        )
    }

    const WHOLE: [(Key, &str); 5] = [
        (Key::Apply, "ssh app1 'set {workers} ${x} {threads}' # s3cret"),
        (Key::Restore, "ssh app1 undo"),
        (Key::Url, "http://app1:3000"),
        (Key::Cpus, "4"),
        (Key::Memory, "8GiB"),
    ];

    #[test]
    fn it_takes_an_address_a_way_back_and_what_the_machine_has() {
        let asked = subject_of(&WHOLE).unwrap().unwrap().remote.unwrap();
        assert_eq!(asked.remote.url.to_string(), "http://app1:3000/");
        assert_eq!(asked.source, PlanSource::Flag);
        assert!(!format!("{:?}", asked.remote).contains("s3cret"));
        for (missing, expected) in [
            (Key::Restore, "--restore"),
            (Key::Url, "--url"),
            (Key::Cpus, "--cpus"),
            (Key::Memory, "--memory"),
            (Key::Apply, "--apply"),
        ] {
            let rest: Vec<_> = WHOLE.into_iter().filter(|(key, _)| *key != missing).collect();
            let error = subject_of(&rest).err().unwrap().to_string();
            assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        }
        assert!(subject_of(&[(Key::Cpus, "4")]).unwrap().is_none());
    }

    #[test]
    fn how_many_workers_auto_comes_to_is_not_known() {
        for (said, expected) in [
            ("RAILS_MAX_THREADS: 5\n    WEB_CONCURRENCY: 2", Configuration::new(2, 5).ok()),
            ("RAILS_MAX_THREADS: 5", Configuration::new(1, 5).ok()),
            ("RAILS_MAX_THREADS: 5\n    WEB_CONCURRENCY: auto", None),
            ("WEB_CONCURRENCY: 2", None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("config")).unwrap();
            let text = format!("env:\n  clear:\n    {said}\n");
            std::fs::write(folder.path().join("config/deploy.yml"), text).unwrap();
            // Deployed there too, or once, and no business of Kamal's.
            let fly = "[env]\n  WEB_CONCURRENCY = 4\n  RAILS_MAX_THREADS = 9\n";
            std::fs::write(folder.path().join("fly.toml"), fly).unwrap();
            assert_eq!(today_of(&Deployment::by_kamal(folder.path())), expected, "{said}");
        }
    }

    #[test]
    fn flags_of_a_command_that_come_before_what_is_tried_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let plan = |more: &[(Key, &str)]| {
            let given = [
                (Key::Ecs, "prod/shop"),
                (Key::Url, "http://shop.internal:3000"),
                (Key::Cpus, "2"),
                (Key::Memory, "2GiB"),
                (Key::Workers, "4"),
                (Key::Today, "4x5"),
            ];
            let given = given.iter().chain(more);
            let typed = given.fold(Typed::default(), |typed, (key, text)| typed.with(*key, *text));
            resolve(&typed, &Surroundings::of_test(folder.path(), [])).unwrap()
        };
        let of_workers = plan(&[(Key::Env, "WEB_CONCURRENCY={workers}")]);
        assert_eq!(fixed_flags("puma -t 5:5", &of_workers), None);
        assert_eq!(fixed_flags("puma -w 2 -t 5:5", &of_workers).as_deref(), Some("-w 2"));
        let plan = plan(&[(Key::Threads, "3,5")]);
        for (command, expected) in [
            ("", None),
            ("bundle exec puma -C config/puma.rb", None),
            ("bundle exec puma -w 4", None),
            ("sh -c 'exec puma -w ${WEB_CONCURRENCY:-2} -t $RAILS_MAX_THREADS:5'", None),
            ("sh -c 'bin/rails db:migrate && exec puma -w 2'", Some("-w 2")),
            ("puma -w 4 -t 5:5", Some("-t 5:5")),
            ("puma -w 0 -t 5:5", Some("-w 0 -t 5:5")),
            ("gunicorn shop.wsgi --workers=auto", Some("--workers auto")),
        ] {
            assert_eq!(fixed_flags(command, &plan).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_way_out() {
        let with = |key: Key, text: &'static str| {
            let rest = WHOLE.into_iter().filter(move |(other, _)| *other != key);
            let all: Vec<_> = rest.chain([(key, text)]).collect();
            subject_of(&all).err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (key, text, expected) in [
            (Key::Apply, "set it", "{workers}"),
            (Key::Apply, "set {wrokers}", "{workers}"),
            (Key::Apply, " ", "empty"),
            (Key::Url, "http://app1:3000/up", "--target"),
            (Key::Url, "http://u:p@app1", "-H"),
            (Key::Url, "ftp://app1", "scheme"),
            (Key::Today, "2", "2x5"),
            (Key::Today, "0x5", "2x5"),
            (Key::Start, "bin/serve {port}", "leave this out"),
            (Key::Deployment, "shop", "leave this out"),
        ] {
            let error = with(key, text);
            assert!(error.contains(expected), "{key:?} {text}: {error}");
        }
        let today = subject_of(&[&WHOLE[..], &[(Key::Today, "2 x 5")]].concat()).unwrap().unwrap();
        assert_eq!(today.remote.unwrap().remote.today, Configuration::new(2, 5).ok());
    }

    #[test]
    fn workers_that_a_variable_gives_are_the_only_number_and_filled_in_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("config")).unwrap();
        let deployed = "env:\n  clear:\n    WEB_CONCURRENCY: 2\n    RAILS_MAX_THREADS: 5\n";
        std::fs::write(folder.path().join("config/deploy.yml"), deployed).unwrap();
        let surroundings = Surroundings::of_test(folder.path(), []);
        let kamal = Typed::default().with(Key::Kamal, "true");
        let apply = Typed::default()
            .with(Key::Apply, "run {threads}")
            .with(Key::Restore, "undo")
            .with(Key::Today, "2x5");
        for typed in [kamal, apply] {
            let typed = typed
                .with(Key::Url, "http://app1:3000")
                .with(Key::Cpus, "4")
                .with(Key::Memory, "8GiB")
                .with(Key::Env, "WEB_CONCURRENCY=4");
            let plan = resolve(&typed, &surroundings).unwrap();
            let workers: Vec<u16> = plan.workers.iter().map(|count| count.get()).collect();
            assert_eq!((workers, plan.threads.len() > 1), (vec![4], true));
            assert_eq!(plan.app.env["WEB_CONCURRENCY"], "{workers}");
            assert_eq!(plan.remote.unwrap().today, Configuration::new(2, 5).ok());
            for other in ["3", "1..4"] {
                let error = resolve(&typed.clone().with(Key::Workers, other), &surroundings);
                let error = error.unwrap_err().to_string();
                assert!(error.contains("--env WEB_CONCURRENCY={workers}"), "{error}");
            }
            resolve(&typed.clone().with(Key::Workers, "4"), &surroundings).unwrap();
            let none = typed.with(Key::Env, "WEB_CONCURRENCY=auto");
            let plan = resolve(&none, &surroundings).unwrap();
            assert_eq!(plan.app.env["WEB_CONCURRENCY"], "auto", "no number is known");
        }
    }
}
