//! Databases, caches and other services that an app needs while it is measured: started in a folder
//! of their own, on unix sockets, under a guardian of their own, which ends them and removes the
//! folder whatever happens to us.
//!
//! In: which services. Out: the variables that lead an app to them. Must not know what they are
//! needed for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::cgroup::Limits;
use super::error::{environment, guardian_gone, unexpected};
use super::link::Link;
use super::orders::{Order, Reply};
use super::settings::inherited_secrets;
use super::{files, log};
use crate::monitor;
use crate::place::PlaceError;
use crate::place::Unusable;
use crate::server::{CommandLine, ReadyLine, RunAs};
use crate::terms::{
    BootAdvice, BootFailureKind, ProcessEnd, Secrets, SessionError, StartAdvice, StopSignal, Task,
};

/// A service that is not there by then will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// So often it is looked whether one has come up.
const LOOK: Duration = Duration::from_millis(10);

/// The database that is made for the app.
const DATABASE: &str = "lab";

struct Running {
    name: String,
    pid: u32,
    said: Said,
}

/// What a command prints, and what of it nobody may see.
#[derive(Clone, Default)]
struct Said {
    log: PathBuf,
    secrets: Secrets,
}

/// Services at work. Dropping them ends them and removes their folder.
pub struct Services {
    link: Link,
    running: Vec<Running>,
    env: BTreeMap<String, String>,
    /// Names of variables whose values are no secret, whichever command is given them.
    public: BTreeSet<String>,
    stop: StopSignal,
    starts: u32,
    run_as: Option<RunAs>,
}

