//! App servers started on this machine: each in a session, a folder and, where the machine allows
//! it, a control group of its own, under a guardian that ends them whatever happens to us.
//!
//! In: an app and its adapter; then configurations and offers. Out: what was seen. Must not judge
//! it.

mod boot;
pub mod cgroup;
mod error;
mod files;
pub(crate) mod guardian;
pub(crate) mod leftovers;
mod link;
#[cfg(fuzzing)]
pub mod log;
#[cfg(not(fuzzing))]
pub(in crate::place) mod log;
mod machine;
mod orders;
mod probe;
mod processes;
pub mod services;
mod serving;
mod settings;
mod started;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use self::boot::Boot;
pub(in crate::place) use self::boot::{kind_of_status, of_ready_page};
use self::cgroup::{Group, LimitName};
use self::error::{environment, unexpected};
use self::link::Link;
use self::machine::Share;
use self::orders::{Order, Reply};
pub use self::settings::{
    BOOT_PATIENCE, LocalSettings, OWN_PROGRAM, SYSTEM_PROGRAMS, inherited_secrets, scratch_places,
};
use self::started::{Part, StartedProcesses};
use super::{Observed, Offer, Place, PlaceError, Started};
use crate::load::shape;
use crate::load::{self, Address, Closing, Length, LoadSpec, Placement, Protocol};
use crate::monitor::Monitor;
use crate::server::{self, App, CommandLine, Inspection, InspectionError, Ports, Recipe};
use crate::terms::{
    BootEnd, BootFailure, BootFailureKind, Configuration, Goals, LiveSecond, Machine, MachineDoubt,
    Phase, Priority, ProcessEnd, Secrets, ServerEnd, SettingsError, StopRequest, StopSignal,
    Target, Task, TrialFailure, Variant, Warning,
};

/// A third of an ordinary process's weight: enough to be in time, little beside others.
const NICE_BEHIND: i32 = 5;

/// The app's own settings are only read, so this is plenty, unless a boot is given longer: they may
/// load as much of the app.
const INSPECTION_PATIENCE: Duration = Duration::from_secs(30);

/// Requests under way have ended within this, or never will; then the server is ended for certain.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A free port can be taken by somebody else before the server has it.
const PORT_ATTEMPTS: u32 = 5;

/// This machine as a place for trials.
pub struct Local {
    settings: LocalSettings,
    /// Masked in whatever the server prints.
    secrets: Secrets,
    stop: StopSignal,
    share: Share,
    link: Link,
    running: Option<Running>,
    born: Instant,
    starts: u32,
}

/// A server that was started.
struct Running {
    processes: StartedProcesses,
    configuration: Configuration,
    address: SocketAddr,
    /// Where the server answers the proxy in front of it.
    socket: Option<PathBuf>,
    /// Where it says something of its own workers.
    stats: Option<server::Stats>,
    log: PathBuf,
    stop_signal: i32,
    /// True once it has answered at its address, so that it is the one that listens there.
    has_answered: bool,
    /// Worker processes that there were when it was ready.
    workers: usize,
}

impl Local {
    /// Looks at the machine and starts the guardian.
    ///
    /// # Errors
    /// The app's folder is not there, the guardian cannot be started, or there is nowhere to write.
    pub fn new(settings: LocalSettings, stop: StopSignal) -> Result<Self, PlaceError> {
        let settings = settings.with_inherited(|name| std::env::var(name).ok());
        let folder = &settings.app.folder;
        std::fs::read_dir(folder).map_err(|error| {
            environment(Task::OpenAppFolder { folder: folder.display().to_string() }, error)
        })?;
        let share = machine::share(settings.cores, settings.memory)
            .map_err(|error| environment(Task::FindCores, error))?;
        let link = begin(&settings, &share)?;
        let (born, secrets) = (Instant::now(), settings.secrets());
        Ok(Self { settings, secrets, stop, share, link, running: None, born, starts: 0 })
    }

    /// The server's first process, while all that was started for it runs.
    pub fn server_pid(&self) -> Option<u32> {
        self.server_pids().first().copied()
    }

    /// The processes that were started for the server (their descendants are not among them), while
    /// all of them run.
    pub fn server_pids(&self) -> Vec<u32> {
        let whole = self.running.as_ref().filter(|running| running.processes.ended().is_none());
        whole.map_or_else(Vec::new, |running| running.processes.running(Part::Server))
    }

