//! Everything an experiment needs on this machine: its services, its app in a temporary folder, and
//! the app server with the setting of each run.
//!
//! In: a lab. Out: a place to run on. Nothing of it is left when it is dropped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::LabError;
use super::needs;
use crate::lab::{Course, Definition, Lab, Service};
use crate::monitor::host;
use crate::place::local::services::Services;
use crate::place::local::{Local, LocalSettings, OWN_PROGRAM, scratch_places};
use crate::place::{Place, PlaceError, Started};
use crate::plan::{caller, check_programs, choose_server, recognise};
use crate::server::{self, Adapter, App, Proxy, Variables};
use crate::session::local;
use crate::terms::{
    BootCause, BootFailureKind, Bytes, Configuration, Cores, LabFailure, LabSetting, Machine,
    StopSignal, Target, Task, Warning,
};
use crate::trial::{Left, Order, Outcome, Runner};

/// Commands that make the folder ready run as the app will.
const PRODUCTION: [&str; 3] = ["RACK_ENV=production", "RAILS_ENV=production", "APP_ENV=production"];

/// So long such a command may take: a repository over a slow link, compiled assets and hundreds of
/// migrations take minutes.
pub(in crate::session) const PREPARATION: Duration = Duration::from_secs(1800);

/// The services and the app.
pub struct Site {
    // Dropped, and so ended, before the services that it uses.
    place: Option<LabPlace>,
    services: Services,
    app: App,
    adapter: &'static dyn Adapter,
    settings: Box<dyn Fn(App) -> LocalSettings>,
    stop: StopSignal,
}

/// One environment's app server.
pub struct LabPlace {
    env: BTreeMap<String, String>,
    pub local: Local,
    left: Left,
}

