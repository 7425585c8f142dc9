//! The guardian: a process between us and the app server that outlives us just long enough to end
//! it.
//!
//! In: `Order`s, a line each, on standard input. Out: `Reply`s on standard output. It starts
//! the server as its own child and adopts every process that the server leaves behind. When its
//! input ends (we have died, however we died) or when it is told to, it kills all of them, takes
//! the control group and the scratch folder away, and ends. Has one thread; must not measure or
//! wait for long.

mod input;
mod launch;
mod log_file;

use crate::terms::{LimitRefusal, ProcessEnd};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use self::input::{Input, Woken};
use self::launch::{Confined, MARK, c_strings};
use self::log_file::LogFile;
use super::cgroup::{self, Group, Limits};
use super::files;
use super::leftovers::{self, Kept, Record};
use super::orders::{Order, Reply};
use super::processes::{self, Reaped};
use crate::monitor::groups::{self, ControlGroups};
use crate::server::RunAs;

/// Everything below us should be dead by then; SIGKILL takes longer only in the kernel.
const KILLING: Duration = Duration::from_secs(10);

/// Runs until standard input ends.
///
/// # Errors
/// The kernel refuses what the guardian needs for its work; nothing was started then.
pub fn run() -> io::Result<()> {
    prepare()?;
    let mut guardian = Guardian::new(launch::mark());
    let mut input = Input::open()?;
    loop {
        match input.wait(Duration::from_secs(1))? {
            Woken::Line(line) => guardian.carry_out(&line),
            Woken::End => break,
            Woken::ChildEnded => {
                guardian.reap();
            }
            Woken::Time => {}
        }
        if let Some(log) = &mut guardian.log {
            log.forget_the_old_part();
        }
    }
    guardian.end_everything();
    guardian.tidy_up();
    Ok(())
}

/// Waits for the end of the guardian whose record this is, and ends what it left, unless `parent`
/// lives and does.
///
/// # Errors
/// There is no such record.
pub fn run_after(record: &Path, parent: u32) -> io::Result<()> {
    leave_terminal();
    leftovers::end_after(record, parent)
}

/// Makes this process deaf to the terminal and the parent of every orphan below it.
fn prepare() -> io::Result<()> {
    leave_terminal();
    processes::adopt_orphans()
}