    /// From now on these are asked for, also of a server that runs.
    pub fn set_targets(&mut self, targets: Vec<Target>) {
        self.settings.targets = targets;
        self.secrets = self.settings.secrets();
    }

    /// What the server that runs has printed lately, oldest line first.
    pub fn last_lines(&self) -> Vec<String> {
        let tail = |running: &Running| log::tail(&running.log, &self.secrets);
        self.running.as_ref().map_or_else(Vec::new, tail)
    }

    /// Where the load generator runs: on cores of its own, or ahead of the server on the server's,
    /// where it would else wait for the very cores it loads, and measure its own waiting.
    pub fn placement(&self) -> Placement {
        let cpus = self.share.generator_cpus.clone();
        Placement { raised_priority: cpus.is_empty(), cpus }
    }

    /// Has the user asked to end?
    pub fn is_stopping(&self) -> bool {
        self.stop.is_raised()
    }

    /// Loopback address of the server that runs.
    pub fn address(&self) -> Option<SocketAddr> {
        self.running.as_ref().map(|running| running.address)
    }

    fn start_once(
        &mut self,
        configuration: Configuration,
        app: &App,
    ) -> Result<Started, PlaceError> {
        let free = || free_port().map_err(|error| environment(Task::FindFreePort, error));
        let front = self.settings.port.map_or_else(free, Ok)?;
        let ports = Ports { front, behind: free()? };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, front));
        let adapter = self.settings.adapter;
        let recipe = server::recipe(app, adapter, configuration, ports, &self.link.scratch);
        files::write(&recipe, &self.link.scratch, app.run_as.as_ref())?;
        self.starts += 1;
        let log = self.link.scratch.join(format!("server-{}.log", self.starts));
        let started = Instant::now();
        self.running = Some(Running {
            processes: StartedProcesses::default(),
            configuration,
            address,
            socket: recipe.socket().map(Path::to_path_buf),
            stats: recipe.stats.clone(),
            log: log.clone(),
            stop_signal: recipe.stop_signal,
            has_answered: false,
            workers: 0,
        });
        if let Err(failure) = self.launch_all(&recipe, &log)? {
            self.stop()?;
            return Ok(Started::Failed(failure));
        }
        let running = self.running.as_mut().expect("it was put there above");
        let boot = Boot {
            link: &self.link,
            adapter: self.settings.adapter,
            app,
            targets: &self.settings.targets,
            stop: &self.stop,
            recipe: &recipe,
            address,
            log: &running.log,
            secrets: &self.secrets,
            started,
            patience: self.settings.boot_patience,
            processes: &mut running.processes,
        };
        let outcome = boot.wait();
        running.has_answered = matches!(outcome, Ok(None));
        match outcome {
            Ok(None) => {
                let boot = started.elapsed();
                self.count_workers();
                self.unless_ignored(app, &log, boot)
            }
            Ok(Some(failure)) => {
                self.stop()?;
                Ok(Started::Failed(boot::with_connections_needed(failure, configuration)))
            }
            Err(error) => {
                self.stop()?;
                Err(error)
            }
        }
    }

    /// A server that is ready, and runs with what was changed.
    fn unless_ignored(
        &mut self,
        app: &App,
        log: &Path,
        boot: Duration,
    ) -> Result<Started, PlaceError> {
        let Some(failure) = boot::ignored(app, log, &self.secrets) else {
            return Ok(Started::Ready { boot });
        };
        self.stop()?;
        Ok(Started::Failed(failure))
    }

    /// Starts the server's processes, then its proxy. The inner error: a program is not there.
    fn launch_all(
        &mut self,
        recipe: &Recipe,
        log: &Path,
    ) -> Result<Result<(), BootFailure>, PlaceError> {
        let server = recipe.commands.iter().map(|command| (command, Part::Server));
        for (command, part) in server.chain(recipe.proxy.iter().map(|it| (it, Part::Proxy))) {
            let pid = match self.launch(command, log)? {
                Ok(pid) => pid,
                Err(error) => {
                    let (app, adapter) = (&self.settings.app, self.settings.adapter);
                    let (kind, end) = (BootFailureKind::NotInstalled, BootEnd::NotRun { error });
                    return Ok(Err(boot::failure(adapter, app, kind, end, &[], &[])));
                }
            };
            let running = self.running.as_mut().expect("start_once has put it there");
            running.processes.add(pid, part);
        }
        Ok(Ok(()))
    }

    /// Has the guardian run a command. The inner error: the program is not there, as the operating
    /// system says it.
    fn launch(
        &mut self,
        command: &CommandLine,
        log: &Path,
    ) -> Result<Result<u32, String>, PlaceError> {
        let cpus = self.share.server_cpus.clone();
        let (command_line, log) = (command.clone(), log.to_path_buf());
        let order = Order::Start { command: command_line, log, cpus, nice: self.nice() };
        match self.ask(&order)? {
            Reply::Started { pid } => Ok(Ok(pid)),
            Reply::NotStarted { is_missing: true, message } => Ok(Err(message)),
            reply => Err(unexpected(Task::StartServer, &reply)),
        }
    }

    /// One order and its reply; how an earlier process ended is noted.
    fn ask(&mut self, order: &Order) -> Result<Reply, PlaceError> {
        let running = &mut self.running;
        self.link.ask(order, &mut |pid, status| {
            running.iter_mut().for_each(|running| running.processes.note_end(pid, status));
            Ok(())
        })
    }

    fn note_end(&mut self, pid: u32, status: &ProcessEnd) {
        if let Some(running) = &mut self.running {
            running.processes.note_end(pid, status);
        }
    }

    /// Waits until a process of ours has ended, the guardian is gone, or time or the user's
    /// patience is up.
    fn await_end(&mut self, wait: Duration, patience: StopRequest) -> Option<(u32, ProcessEnd)> {
        let deadline = Instant::now() + wait;
        while Instant::now() < deadline && self.stop.requested() < patience {
            match self.link.next_reply(Duration::from_millis(20)) {
                Ok(Reply::Exited { pid, status }) => return Some((pid, status)),
                Err(RecvTimeoutError::Disconnected) => return None,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
        None
    }

    /// Asks a part of the server to end, and waits as long as that may take.
    fn end_gracefully(&mut self, running: &mut Running, part: Part, signal: i32) {
        for pid in running.processes.running(part) {
            // A guardian that does not take the order is gone, and has taken the server with it.
            if self.link.order(&Order::Signal { pid, signal }).is_err() {
                return;
            }
        }
        let deadline = Instant::now() + STOP_PATIENCE;
        while !running.processes.running(part).is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Some((pid, status)) = self.await_end(left, StopRequest::Now) else { return };
            running.processes.note_end(pid, &status);
        }
    }

    /// Ends whatever is left below the guardian.
    fn end_for_certain(&mut self) -> Result<(), PlaceError> {
        match self.ask(&Order::End) {
            Ok(Reply::Ended { left }) if left.is_empty() => Ok(()),
            Ok(Reply::Ended { left }) => {
                let what = Task::EndServerProcesses { pids: left };
                Err(environment(what, io::ErrorKind::ResourceBusy.into()))
            }
            Ok(reply) => Err(unexpected(Task::EndServer, &reply)),
            Err(_) => {
                // Ends what a dead guardian left behind, and makes the next start possible.
                self.link = begin(&self.settings, &self.share)?;
                Ok(())
            }
        }
    }

    /// On cores that it shares, the generator must come first or it measures its own waiting. Where
    /// it may not step ahead, the server steps behind: among its own processes nothing changes.
    fn nice(&self) -> i32 {
        let is_shared = self.share.generator_cpus.is_empty();
        if is_shared && load::priority_permitted() == Priority::Normal { NICE_BEHIND } else { 0 }
    }

    /// The load that an offer means, at the running server.
    fn load_spec(&self, offer: &Offer, address: SocketAddr) -> LoadSpec {
        let own_cores = &self.share.generator_cpus;
        let duration = Length::Duration(offer.duration);
        LoadSpec {
            address: Address::Tcp(vec![address]),
            host: address.to_string(),
            targets: self.settings.targets.clone(),
            variables: None,
            keeps_cookies: false,
            shape: offer.offered.into(),
            warm_up: offer.warm_up,
            length: self.settings.most_requests.map_or(duration, Length::Requests),
            connection: offer.connection.unwrap_or(self.settings.connection),
            tls: None,
            timeout: self.settings.timeout,
            max_in_flight: None,
            closing: Closing::default(),
            records_each_target: told_apart(&self.settings.targets),
            keeps_rows: false,
            protocol: Protocol::Http1,
            part: shape::Part::WHOLE,
            loops: loops(own_cores.len()),
            seed: offer.seed,
            placement: self.placement(),
        }
    }

    /// The app's own settings cannot be read.
    fn unread(&self, error: InspectionError, lines: &[String]) -> PlaceError {
        let (adapter, app) = (self.settings.adapter, &self.settings.app);
        PlaceError::Inspection(boot::unread(adapter, app, error, lines).into())
    }
}