impl Site {
    /// Starts the services, writes the app, and makes it ready.
    ///
    /// # Errors
    /// Something is not installed, does not come up, or fails.
    pub fn prepare(
        lab: &Lab,
        course: Course,
        stop: StopSignal,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self, LabError> {
        let surroundings = local::surroundings()
            .map_err(|source| LabError::Io { what: "find the current folder".into(), source })?;
        needs::check(&lab.definition.needs, &surroundings.program_folders)?;
        let run_as = caller(surroundings.invoker, &surroundings.folder);
        if run_as.is_none() && rustix::process::geteuid().is_root() {
            tell("everything as root: this folder is root's, and nobody called sudo");
        }
        let (program, places) = (Path::new(OWN_PROGRAM), scratch_places());
        let mut services = Services::begin(program, &places, run_as.clone(), stop.clone())?;
        let folder = services.folder().join("app");
        for (name, content) in &lab.app {
            services.write_file(&Path::new("app").join(name), content)?;
        }
        start_services(lab, &mut services, &folder, tell)?;
        for command in &lab.setup {
            tell(command);
            let words = command.split_whitespace();
            let words = ["env"].into_iter().chain(PRODUCTION).chain(words).map(str::to_string);
            let what = Task::RunSetup { command: command.clone() };
            services.run(what, words.collect(), folder.clone(), PREPARATION)?;
        }
        let (mut app, adapter) = recognised(lab, &folder, &surroundings.program_folders)?;
        app.run_as = run_as;
        let settings = settings(lab, course, adapter);
        Ok(Self { place: None, services, app, adapter, settings: Box::new(settings), stop })
    }

    /// What the app server runs on.
    ///
    /// # Errors
    /// The machine cannot be looked at.
    pub fn machine(&mut self) -> Result<Machine, LabError> {
        match &self.place {
            Some(place) => Ok(place.local.machine().clone()),
            None => Ok(self.with_env(&BTreeMap::new())?.local.machine().clone()),
        }
    }

    /// Where the app runs with these variables of a setting, aimed at what is asked for.
    ///
    /// # Errors
    /// A server of another environment could not be ended.
    pub fn place(
        &mut self,
        env: &BTreeMap<String, String>,
        targets: Vec<Target>,
    ) -> Result<&mut LabPlace, LabError> {
        let place = self.with_env(env)?;
        place.local.set_targets(targets);
        Ok(place)
    }

    /// The app's folder.
    pub fn folder(&self) -> &Path {
        &self.app.folder
    }

    /// The variables that the app needs in every run.
    pub fn env(&self) -> Variables {
        let mut env = self.app.env.clone();
        env.extend(self.services.env().clone());
        env
    }

    fn with_env(&mut self, env: &BTreeMap<String, String>) -> Result<&mut LabPlace, LabError> {
        let is_same = self.place.as_ref().is_some_and(|place| place.env == *env);
        if !is_same {
            if let Some(mut old) = self.place.take() {
                old.local.stop()?;
            }
            let mut app = self.app.clone();
            app.env.extend(self.services.env().clone());
            app.env.extend(env.clone());
            let local = Local::new((self.settings)(app), self.stop.clone())?;
            self.place = Some(LabPlace { env: env.clone(), local, left: Left::default() });
        }
        Ok(self.place.as_mut().expect("it was made above"))
    }

    /// CPU that each service has used since it began, seconds.
    pub fn services_cpu_s(&self) -> BTreeMap<String, f64> {
        self.services.cpu_s()
    }

    /// What holds here that a reader should know.
    pub fn warnings(&self) -> Vec<Warning> {
        self.place.as_ref().map_or_else(Vec::new, |place| place.local.warnings())
    }

    /// Says so if the database has refused connections: the app's own log has the words.
    pub fn refused_connections(&self, setting: &LabSetting) -> Option<LabFailure> {
        let lines = self.place.as_ref()?.local.last_lines();
        let kind = server::recognise_failure(self.adapter, &lines);
        let configuration = Configuration { workers: setting.workers, threads: setting.threads };
        let why = BootCause::ConnectionsRefused { setting: configuration }.into();
        (kind == BootFailureKind::TooManyConnections)
            .then_some(LabFailure::RunWithoutServer { why, last_line: None })
    }

    /// Stops the app server and sees that the services were there to the end.
    ///
    /// # Errors
    /// A process could not be ended, or a service has ended by itself.
    pub fn finish(&mut self) -> Result<(), LabError> {
        if let Some(mut place) = self.place.take() {
            place.local.stop()?;
        }
        match self.services.check() {
            Ok(()) | Err(PlaceError::Stopped) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl LabPlace {
    /// Runs one trial.
    ///
    /// # Errors
    /// Only what is not the server's doing; also when the user asked to end meanwhile.
    pub fn run(&mut self, order: &Order) -> Result<Outcome, PlaceError> {
        let mut runner = Runner::on_what_runs(&mut self.local, self.left);
        let outcome = runner.run(order, &mut |_| {});
        self.left = runner.leave();
        if self.local.is_stopping() { Err(PlaceError::Stopped) } else { outcome }
    }

    /// Starts the server afresh.
    ///
    /// # Errors
    /// As [`Place::start`].
    pub fn start(&mut self, configuration: Configuration) -> Result<Started, PlaceError> {
        self.left = Left::default();
        self.local.start(configuration)
    }
}

fn recognised(
    lab: &Lab,
    folder: &Path,
    program_folders: &[PathBuf],
) -> Result<(App, &'static dyn Adapter), LabError> {
    let definition = &lab.definition;
    let adapter = server::find(&definition.server).ok_or_else(|| LabError::Definition {
        message: format!("lab.toml names the server '{}', which is not known", definition.server),
    })?;
    let mut app = recognise(folder)?;
    choose_server(&mut app, Some(adapter))?;
    app.proxy = match definition.behind_nginx || adapter.about().needs_proxy {
        true => Proxy::Nginx,
        false => Proxy::None,
    };
    app.ready_path.clone_from(&definition.ready);
    app.env = definition.env.clone().into();
    check_programs(&mut app, adapter, program_folders)?;
    Ok((app, adapter))
}

fn start_services(
    lab: &Lab,
    services: &mut Services,
    folder: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    for service in &lab.definition.services {
        match service {
            Service::Mariadb => {
                tell("MariaDB");
                services.start_mariadb()?;
            }
            Service::Memcached => {
                tell("memcached");
                services.start_memcached()?;
            }
        }
    }
    if let Some(command) = &lab.definition.external {
        tell(command);
        services.start_external(command, folder)?;
    }
    Ok(())
}

/// The lab's limits, where the machine has more.
pub fn limits(definition: &Definition) -> (Option<Cores>, Option<Bytes>) {
    let host = host::read();
    let is_less = |cores: &Cores| cores.get() < host.cores().get();
    (
        definition.cores.filter(is_less),
        definition.memory.filter(|memory| *memory < host.memory_bytes()),
    )
}

fn settings(
    lab: &Lab,
    course: Course,
    adapter: &'static dyn Adapter,
) -> impl Fn(App) -> LocalSettings + use<> {
    let definition = lab.definition.clone();
    let (cores, memory) = limits(&definition);
    move |app| LocalSettings {
        connection: definition.connection,
        timeout: Duration::try_from_secs_f64(definition.timeout_s).unwrap_or(Duration::MAX),
        cores,
        memory,
        most_requests: course.requests,
        ..LocalSettings::new(app, adapter, vec![Target::get("/")])
    }
}