impl Services {
    /// A folder and a guardian, without any service yet; `guardian` is the program that is one when
    /// called with `__guardian`. Where we are root all that is started belongs to `run_as`, and so
    /// does the folder.
    ///
    /// # Errors
    /// There is nowhere to make the folder.
    pub fn begin(
        guardian: &Path,
        scratch_in: &[PathBuf],
        run_as: Option<RunAs>,
        stop: StopSignal,
    ) -> Result<Self, PlaceError> {
        let link = Link::begin(guardian, scratch_in, Limits::default(), run_as.clone())
            .map_err(|error| environment(Task::MakeServiceFolder, error))?;
        let (env, public) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { link, running: Vec::new(), env, public, stop, starts: 0, run_as })
    }

    /// What is started is root's.
    fn is_root(&self) -> bool {
        self.run_as.is_none() && rustix::process::geteuid().is_root()
    }

    /// The folder that is removed with the services.
    pub fn folder(&self) -> &Path {
        &self.link.scratch
    }

    /// Variables that lead an app to the services.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// From now on the values of these variables are no more secret than those of inherited ones.
    pub fn set_public(&mut self, names: BTreeSet<String>) {
        self.public = names;
    }

    /// MariaDB on a socket, with an empty database.
    ///
    /// # Errors
    /// It is not installed, or does not come up; its own last lines say why.
    pub fn start_mariadb(&mut self) -> Result<(), PlaceError> {
        let data = self.folder().join("mariadb");
        let socket = self.folder().join("mariadb.sock");
        let mut install = vec![
            "mariadb-install-db".to_string(),
            "--no-defaults".into(),
            argument("--datadir", &data),
            argument("--tmpdir", self.folder()),
            "--auth-root-authentication-method=normal".into(),
            "--skip-test-db".into(),
        ];
        let mut serve = vec![
            "mariadbd".to_string(),
            "--no-defaults".into(),
            argument("--datadir", &data),
            argument("--tmpdir", self.folder()),
            argument("--socket", &socket),
            argument("--pid-file", &self.folder().join("mariadb.pid")),
            "--skip-networking".into(),
            // What is in it is gone with the run: nothing need survive the machine.
            "--innodb-flush-log-at-trx-commit=0".into(),
        ];
        if self.is_root() {
            // It refuses to run as root unless told so; the folder is closed to everybody else.
            install.push("--user=root".into());
            serve.push("--user=root".into());
        }
        self.run(Task::MakeDatabaseTables, install, self.folder().to_path_buf(), PATIENCE)?;
        self.start("mariadb", serve, self.folder().to_path_buf())?;
        self.await_socket("mariadb", &socket)?;
        self.set("DATABASE_SOCKET", &socket);
        self.set("DATABASE_NAME", DATABASE);
        self.set("DATABASE_USER", "root");
        Ok(())
    }

    /// memcached on a socket.
    ///
    /// # Errors
    /// As [`start_mariadb`](Self::start_mariadb).
    pub fn start_memcached(&mut self) -> Result<(), PlaceError> {
        let socket = self.folder().join("memcached.sock");
        let mut serve = vec!["memcached".to_string(), "-s".into(), socket.display().to_string()];
        if self.is_root() {
            serve.extend(["-u".to_string(), "root".into()]);
        }
        self.start("memcached", serve, self.folder().to_path_buf())?;
        self.await_socket("memcached", &socket)?;
        self.set("MEMCACHED_SOCKET", &socket);
        Ok(())
    }

    /// A slow service outside: a command that is given a port (0: any) as its last argument and
    /// prints `listening on PORT`.
    ///
    /// # Errors
    /// As [`start_mariadb`](Self::start_mariadb).
    pub fn start_external(&mut self, command: &str, folder: &Path) -> Result<(), PlaceError> {
        let mut words: Vec<String> = command.split_whitespace().map(str::to_string).collect();
        words.push("0".into());
        self.start("external", words, folder.to_path_buf())?;
        let log = self.running.last().map(|running| running.said.log.clone()).unwrap_or_default();
        let line = ReadyLine { contains: vec!["listening on ".into()], count: 1 };
        let mut port = None;
        self.wait_until("external", &mut || {
            let lines = log::tail_as_printed(&log);
            let line = lines.iter().find(|text| line.matches(text));
            port = line.and_then(|line| line.split_whitespace().last()?.parse::<u16>().ok());
            port.is_some()
        })?;
        let port = port.unwrap_or_default();
        self.set("EXTERNAL_URL", format!("http://127.0.0.1:{port}"));
        Ok(())
    }

    /// Writes a file below the folder, with the folders on the way.
    ///
    /// # Errors
    /// It is there already, or cannot be written.
    pub fn write_file(&self, name: &Path, content: &[u8]) -> Result<(), PlaceError> {
        let written = files::write_below(self.folder(), name, content, self.run_as.as_ref());
        let path = self.folder().join(name).display().to_string();
        written.map_err(|error| environment(Task::WriteFile { path }, error))
    }

    /// Runs a command to its end, with the services' variables.
    ///
    /// # Errors
    /// As [`run_within`](Self::run_within).
    pub fn run(
        &mut self,
        what: Task,
        arguments: Vec<String>,
        folder: PathBuf,
        patience: Duration,
    ) -> Result<(), PlaceError> {
        self.run_within(what, self.command(arguments, folder), patience)
    }

    /// Runs a command to its end, which has to come within `patience`.
    ///
    /// # Errors
    /// It is not there, fails, or does not end; its last lines say why.
    pub fn run_within(
        &mut self,
        what: Task,
        command: CommandLine,
        patience: Duration,
    ) -> Result<(), PlaceError> {
        let program = command.arguments.first().cloned().unwrap_or_default();
        let (pid, said) = self.launch(&program, command)?;
        let deadline = Instant::now() + patience;
        loop {
            match self.next_end(LOOK)? {
                Some((ended, status)) if ended == pid => {
                    return match status.is_success() {
                        true => Ok(()),
                        false => {
                            Err(failed(SessionError::CommandFailed { what, how: status }, &said))
                        }
                    };
                }
                Some((ended, status)) => refuse_end(&self.running, ended, &status)?,
                None => {}
            }
            if Instant::now() >= deadline {
                let patience_s = patience.as_secs_f64();
                return Err(failed(SessionError::CommandLate { what, patience_s }, &said));
            }
        }
    }

    /// CPU that each service has used since it began, seconds; those that have ended are left out.
    pub fn cpu_s(&self) -> BTreeMap<String, f64> {
        let of = |running: &Running| {
            let ns = monitor::cpu_clock_ns(running.pid)?;
            Some((running.name.clone(), ns as f64 / 1e9))
        };
        self.running.iter().filter_map(of).collect()
    }

    /// Looks whether all services still run.
    ///
    /// # Errors
    /// One has ended.
    pub fn check(&mut self) -> Result<(), PlaceError> {
        match self.next_end(Duration::ZERO)? {
            Some((pid, status)) => refuse_end(&self.running, pid, &status),
            None => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref().to_string_lossy().into_owned();
        self.env.insert(name.to_string(), value);
    }

    fn start(
        &mut self,
        name: &str,
        arguments: Vec<String>,
        folder: PathBuf,
    ) -> Result<(), PlaceError> {
        let (pid, said) = self.launch(name, self.command(arguments, folder))?;
        self.running.push(Running { name: name.to_string(), pid, said });
        Ok(())
    }

    /// With the services' variables.
    fn command(&self, arguments: Vec<String>, folder: PathBuf) -> CommandLine {
        CommandLine { arguments, env: self.env.clone().into(), env_removed: Vec::new(), folder }
    }

    fn launch(&mut self, name: &str, command: CommandLine) -> Result<(u32, Said), PlaceError> {
        self.starts += 1;
        let log = self.folder().join(format!("service-{}.log", self.starts));
        // Where our own sockets are is no secret, and messages are not understood without.
        let given = command.env.iter().filter(|(name, value)| self.env.get(*name) != Some(value));
        let given = given.map(|(name, value)| (&**name, &**value));
        let (public, given): (Vec<_>, Vec<_>) =
            given.partition(|(name, _)| self.public.contains(*name));
        let secrets = inherited_secrets().with_inherited(public).with_given(given);
        let program = command.arguments.first().cloned().unwrap_or_default();
        let order = Order::Start { command, log: log.clone(), cpus: Vec::new(), nice: 0 };
        let running = &self.running;
        let reply = self.link.ask(&order, &mut |pid, status| refuse_end(running, pid, status))?;
        let what = Task::StartService { name: name.to_string() };
        match reply {
            Reply::Started { pid } => Ok((pid, Said { log, secrets })),
            Reply::NotStarted { is_missing: true, message } => {
                Err(PlaceError::Service(Box::new(Unusable {
                    kind: BootFailureKind::NotInstalled,
                    why: SessionError::CouldNot { what: what.into(), why: message },
                    advice: install(program),
                    last_lines: Vec::new(),
                })))
            }
            reply => Err(unexpected(what, &reply)),
        }
    }

    fn next_end(&mut self, wait: Duration) -> Result<Option<(u32, ProcessEnd)>, PlaceError> {
        if self.stop.is_raised() {
            return Err(PlaceError::Stopped);
        }
        match self.link.next_reply(wait) {
            Ok(Reply::Exited { pid, status }) => Ok(Some((pid, status))),
            Err(RecvTimeoutError::Disconnected) => Err(guardian_gone()),
            Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    fn await_socket(&mut self, name: &str, socket: &Path) -> Result<(), PlaceError> {
        self.wait_until(name, &mut || UnixStream::connect(socket).is_ok())
    }

    fn wait_until(
        &mut self,
        name: &str,
        is_there: &mut dyn FnMut() -> bool,
    ) -> Result<(), PlaceError> {
        let deadline = Instant::now() + PATIENCE;
        while !is_there() {
            if let Some((pid, status)) = self.next_end(LOOK)? {
                refuse_end(&self.running, pid, &status)?;
            }
            if Instant::now() >= deadline {
                let running = self.running.iter().find(|running| running.name == name);
                let said = running.map(|running| running.said.clone()).unwrap_or_default();
                let (name, patience_s) = (name.to_string(), PATIENCE.as_secs_f64());
                return Err(failed(SessionError::ServiceLate { name, patience_s }, &said));
            }
        }
        Ok(())
    }
}

/// A service must not end before we do.
fn refuse_end(running: &[Running], pid: u32, status: &ProcessEnd) -> Result<(), PlaceError> {
    match running.iter().find(|running| running.pid == pid) {
        Some(running) => {
            let (name, how) = (running.name.clone(), status.clone());
            Err(failed(SessionError::ServiceEnded { name, how }, &running.said))
        }
        None => Ok(()),
    }
}

fn argument(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// How to come by a program of this name.
fn install(program: String) -> BootAdvice {
    let package = match program.as_str() {
        "mariadb-install-db" | "mariadbd" => "mariadb-server",
        "memcached" => "memcached",
        "bundle" => "bundler",
        _ => return StartAdvice::InstallPackageWith { program }.into(),
    };
    StartAdvice::InstallServer { commands: vec![format!("apt install {package}")] }.into()
}

fn failed(why: SessionError, said: &Said) -> PlaceError {
    PlaceError::Service(Box::new(Unusable {
        kind: BootFailureKind::Exited,
        why,
        advice: StartAdvice::MendService.into(),
        last_lines: log::worth_showing(&log::tail(&said.log, &said.secrets)),
    }))
}
