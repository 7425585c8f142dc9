//! Everything that a situation needs on this machine: services, neighbours, and a place with the
//! app server.
//!
//! In: a size of a situation. Out: a place that trials can be run on. Nothing of it is left when it
//! is dropped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sweetspot::monitor::host;
use sweetspot::place::Place as _;
use sweetspot::place::local::services::Services;
use sweetspot::place::local::{Local, LocalSettings};
use sweetspot::server::command::{CommandTemplate, Runs};
use sweetspot::server::{Adapter, App, FOR_COMMANDS, Framework, Proxy};
use sweetspot::terms::{Bytes, Configuration, Cores, StopSignal, Target, Task};
use tempfile::TempDir;

use super::Settings;
use super::beside::{ASLEEP, BUSY, neighbour};
use super::situation::{Beside, CORES, Server, Service, Size};
use crate::common::process::Kept;
use crate::common::{Result, checkout, program, site};

/// How much the app `files` reads from: three times what it may have in memory.
const DATA_MIB: u64 = 384;

/// A database that is not filled by then will not be.
const PATIENCE: Duration = Duration::from_secs(60);

/// The place and what stands around it.
pub struct Site {
    // Dropped, and so ended, before what it uses.
    pub place: Local,
    _neighbours: Vec<Kept>,
    _services: Services,
    _scratch: TempDir,
}

impl Site {
    /// Starts services and neighbours; the server is still to be started.
    pub fn prepare(size: &Size, settings: &Settings, stop: &StopSignal) -> Result<Self> {
        let scratch = TempDir::new()?;
        let services = start_services(size, stop)?;
        let data = settings.folder.canonicalize()?.join("data");
        if size.app == "files" {
            make_data(&data)?;
        }
        let mut env = services.env().clone();
        env.insert("BENCH_SCRATCH".to_string(), scratch.path().display().to_string());
        env.insert("BENCH_DATA".to_string(), data.display().to_string());
        env.extend(size.env.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let (app, adapter) = app(size, env)?;
        let place = Local::new(
            LocalSettings {
                connection: size.connection,
                timeout: size.timeout,
                cores: size.cores.map(Cores::new).transpose()?,
                memory: size.memory_mib.map(|mib| Bytes(mib << 20)),
                guardian: program(),
                ..LocalSettings::new(app, adapter, vec![Target::get(size.path)])
            },
            stop.clone(),
        )?;
        // Without its limits it would be another situation.
        if let Some(missing) = place.warnings().iter().find(|it| it.code() == "limits_not_enforced")
        {
            return Err(sweetspot::report::Language::DATA.say_warning(missing).into());
        }
        let neighbours = start_neighbours(size.beside)?;
        Ok(Self { place, _neighbours: neighbours, _services: services, _scratch: scratch })
    }
}

/// A folder of `apps/`.
pub fn app_folder(name: &str) -> PathBuf {
    checkout("bench/diagnosis/apps").join(name)
}

fn app(size: &Size, env: BTreeMap<String, String>) -> Result<(App, &'static dyn Adapter)> {
    let folder = app_folder(size.app);
    let (mut app, adapter) = match size.server {
        Server::Command(text) => {
            let command = Some(template(text, size)?);
            let mut app =
                App { command, env: env.into(), ..App::new(folder, Framework::Other, "") };
            site::check(&mut app, FOR_COMMANDS)?;
            (app, FOR_COMMANDS)
        }
        Server::Puma | Server::PumaBehindNginx => site::on_puma(&folder, env)?,
    };
    if size.server == Server::PumaBehindNginx {
        app.proxy = Proxy::Nginx;
        site::check(&mut app, adapter)?;
    }
    app.is_probed = size.is_probed;
    Ok((app, adapter))
}

fn template(text: &str, size: &Size) -> Result<CommandTemplate> {
    Ok(CommandTemplate {
        text: text.to_string(),
        words: shlex::split(text).ok_or("a quote is open in a situation's command")?,
        stop_signal: libc::SIGTERM,
        today: Configuration::new(size.workers, size.threads)?,
        runs: Runs::Server,
    })
}

fn start_services(size: &Size, stop: &StopSignal) -> Result<Services> {
    let mut services = site::services(stop)?;
    for service in size.services {
        match service {
            Service::Mariadb => {
                services.start_mariadb()?;
                let seed = ["ruby", "seed.rb"].map(str::to_string);
                let what = Task::RunSetup { command: seed.join(" ") };
                services.run(what, seed.into(), app_folder(size.app), PATIENCE)?;
            }
            Service::Slow => site::start_slow_service(&mut services)?,
        }
    }
    Ok(services)
}

/// Outside the server's control group, and then forgotten by the kernel: whoever reads it first is
/// charged for it.
fn make_data(path: &Path) -> Result<()> {
    let status = Command::new("ruby")
        .arg(app_folder("files").join("make.rb"))
        .arg(path)
        .arg(DATA_MIB.to_string())
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("could not start ruby: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("could not make {}: {status}", path.display()).into()),
    }
}

fn start_neighbours(beside: Beside) -> Result<Vec<Kept>> {
    let cores: Vec<u16> = host::allowed_cores(0).into_iter().take(CORES as usize).collect();
    match beside {
        // One core each, in turn.
        Beside::Busy(count) => (0..usize::from(count))
            .map(|index| neighbour(BUSY, vec![cores[index % cores.len()]]))
            .collect(),
        Beside::Asleep => Ok(vec![neighbour(ASLEEP, cores)?]),
        Beside::Nothing | Beside::OneCore | Beside::StandingStill | Beside::FewConnections(_) => {
            Ok(Vec::new())
        }
    }
}