/// The figures of each target are kept apart where that says something.
pub(in crate::place) fn told_apart(targets: &[Target]) -> bool {
    Goals::of(targets, None, true).is_ok_and(|goals| goals.are_apart())
}

impl Place for Local {
    fn machine(&self) -> &Machine {
        &self.share.machine
    }

    fn elapsed(&self) -> Duration {
        self.born.elapsed()
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.share.warnings.clone();
        warnings.extend(not_enforced(&self.link.group, &self.share));
        if self.share.generator_cpus.is_empty() {
            let cores = self.share.machine.cores.get();
            warnings.push(MachineDoubt::GeneratorSharesCores { cores }.into());
        }
        if self.settings.app.run_as.is_none() && rustix::process::geteuid().is_root() {
            warnings.push(MachineDoubt::AppIsRoot.into());
        }
        warnings
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        self.stop()?;
        let (adapter, app) = (self.settings.adapter, &self.settings.app);
        let Some(command) = server::inspect(app, adapter) else {
            return server::read_inspection(app, adapter, "")
                .map_err(|error| self.unread(error, &[]));
        };
        let log = self.link.scratch.join("inspection.log");
        let kind = BootFailureKind::NotInstalled;
        self.launch(&command, &log)?
            .map_err(|error| SettingsError::Failed { error, at: None })
            .map_err(|why| self.unread(InspectionError { kind, why }, &[]))?;
        let patience = self.settings.boot_patience.max(INSPECTION_PATIENCE);
        let end = self.await_end(patience, StopRequest::Finish);
        self.end_for_certain()?;
        let lines = log::tail_as_printed(&log);
        let shown = self.secrets.mask_lines(&lines);
        let (app, adapter) = (&self.settings.app, self.settings.adapter);
        let read = |lines: &[String]| server::read_inspection(app, adapter, &lines.join("\n"));
        // Only what was printed to the end can be read.
        let error = match end {
            Some(_) => match read(&lines) {
                Ok(inspection) => return Ok(inspection),
                // An app's own message is part of it.
                Err(error) => read(&shown).err().unwrap_or(error),
            },
            None if self.stop.is_raised() => return Err(PlaceError::Stopped),
            None => InspectionError {
                kind: BootFailureKind::NeverReady,
                why: SettingsError::NotReadInTime { patience_s: patience.as_secs_f64() },
            },
        };
        Err(self.unread(error, &shown))
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.stop()?;
        let changes = variant.of_list(&self.settings.changes);
        let app = self.settings.app.with_changes(changes);
        for _ in 1..PORT_ATTEMPTS {
            match self.start_once(configuration, &app)? {
                Started::Failed(failure)
                    if failure.kind == BootFailureKind::PortTaken
                        && self.settings.port.is_none() => {}
                started => return Ok(started),
            }
        }
        self.start_once(configuration, &app)
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        assert_eq!(offer.pods_away, 0, "processes are no pods");
        let running =
            self.running.as_ref().expect("a load is offered to a server that was started");
        let spec = self.load_spec(offer, running.address);
        let killed_before = self.link.group.out_of_memory_kills();
        let log = running.log.clone();
        let mut ended: Vec<(u32, ProcessEnd)> = Vec::new();
        let has_ended = running.processes.ended().is_some();
        let mut is_guardian_gone = false;
        let comes_first = self.placement().raised_priority;
        let settle = move || {
            if comes_first {
                // Refused, it watches from where it is; `warnings` says who shares the cores.
                let _ = load::come_before_the_server();
            }
        };
        let monitor = Monitor::start_settled(self.watched(running), Instant::now(), settle);
        let link = &self.link;
        let longest = offer.warm_up + offer.duration;
        let counts = self.settings.most_requests.is_some();
        let mut watch_server = |second: &LiveSecond| {
            match link.next_reply(Duration::ZERO) {
                Ok(Reply::Exited { pid, status }) => ended.push((pid, status)),
                Err(RecvTimeoutError::Disconnected) => is_guardian_gone = true,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            let wish = watch(second);
            // That many requests may never come; the last replies are awaited whatever the time.
            let is_too_long = counts && second.phase != Phase::Drain && second.at > longest;
            let is_over = has_ended || !ended.is_empty() || is_guardian_gone || is_too_long;
            if is_over { ControlFlow::Break(()) } else { wish }
        };
        let load = load::run(&spec, &self.stop, &mut watch_server);
        let monitor = monitor.stop();
        // Who ends in the last part of a second is told after the last look.
        ended.extend(self.link.ended()?);
        let load = load?;
        let killed = self.link.group.out_of_memory_kills().saturating_sub(killed_before);
        for (pid, status) in &ended {
            self.note_end(*pid, status);
        }
        let status = self.running.as_ref().and_then(|running| running.processes.ended());
        let failure = match status {
            _ if killed > 0 => Some(ServerEnd::ProcessesKilled { killed }),
            status => status.or_else(|| self.lost_workers()),
        };
        let last_lines = || log::worth_showing(&log::tail(&log, &self.secrets));
        let failure =
            failure.map(|it| TrialFailure::Died { status: it.into(), last_lines: last_lines() });
        Ok(Observed { load, monitor, failure })
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        let signal = running.stop_signal;
        // In front first: it finishes its requests while there is still somebody to answer them.
        let of_proxy = self.settings.app.proxy.stop_signal();
        self.end_gracefully(&mut running, Part::Proxy, of_proxy);
        self.end_gracefully(&mut running, Part::Server, signal);
        self.end_for_certain()?;
        if running.has_answered && is_listening(running.address) {
            let what = Task::FreeServerAddress { address: running.address.to_string() };
            return Err(environment(what, io::ErrorKind::AddrInUse.into()));
        }
        Ok(())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // The guardian ends whatever a graceful stop could not.
        let _ = self.stop();
    }
}

fn begin(settings: &LocalSettings, share: &Share) -> Result<Link, PlaceError> {
    let run_as = settings.app.run_as.clone();
    Link::begin(&settings.guardian, &settings.scratch_in, share.limits, run_as).map_err(|error| {
        let folders = settings.scratch_in.iter().map(|place| place.display().to_string());
        environment(Task::StartGuardian { folders: folders.collect() }, error)
    })
}

fn not_enforced<'a>(group: &'a Group, share: &'a Share) -> impl Iterator<Item = Warning> + 'a {
    let is_by_affinity = share.limits.cores.is_some_and(|cores| cores.fract() == 0.0)
        && !share.server_cpus.is_empty();
    group.not_enforced.iter().filter_map(move |missing| {
        let why = missing.why.clone();
        let doubt = match missing.limit {
            // Whole cores are enough: the server cannot leave them.
            LimitName::Cores if is_by_affinity => return None,
            LimitName::Cores => {
                MachineDoubt::CoresNotEnforced { cores: share.machine.cores.get(), why }
            }
            LimitName::Memory => {
                MachineDoubt::MemoryNotEnforced { limit_bytes: share.machine.memory_bytes.0, why }
            }
        };
        Some(doubt.into())
    })
}

/// Loops of the load generator: one does tens of thousands of requests a second, and each costs the
/// server a core when it has none of its own.
pub(in crate::place) fn loops(own_cores: usize) -> u16 {
    own_cores.clamp(1, 4) as u16
}

/// A port that nobody listens on now.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Does anybody accept connections there?
fn is_listening(address: SocketAddr) -> bool {
    let connected = TcpStream::connect_timeout(&address, Duration::from_secs(1));
    // With nobody listening, a connection can by chance come to itself.
    connected.is_ok_and(|stream| stream.local_addr().is_ok_and(|own| own != address))
}