/// Makes this process deaf to the terminal, and to those who ask it to end.
fn leave_terminal() {
    extern "C" fn nothing(_: libc::c_int) {}
    // It fails only when we lead a session already, which is as good.
    let _ = rustix::process::setsid();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // A handler and not SIG_IGN: what is ignored would stay ignored in the server.
        // SAFETY: the handler does nothing, and the structure is fully initialised.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Are there children?
#[derive(PartialEq, Eq)]
enum Remaining {
    None,
    Some,
}

struct Guardian {
    /// In the environment of all that is started.
    mark: String,
    /// What is to be ended should we be killed; `None` where it cannot be written.
    record: Option<Kept>,
    scratch: Option<PathBuf>,
    group: Group,
    /// Whom all that is started belongs to; `None`: to whoever we are.
    run_as: Option<RunAs>,
    /// The processes we started, until they have ended.
    started: Vec<u32>,
    /// Where their output goes.
    log: Option<LogFile>,
    /// Where the output went last: read also once all have ended.
    last_log: Option<PathBuf>,
    /// False once nobody reads our replies any more.
    is_read: bool,
}

impl Guardian {
    /// One that has started nothing yet.
    fn new(mark: String) -> Self {
        Self {
            mark,
            record: None,
            scratch: None,
            group: Group::default(),
            run_as: None,
            started: Vec::new(),
            log: None,
            last_log: None,
            is_read: true,
        }
    }

    fn carry_out(&mut self, line: &str) {
        let reply = match serde_json::from_str(line) {
            Ok(Order::Begin { scratch_in, limits, run_as }) => {
                Some(self.begin(&scratch_in, limits, run_as))
            }
            Ok(Order::Start { command, log, cpus, nice }) => {
                Some(self.start(&command, &log, &cpus, nice))
            }
            Ok(Order::Signal { pid, signal }) => self.signal(pid, signal),
            Ok(Order::End) => {
                let left = self.end_everything();
                self.log = None;
                Some(Reply::Ended { left })
            }
            Err(error) => Some(Reply::Refused { message: format!("no such order: {error}") }),
        };
        if let Some(reply) = reply {
            self.say(&reply);
        }
    }

    fn begin(&mut self, scratch_in: &[PathBuf], limits: Limits, run_as: Option<RunAs>) -> Reply {
        if self.scratch.is_some() {
            return Reply::Refused { message: "begun already".into() };
        }
        let made = self.make_scratch(scratch_in);
        self.scratch = made.as_ref().ok().cloned();
        self.run_as = run_as;
        match made.and_then(|folder| self.give_away(&folder).map(|()| folder)) {
            Ok(folder) => {
                let own = groups::own(Path::new("/"));
                // Whoever ends what is left undoes this too, should we be killed in its midst.
                self.group.switched_on = cgroup::could_switch_on(&own, limits);
                self.note(&folder);
                self.group = usable_group(&own, limits);
                self.note(&folder);
                Reply::Begun {
                    scratch: folder,
                    group: self.group.clone(),
                    mark: self.variable(),
                    record: self.record.as_ref().map(|kept| kept.path().to_path_buf()),
                }
            }
            Err(error) => Reply::Refused { message: error.to_string() },
        }
    }

    /// `NAME=value` in the environment of all that is started.
    fn variable(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Notes what is to be ended should we be killed, as far as that can be written.
    fn note(&mut self, scratch: &Path) {
        let mut record = Record::new(self.variable(), scratch);
        record.group = self.group.clone();
        match &mut self.record {
            None => self.record = Kept::write(&record).ok(),
            Some(kept) => drop(kept.replace(&record)),
        }
    }

    /// A new folder that only we can enter, in the first of `places` that takes one; noted before
    /// it is there.
    fn make_scratch(&mut self, places: &[PathBuf]) -> io::Result<PathBuf> {
        let mut error = io::Error::from(io::ErrorKind::InvalidInput);
        for place in places {
            match self.make_scratch_in(place) {
                Ok(folder) => return Ok(folder),
                Err(why) => {
                    error = io::Error::new(why.kind(), format!("{}: {why}", place.display()));
                }
            }
        }
        Err(error)
    }

    fn make_scratch_in(&mut self, place: &Path) -> io::Result<PathBuf> {
        // With our process id: no other guardian that lives has a folder of this name. A socket's
        // path may have a hundred characters, of which a long name takes some.
        let own = std::process::id();
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let names = (0..100).map(|attempt| format!("sweetspot-{own}-{:x}", nanos % 4096 + attempt));
        for name in names {
            let folder = place.join(name);
            self.note(&folder);
            match DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| folder),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn start(
        &mut self,
        command: &crate::server::CommandLine,
        log: &Path,
        cpus: &[usize],
        nice: i32,
    ) -> Reply {
        if let Err(error) = self.write_to(log) {
            return Reply::Refused { message: format!("{}: {error}", log.display()) };
        }
        let log = self.log.as_ref().expect("it was opened above");
        let join_files = self.group.join_files();
        let confined = Confined { cpus, nice, join_files: &join_files };
        match launch::spawn(command, &self.mark, log, confined, self.run_as.as_ref()) {
            Ok(pid) => {
                self.started.push(pid);
                Reply::Started { pid }
            }
            Err(error) => not_started(&error, &command.folder, &join_files),
        }
    }

    /// What we have made is the server's user's.
    fn give_away(&self, path: &Path) -> io::Result<()> {
        match &self.run_as {
            Some(user) => lchown(path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }

    /// A log begins afresh with the first process after the last end of everything: one of a
    /// server's may have said why it cannot run, and ended, before the next is started. The log
    /// from before that end is removed then: where the folder is in memory, the logs of many
    /// servers would take it from the next, which is held to the same limit.
    fn write_to(&mut self, path: &Path) -> io::Result<()> {
        if self.log.as_ref().is_none_or(|log| log.path() != path) {
            let before = self.last_log.replace(path.to_path_buf());
            if let (None, Some(before)) = (&self.log, before) {
                // One that cannot be removed goes with the folder.
                let _ = files::remove(&before);
            }
            self.log = Some(LogFile::create(path)?);
            // Programs open /dev/stderr anew.
            self.give_away(path)?;
        }
        Ok(())
    }

    fn signal(&mut self, pid: u32, signal: i32) -> Option<Reply> {
        // Anything else may have the number of one that has ended.
        if !self.started.contains(&pid) {
            return None;
        }
        let result = processes::signal(pid, signal);
        result.err().map(|error| Reply::Refused { message: error.to_string() })
    }

    /// Takes ended children away, and tells of those that were started on an order.
    fn reap(&mut self) -> Remaining {
        loop {
            match processes::reap(None) {
                Reaped::Child { pid, status } if self.started.contains(&pid) => {
                    self.started.retain(|started| *started != pid);
                    let status = ProcessEnd::from(ExitStatus::from_raw(status));
                    self.say(&Reply::Exited { pid, status });
                }
                Reaped::Child { .. } => {}
                Reaped::StillRunning => return Remaining::Some,
                Reaped::NoChildren => return Remaining::None,
            }
        }
    }

    /// Kills everything below us until the kernel says that there is no child left; what is left
    /// after [`KILLING`] is returned.
    fn end_everything(&mut self) -> Vec<u32> {
        let deadline = Instant::now() + KILLING;
        let own = std::process::id();
        loop {
            self.group.kill();
            for process in processes::descendants(own) {
                // It may have ended meanwhile; whoever changed its user shows up in what is left.
                let _ = process.signal(libc::SIGKILL);
            }
            // Every process below us hangs on a child of ours: no child, nothing left.
            if self.reap() == Remaining::None {
                self.log = None;
                return Vec::new();
            }
            if Instant::now() >= deadline {
                return processes::descendants(own).into_iter().map(|it| it.pid).collect();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn tidy_up(&mut self) {
        // Nobody is left to tell: what cannot be removed now stays, empty and harmless.
        let _ = self.group.remove();
        if let Some(folder) = self.scratch.take() {
            let _ = fs::remove_dir_all(folder);
        }
        self.record = None;
    }

    fn say(&mut self, reply: &Reply) {
        if !self.is_read {
            return;
        }
        let line = serde_json::to_string(reply).unwrap_or_else(|error| {
            // Only a path that is no Unicode gets here.
            format!("{{\"refused\":{{\"message\":\"the reply cannot be written: {error}\"}}}}")
        });
        let mut stdout = io::stdout().lock();
        let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
        self.is_read = written.is_ok();
    }
}

/// What the operating system calls not found is the program, unless it is the app's folder, or its
/// control group.
fn not_started(error: &io::Error, folder: &Path, join_files: &[PathBuf]) -> Reply {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let mut needed = [folder].into_iter().chain(join_files.iter().map(PathBuf::as_path));
    match needed.find(|path| is_missing && !path.exists()) {
        None => Reply::NotStarted { is_missing, message: error.to_string() },
        Some(gone) => {
            let message = format!("{}: {}", gone.display(), Errno::NOENT);
            Reply::NotStarted { is_missing: false, message }
        }
    }
}

/// A control group for these limits that a process of ours has been seen to join.
fn usable_group(own: &ControlGroups, limits: Limits) -> Group {
    let group = cgroup::create(own, &cgroup::name_of(std::process::id()), limits);
    if let Err(error) = try_to_join(&group) {
        // Best effort: nobody is in it.
        let _ = group.remove();
        return Group::none(limits, &LimitRefusal::MayNotJoin { error: error.to_string() });
    }
    group
}

/// Lets a child join and end.
fn try_to_join(group: &Group) -> io::Result<()> {
    let files = c_strings(&group.join_files())?;
    // SAFETY: this process has one thread, and the child only opens, writes and ends.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code =
                launch::join(&files).err().map_or(0, |error| error.raw_os_error().unwrap_or(1));
            // SAFETY: ends the child at once, without running anything of its parent's.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: `status` outlives the call, and the child ends by itself.
            unsafe { libc::waitpid(child, &mut status, 0) };
            match ExitStatus::from_raw(status).code() {
                Some(0) => Ok(()),
                Some(code) => Err(io::Error::from_raw_os_error(code)),
                None => Err(io::Error::other("the child that tried was killed")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guardian() -> Guardian {
        let mut guardian = Guardian::new(String::new());
        guardian.is_read = false;
        guardian
    }

    #[test]
    fn only_a_program_that_is_not_there_is_missing_and_what_else_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        let of = |program: &str, name: &str| {
            let command = crate::server::CommandLine {
                arguments: vec![program.into()],
                env: Default::default(),
                env_removed: Vec::new(),
                folder: folder.path().join(name),
            };
            match guardian().start(&command, &log, &[], 0) {
                Reply::NotStarted { is_missing, message } => (is_missing, message),
                other => panic!("{other:?}"),
            }
        };
        let (is_missing, message) = of("no-such-program-at-all", "");
        assert!(is_missing && message.starts_with("no-such-program-at-all: "), "{message}");
        let (is_missing, message) = of("true", "moved-away");
        assert!(!is_missing && message.contains("/moved-away: No such file"), "{message}");
        let joined = [folder.path().join("cgroup.procs")];
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let reply = not_started(&missing, folder.path(), &joined);
        let is_named = |message: &str| message.contains("/cgroup.procs: ");
        assert!(
            matches!(&reply, Reply::NotStarted { is_missing: false, message } if is_named(message)),
            "{reply:?}"
        );
    }

    #[test]
    fn a_log_stays_until_another_begins_after_the_end_of_all_that_wrote_there() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] =
            ["1.log", "2.log", "3.log"].map(|name| folder.path().join(name));
        let mut guardian = guardian();
        guardian.write_to(&first).unwrap();
        guardian.write_to(&second).unwrap();
        assert!(first.exists() && second.exists(), "each service has its own");
        // As at the end of everything.
        guardian.log = None;
        assert!(second.exists(), "it says how that came");
        guardian.write_to(&third).unwrap();
        assert!(!second.exists() && third.exists());
        guardian.log = None;
        guardian.write_to(&third).unwrap();
        assert!(third.exists());
    }
}
