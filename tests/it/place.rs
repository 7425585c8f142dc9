//! Real app servers, started and ended on this machine; nothing may be left of them.

mod boot;
mod command;
mod conformance;
mod guardian;
mod gunicorn;
mod nginx;
mod node;
mod others;
mod php_fpm;
mod probe;
mod proxies;
mod puma;
mod settings;
mod thin;
mod unicorn;
mod uvicorn;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sweetspot::place::local::{Local, LocalSettings, SYSTEM_PROGRAMS};
use sweetspot::place::{Offer, Place, PlaceError, Started, Unusable};
use sweetspot::plan::{self, Key, Typed, check_programs, choose_server};
use sweetspot::report::Language;
use sweetspot::server::{self, Adapter, App, Framework, Inspection, Proxy, Recommended};
use sweetspot::session::local;
use sweetspot::terms::{
    BootFailure, Bytes, Configuration, Cores, Offered, Settings, StopSignal, Target,
};

use crate::failures::site::set_mode;
use crate::process::{Kept, unused_address, wait_until, write_files};

/// What a server's users write down of a configuration that was measured on two cores.
fn written_down(
    server: &str,
    app: &App,
    inspection: &Inspection,
    (workers, threads): (u16, u16),
) -> Settings {
    let configuration = configuration(workers, threads);
    let cores = Cores::new(2.0).unwrap();
    let memory = Bytes(1 << 30);
    let recommended =
        Recommended { app, inspection, configuration, cores, memory, a_pod_less: None };
    server::find(server).unwrap().settings(recommended)
}

fn why(failure: &Unusable) -> String {
    Language::DATA.say_fact(&failure.why)
}

/// An app in a folder of its own, with everything that may hold on to it looked for at the end.
struct TestApp {
    folder: tempfile::TempDir,
}

impl TestApp {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Somebody else may have to read it.
        set_mode(folder.path(), 0o755);
        write_files(folder.path(), files);
        Self { folder }
    }

    /// An app that answers everything with what these lines of Ruby return.
    fn answering(body: &str) -> Self {
        Self::new(&[("config.ru", &format!("run ->(env) {{ {body} }}\n"))])
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// On Puma.
    fn settings(&self) -> LocalSettings {
        self.settings_on("puma")
    }

    fn settings_on(&self, server: &str) -> LocalSettings {
        let adapter = server::find(server).unwrap();
        let mut app = match adapter.about().runs.contains(&Framework::Other) {
            true => self.planned(),
            false => {
                let mut app = plan::recognise(&self.path()).unwrap();
                choose_server(&mut app, Some(adapter)).unwrap();
                app
            }
        };
        let path = std::env::var_os("PATH").unwrap();
        let system = SYSTEM_PROGRAMS.iter().map(PathBuf::from);
        let folders: Vec<_> = std::env::split_paths(&path).chain(system).collect();
        if adapter.about().needs_proxy {
            app.proxy = Proxy::Nginx;
        }
        check_programs(&mut app, adapter, &folders).unwrap();
        LocalSettings {
            guardian: env!("CARGO_BIN_EXE_sweetspot").into(),
            ..LocalSettings::new(app, adapter, vec![Target::get("/")])
        }
    }

    /// As its plan file says.
    fn planned(&self) -> App {
        let typed = Typed { plan: Some(self.path()), ..Typed::default() };
        let typed = typed.with_path(Key::App, self.path());
        plan::resolve(&typed, &local::surroundings().unwrap()).unwrap().app
    }

    /// On Puma.
    fn local(&self) -> Local {
        Local::new(self.settings(), StopSignal::default()).unwrap()
    }

    fn local_on(&self, server: &str) -> Local {
        Local::new(self.settings_on(server), StopSignal::default()).unwrap()
    }

    #[track_caller]
    fn inspect_on(&self, server: &str) -> Inspection {
        self.inspect(self.local_on(server))
    }

    /// Processes at work in the app's folder.
    fn processes(&self) -> Vec<u32> {
        let folder = self.path();
        let is_there =
            |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        all_processes().into_iter().filter(is_there).collect()
    }

    /// What the server says of the app's settings; nothing of it is left.
    #[track_caller]
    fn inspect(&self, mut local: Local) -> Inspection {
        let before = self.listing();
        let inspection = local.inspect().unwrap();
        self.assert_is(&before);
        self.assert_nothing_is_left();
        inspection
    }

    /// Ends the server, of which nothing is left.
    #[track_caller]
    fn end(&self, local: &mut Local) {
        local.stop().unwrap();
        self.assert_nothing_is_left();
    }

    #[track_caller]
    fn assert_is(&self, before: &Listing) {
        assert_eq!(self.listing(), *before, "the app's folder was written to");
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        let left: Vec<String> = self.processes().into_iter().map(title).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// Every file and folder with its size and time of change.
    fn listing(&self) -> Listing {
        let mut listing = BTreeMap::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                listing.insert(path, (metadata.len(), metadata.modified().unwrap()));
            }
            let metadata = folder.metadata().unwrap();
            listing.insert(folder, (metadata.len(), metadata.modified().unwrap()));
        }
        listing
    }
}

