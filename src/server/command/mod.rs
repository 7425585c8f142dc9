//! Any server, started by a command of the user's with places to fill in.
//!
//! In: an app with its [`CommandTemplate`], and a configuration. Out: the command filled in. Must
//! not run, read or write anything.

mod template;

use std::collections::BTreeMap;

use self::template::values;
use super::failure::Causes;
use super::{
    About, Adapter, App, CommandLine, Framework, Inspection, InspectionError, Launch, Listen,
    ProcessFacts, Recipe, Recommended, command_line,
};
use crate::terms::{
    Advice, BootFailureKind, CommandRemark, Configuration, DatabaseAdvice, PoolSetting, Remark,
    Role, SettingAdvice, Settings, SettingsPlace, Stated,
};

pub use self::template::{CommandTemplate, PLACES, Runs, has_place, places, with_numbers};

pub(super) use self::template::{fill, filled_in};

/// A server that we know nothing of but its command.
pub struct Command;

const ABOUT: About = About {
    name: "command",
    title: "the command",
    runs: &[Framework::Other],
    // Where its command has a place for them.
    has_threads: true,
    causes: CAUSES,
    ..About::NONE
};

/// As the operating system, Node.js, and gunicorn say it.
pub(super) const CAUSES: &Causes = &[(
    BootFailureKind::PortTaken,
    &["Address already in use", "EADDRINUSE", "address already in use", "Connection in use"],
)];

/// By convention the number of workers: what an app does itself (its database pool, its own
/// settings) often follows it.
const WEB_CONCURRENCY: &str = "WEB_CONCURRENCY";

impl Adapter for Command {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn has_threads(&self, app: &App) -> bool {
        app.command.as_ref().is_some_and(|command| command.uses(&app.env, "threads"))
    }

    fn inspect(&self, _app: &App) -> Option<CommandLine> {
        None
    }

    fn read_inspection(&self, app: &App, _stdout: &str) -> Result<Inspection, InspectionError> {
        let command = template(app);
        Ok(Inspection {
            server_version: command.program().to_string(),
            remarks: remarks(app, command),
            ..Inspection::of(command.today)
        })
    }

    fn launch(&self, Launch { app, configuration, listen, .. }: Launch<'_>) -> Recipe {
        let command = template(app);
        let filled = |text: &String| fill(text, |place| values(configuration, listen, place));
        let mut arguments: Vec<String> = command.words.iter().map(filled).collect();
        if let Some(program) = arguments.first_mut().filter(|program| program.contains('/')) {
            *program = command_line::text(&app.folder.join(&program));
        }
        let mut env: BTreeMap<String, String> =
            app.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
        if command.uses(&app.env, "workers") {
            let workers = configuration.workers.to_string();
            env.entry(WEB_CONCURRENCY.to_string()).or_insert(workers);
        }
        // Somebody else's port would lead astray a server that follows the variable; the user's own
        // is meant.
        let not_inherited: &[&str] = match listen {
            Listen::Port(port) => {
                env.insert("PORT".to_string(), port.to_string());
                &[]
            }
            Listen::Socket(_) if app.env.contains_key("PORT") => &[],
            Listen::Socket(_) => &["PORT"],
        };
        let started = command_line::start(app, arguments, env, not_inherited);
        Recipe::of(vec![started], listen, command.stop_signal)
    }

    fn role(&self, _configuration: Configuration, process: ProcessFacts<'_>) -> Role {
        match (process.serves, process.is_root) {
            (true, _) => Role::Worker,
            (false, true) => Role::Master,
            (false, false) => Role::Other,
        }
    }

    fn settings(&self, Recommended { app, configuration, .. }: Recommended<'_>) -> Settings {
        settings(app, configuration)
    }
}

fn template(app: &App) -> &CommandTemplate {
    app.command.as_ref().expect("only an app with a command is run by this server")
}

fn remarks(app: &App, command: &CommandTemplate) -> Vec<Remark> {
    let (workers, variable) = (command.today.workers.get(), WEB_CONCURRENCY.into());
    let assumed = CommandRemark::WorkersAssumed { workers, variable };
    let assumed = command.uses(&app.env, "workers").then_some(assumed);
    assumed.into_iter().chain([CommandRemark::ReadyAtRest]).map(Remark::from).collect()
}

/// The variables that give an app a configuration, by name; those that are tried on top come last,
/// and are given as they stand.
pub fn environment(app: &App, configuration: Configuration) -> BTreeMap<String, String> {
    let filled =
        |(name, value): (&String, &String)| (name.clone(), with_numbers(value, configuration));
    let mut env: BTreeMap<String, String> = app.env.iter().map(filled).collect();
    env.extend(app.changed.env.clone());
    env
}

fn settings(app: &App, configuration: Configuration) -> Settings {
    let command = template(app);
    let (mut env, unseen) = filled_in(&app.env, configuration);
    let advice = advice(app, configuration, unseen);
    // Without a variable that may be shown there is nothing to paste.
    let pasted = |lines: String| if env.is_empty() { String::new() } else { lines };
    let filled = with_numbers(&command.text, configuration);
    let (config_snippet, place) = match command.runs {
        Runs::Server => {
            if command.uses(&app.env, "workers") && !app.env.contains_key(WEB_CONCURRENCY) {
                env.insert(WEB_CONCURRENCY.to_string(), configuration.workers.to_string());
            }
            return Settings { start: filled, env, advice, ..Settings::default() };
        }
        Runs::Setting => (filled, SettingsPlace::ByCommand),
        Runs::KamalSetting => {
            let variable = |(name, value): (&String, &String)| format!("\n    {name}: {value:?}");
            let all: String = env.iter().map(variable).collect();
            let file = SettingsPlace::InFile { path: "config/deploy.yml".into() };
            (pasted(format!("env:\n  clear:{all}")), file)
        }
        Runs::EcsSetting => {
            let variable = |(name, value): (&String, &String)| {
                format!("  {{ \"name\": {name:?}, \"value\": {value:?} }}")
            };
            let all: Vec<String> = env.iter().map(variable).collect();
            let lines = format!("\"environment\": [\n{}\n]", all.join(",\n"));
            (pasted(lines), SettingsPlace::InTaskDefinition)
        }
    };
    Settings { config_snippet, place: Some(place.into()), advice, ..Settings::default() }
}

fn advice(app: &App, configuration: Configuration, unseen: Vec<String>) -> Vec<Stated<Advice>> {
    let command = template(app);
    let place = ["port", "socket"].into_iter().find(|place| has_place(&command.text, place));
    let stays = place.map(|place| SettingAdvice::PlaceStays { place: place.into() });
    let on_numbers = advice_on(configuration, Command.has_threads(app), unseen);
    stays.into_iter().map(Advice::from).chain(on_numbers).map(Stated::from).collect()
}

/// What to do beside setting these numbers where nothing is known of the server; `unseen` are the
/// variables that hold them within other text.
pub(super) fn advice_on(
    configuration: Configuration,
    has_threads: bool,
    unseen: Vec<String>,
) -> impl Iterator<Item = Advice> {
    let workers = configuration.workers.get();
    let as_given = (!unseen.is_empty()).then(|| SettingAdvice::SetAsGiven {
        variables: unseen,
        workers,
        threads: has_threads.then(|| configuration.threads.get()),
    });
    let database = match has_threads {
        true => DatabaseAdvice::PoolPerWorker { configuration, pool: PoolSetting::Unknown },
        false => DatabaseAdvice::ConnectionPerRequest { workers },
    };
    as_given.into_iter().map(Advice::from).chain([database.into()])
}

#[cfg(test)]
mod tests;