type Listing = BTreeMap<PathBuf, (u64, SystemTime)>;

/// A second's load by clients who await each reply, then `think`.
fn a_second(clients: u32, think: Duration) -> Offer {
    Offer {
        offered: Offered::Closed { clients, think },
        warm_up: Duration::ZERO,
        duration: Duration::from_secs(1),
        seed: 1,
        connection: None,
        pods_away: 0,
    }
}

fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok()).collect()
}

pub fn title(pid: u32) -> String {
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&cmdline).replace('\0', " ").trim().to_string()
}

pub fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn children(pid: u32) -> Vec<u32> {
    all_processes().into_iter().filter(|child| parent(*child) == Some(pid)).collect()
}

/// Threads of a process with a name that begins so.
fn threads_named(pid: u32, prefix: &str) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let name = |task: PathBuf| fs::read_to_string(task.join("comm")).unwrap_or_default();
    tasks.filter(|task| name(task.as_ref().unwrap().path()).starts_with(prefix)).count()
}

fn configuration(workers: u16, threads: u16) -> Configuration {
    Configuration::new(workers, threads).unwrap()
}

/// Of a process that the test started and has just seen.
#[track_caller]
fn kill(pid: u32, signal: i32) {
    // SAFETY: two integers.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0, "signal {signal} to {pid}");
}

#[track_caller]
fn start(local: &mut Local, workers: u16, threads: u16) {
    match local.start(configuration(workers, threads)).unwrap() {
        Started::Ready { .. } => {}
        Started::Failed(failure) => panic!("{failure:?}"),
    }
}

/// A server that is ready.
#[track_caller]
fn started(settings: LocalSettings, workers: u16, threads: u16) -> Local {
    let mut local = Local::new(settings, StopSignal::default()).unwrap();
    start(&mut local, workers, threads);
    local
}

/// Why a server does not become ready.
#[track_caller]
fn failing(settings: LocalSettings, workers: u16, threads: u16) -> BootFailure {
    start_failing(&mut Local::new(settings, StopSignal::default()).unwrap(), workers, threads)
}

#[track_caller]
fn start_failing(local: &mut Local, workers: u16, threads: u16) -> BootFailure {
    match local.start(configuration(workers, threads)).unwrap() {
        Started::Ready { .. } => panic!("it became ready"),
        Started::Failed(failure) => failure,
    }
}

/// What went wrong is said with these words.
#[track_caller]
fn assert_message(failure: &BootFailure, words: &str) {
    assert!(Language::DATA.say(&failure.message).contains(words), "{failure:?}");
}

#[track_caller]
fn assert_advice(failure: &BootFailure, words: &str) {
    assert!(Language::DATA.say(&failure.advice).contains(words), "{failure:?}");
}

/// What the inspection remarks on, for people.
fn remarks(inspection: &Inspection) -> String {
    Language::DATA.say_each(&inspection.remarks).join("\n")
}

#[track_caller]
fn assert_remarks(inspection: &Inspection, parts: &[&str]) {
    let remarks = remarks(inspection);
    for part in parts {
        assert!(remarks.contains(part), "{part} is missing in: {remarks}");
    }
}

/// Why the app's settings could not be read.
#[track_caller]
fn unread(mut local: Local) -> Unusable {
    match local.inspect() {
        Err(PlaceError::Inspection(failure)) => *failure,
        other => panic!("{other:?}"),
    }
}

/// The body of a reply.
pub fn get(address: SocketAddr, path: &str) -> String {
    reply(address, path).unwrap().split_once("\r\n\r\n").unwrap().1.to_string()
}

/// All of a reply; empty when the connection ended without one.
fn reply(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    // The older version, in which no reply comes in chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}
