//! An app that runs elsewhere, in whatever way, as a place for trials: a command of the user's
//! gives it each setting, another puts it back, and the load goes to its address from here.
//!
//! In: the commands, and where the app answers; then configurations and offers. Out: what was seen.
//! Must not judge it, and knows no platform.

mod answered;
mod away;
mod command;
mod host;
mod note;
mod put_back;
mod recorded;
mod settings;
mod shell;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use self::answered::{Answered, Waiting, in_its_words, way_out};
use self::away::Away;
pub use self::command::answer;
use self::command::{Order, Ran};
use self::note::{Note, NoteError, Written};
pub use self::put_back::{PutBack, restore};
use self::put_back::{in_words, put_back};
use self::recorded::Records;
pub use self::recorded::{AskMinutes, Unread};
pub use self::settings::{Destination, Occasion, Ours, RemoteSettings, Tell, boot_patience};
use self::shell::Shell;
use super::local::{kind_of_status, log::worth_showing, loops, of_ready_page, told_apart};
use super::minutes::Measured;
use super::watching;
use super::{Observed, Offer, Place, PlaceError, Started};
use crate::files::{make_folder_of, replace};
pub use crate::fleet::{FOLDER as FILES_OF_HOST, ForHosts, Host, OnLoss};
use crate::load::shape::{Part, Shape};
use crate::load::{self, Closing, Length, LoadSpec, Placement, Protocol};
use crate::monitor::host::wall_clock_s;
use crate::server::{self, App, FOR_COMMANDS, Inspection, advice};
use crate::terms::{
    BlindSpot, BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, CommandRemark,
    Configuration, LiveSecond, LoadDoubt, LoadRecord, Machine, MachineDoubt, ProcessEnd, Remark,
    StopRequest, StopSignal, Target, Task, TlsTrouble, Variant, Warning,
};

/// The exit status by which a command that applies a setting says that the session cannot go on,
/// whatever setting is tried next: that of what may be done again later, as sysexits.h has it.
pub const ENDS_SESSION: u8 = 75;

/// The exit status by which a command of ours says that this setting cannot be had.
const FAILS_SETTING: i32 = 1;

/// Between two questions whether it is ready.
const AGAIN: Duration = Duration::from_millis(500);

/// One such question.
const TO_ANSWER: Duration = Duration::from_secs(10);

/// To say whether the app still runs with what was applied.
const TO_CHECK: Duration = Duration::from_secs(300);

/// Has the names of the variables that a command is given.
const VARIABLES: &str = "SWEETSPOT_VARIABLES";
/// Before the name of each, that of the variable with its value.
const VALUE: &str = "SWEETSPOT_VALUE_";

/// Has the seconds that are left to a command which applies a setting, and to what comes after it.
const WITHIN: &str = "SWEETSPOT_WITHIN_S";

/// Has the release of the app that is measured, where its platform said it.
const RELEASE: &str = "SWEETSPOT_RELEASE";

/// An app elsewhere as a place for trials.
pub struct Remote {
    settings: RemoteSettings,
    stop: StopSignal,
    /// It may be another than it was, from before the first change on.
    changed: Option<Note>,
    running: Option<Running>,
    /// Sends the loads, where another host does.
    away: Option<Away>,
    /// What its platform recorded of it; `None`: it does not.
    records: Option<Records>,
    /// Cores of the machine that it runs on; `None`: nobody could look.
    processors: Option<u32>,
    born: Instant,
}

/// The app with a setting of ours.
struct Running {
    configuration: Configuration,
    shell: Option<Shell>,
}

impl Remote {
    /// Nothing is changed before the first start. Where a shell can be had there, it is asked what
    /// the app runs on.
    ///
    /// # Errors
    /// Another session changes the app, or has left it changed.
    pub fn new(mut settings: RemoteSettings, stop: StopSignal) -> Result<Self, PlaceError> {
        note::check(&note::beside(&settings.store)).map_err(in_words)?;
        settings.files.iter().try_for_each(write).map_err(in_words)?;
        let seen = settings.observe.as_ref().map(|observe| host::look(observe, &stop));
        let seen = seen.unwrap_or_default();
        let Machine { cpu_model, kernel, .. } = &mut settings.machine;
        seen.cpu_model.into_iter().for_each(|it| *cpu_model = it);
        seen.kernel.into_iter().for_each(|it| *kernel = it);
        let records = settings.ask_minutes.take().map(Records::new);
        let away = settings.from.take().map(Away::new);
        Ok(Self {
            settings,
            stop,
            changed: None,
            running: None,
            away,
            records,
            processors: seen.processors,
            born: Instant::now(),
        })
    }

    /// Has the app run with a setting. The inner error: it could not be had to.
    fn apply(
        &self,
        configuration: Configuration,
        env: &BTreeMap<String, String>,
        deadline: Instant,
    ) -> Result<Result<(), BootFailure>, PlaceError> {
        let text = server::command::with_numbers(&self.settings.apply, configuration);
        let ran = self.run(&text, env, deadline)?;
        if ran.is_success() {
            return Ok(Ok(()));
        }
        // Ended in the middle of it, it says nothing.
        if self.stop.requested() == StopRequest::Now {
            return Err(PlaceError::Stopped);
        }
        if !is_of_setting(ran.end.as_ref(), self.settings.ours.is_some()) {
            return Err(self.over(&ran));
        }
        let end = BootEnd::NotApplied { how: ran.end };
        Ok(Err(self.failure(BootFailureKind::Exited, end, &ran.lines)))
    }

    /// Whether what was measured is what was applied; where nobody can tell, it is taken to be.
    fn check(&self) -> Result<(), PlaceError> {
        let Some(ours) = &self.settings.ours else { return Ok(()) };
        let ran = self.run(&ours.check, &BTreeMap::new(), Instant::now() + TO_CHECK)?;
        // Ended in the middle of it, it says nothing.
        match ran.is_success() || self.stop.requested() == StopRequest::Now {
            true => Ok(()),
            false => Err(self.over(&ran)),
        }
    }

    /// The session cannot go on, in the words of the command that says so.
    fn over(&self, ran: &Ran) -> PlaceError {
        let mut lines = self.settings.secrets.mask_lines(&ran.lines);
        // Cut off, it did not come to say all.
        if lines.is_empty() || !matches!(ran.end, Some(ProcessEnd::ExitStatus(_))) {
            lines.push(ran.end_in_words());
        }
        let (url, said) = (&self.settings.to.url, lines.join("\n"));
        PlaceError::Elsewhere(format!("the app at {url} cannot be measured any further: {said}"))
    }

    /// Waits until the user's own command says that the app is ready, and then until it answers.
    fn await_ready(
        &mut self,
        configuration: Configuration,
        env: &BTreeMap<String, String>,
        deadline: Instant,
    ) -> Result<Result<(), BootFailure>, PlaceError> {
        if let Some(text) = self.settings.ready.clone() {
            let text = server::command::with_numbers(&text, configuration);
            loop {
                let ran = self.run(&text, env, deadline)?;
                if ran.is_success() {
                    break;
                }
                if Instant::now() + AGAIN >= deadline {
                    let end = BootEnd::NotSaidReady { how: ran.end };
                    return Ok(Err(self.failure(BootFailureKind::NeverReady, end, &ran.lines)));
                }
                self.pause()?;
            }
        }
        self.await_answer(deadline)
    }

    /// Waits until the app answers 2xx, at whatever address it has by then.
    fn await_answer(&mut self, deadline: Instant) -> Result<Result<(), BootFailure>, PlaceError> {
        let target = self.ready_target();
        let mut waiting = Waiting::until(deadline);
        loop {
            if let Some(found) = (self.settings.look_up)() {
                self.settings.to.addresses = found;
            }
            let answered = self.ask(&target)?;
            if waiting.is_over(&answered, Instant::now()) {
                return Ok(self.unready(answered, target.to_string()).map_or(Ok(()), Err));
            }
            self.pause()?;
        }
    }

    /// What this answer says of an app of which no better one is waited for; `None`: it is ready.
    fn unready(&self, answered: Answered, target: String) -> Option<BootFailure> {
        let (kind, end, lines) = match answered {
            Answered::Good => return None,
            Answered::Badly(status) => {
                let kind = kind_of_status(status).unwrap_or(BootFailureKind::NotSuccess);
                (kind, BootEnd::NotGood { target, status, leads_to: None }, Vec::new())
            }
            // More time would not help, nor would another page.
            Answered::Not(Some(TlsTrouble::Certificate { fault, why })) => {
                let end = BootEnd::CertificateRefused { target, fault };
                let failure = self.failure(BootFailureKind::NotSuccess, end, &[why]);
                let advice = BootAdvice::Start(way_out(fault)).into();
                return Some(BootFailure { advice, ..failure });
            }
            Answered::Not(trouble) => {
                let patience_s = self.settings.boot_patience.as_secs_f64();
                let end = BootEnd::NotAnswered { target, patience_s };
                (BootFailureKind::NeverReady, end, in_its_words(trouble))
            }
        };
        let failure = self.failure(kind, end, &lines);
        let asked = &self.settings.app.ready_path;
        let is_target = self.settings.targets.iter().any(|target| target.path == *asked);
        Some(if is_target { failure } else { of_ready_page(failure) })
    }

    /// Sent with the headers of the first target: some apps insist on a host.
    fn ready_target(&self) -> Target {
        let first = self.settings.targets.first();
        let headers = first.map(|target| target.headers.clone()).unwrap_or_default();
        Target { headers, ..Target::get(self.settings.app.ready_path.clone()) }
    }

    /// One request.
    fn ask(&self, target: &Target) -> Result<Answered, PlaceError> {
        let spec = LoadSpec {
            targets: vec![target.clone()],
            shape: Shape::Clients { clients: 1, think: Duration::ZERO },
            length: Length::Requests(1),
            timeout: TO_ANSWER,
            loops: 1,
            ..self.spec()
        };
        let record = load::run(&spec, &self.stop, &mut |_| ControlFlow::Continue(()))?;
        Ok(Answered::of(&record))
    }

    fn pause(&self) -> Result<(), PlaceError> {
        if self.stop.is_raised() {
            return Err(PlaceError::Stopped);
        }
        thread::sleep(AGAIN);
        Ok(())
    }

    fn run(
        &self,
        text: &str,
        env: &BTreeMap<String, String>,
        deadline: Instant,
    ) -> Result<Ran, PlaceError> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let mut env = env.clone();
        env.insert(WITHIN.to_string(), patience.as_secs().to_string());
        env.extend(self.settings.release.iter().map(|it| (RELEASE.to_string(), it.clone())));
        let tell = |line: &str| self.tell(Occasion::Measuring, line);
        let order = Order {
            text,
            env: &env,
            input: "",
            patience,
            known_by: self.changed.as_ref().map(Note::command),
            tell: self.settings.ours.is_some().then_some(&tell as &dyn Fn(&str)),
        };
        command::run(&order, &self.stop).map_err(no_shell)
    }

    /// What a command of ours says meanwhile.
    fn tell(&self, occasion: Occasion, line: &str) {
        let Some(ours) = &self.settings.ours else { return };
        let line = self.settings.secrets.mask_lines(&[line.to_string()]).concat();
        (ours.tell)(occasion, &line);
    }

    fn failure(&self, kind: BootFailureKind, end: BootEnd, lines: &[String]) -> BootFailure {
        let lines = self.settings.secrets.mask_lines(lines);
        BootFailure {
            kind,
            message: BootCause::NotReady { seen: None, end, connections_for: None }.into(),
            advice: advice::for_failure(&self.settings.app, FOR_COMMANDS.about(), kind).into(),
            last_lines: worth_showing(&lines),
        }
    }

    /// The app runs on this machine.
    fn is_here(&self) -> bool {
        self.settings.to.addresses.iter().all(|address| host::is_this(address.ip()))
    }

    /// What sends the loads has no core of its own beside the app's.
    fn shares_cores(&self) -> bool {
        let addresses = &self.settings.to.addresses;
        self.away.as_ref().map_or_else(|| self.is_here(), |away| away.is_at(addresses))
    }

    /// Why nothing is seen of what the app uses, where no shell looks at it.
    fn unseen(&self) -> BlindSpot {
        match &self.settings.observe {
            Some(_) => BlindSpot::NothingWatched,
            None => BlindSpot::NoShellGiven { has_platform: self.records.is_some() },
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        let Configuration { workers, threads } = self.settings.least;
        let (workers, threads) = (workers.get(), threads.get());
        let unknown = CommandRemark::TodayUnknown { workers, threads }.into();
        self.settings.today.is_none().then_some(unknown).into_iter().collect()
    }

    /// Sends one load, from here or from another host: again where the generator there was lost.
    /// Also when it began.
    fn send(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<(LoadRecord, Instant), PlaceError> {
        let spec = LoadSpec {
            shape: offer.offered.into(),
            warm_up: offer.warm_up,
            length: Length::Duration(offer.duration),
            connection: offer.connection.unwrap_or(self.settings.connection),
            seed: offer.seed,
            ..self.spec()
        };
        let mut losses = 0;
        loop {
            let asked = Instant::now();
            let mut told = None;
            let mut seen = |second: &LiveSecond| {
                told = Some(away::began(asked, told, second, Instant::now()));
                watch(second)
            };
            let sent = match &mut self.away {
                None => Ok(load::run(&spec, &self.stop, &mut seen)?),
                Some(away) => away.send((offer, spec.connection), &self.stop, &mut seen)?,
            };
            match sent {
                Ok(load) => return Ok((load, told.unwrap_or(asked))),
                Err(lost) if losses == away::REPEATS => return Err(lost),
                Err(_) => losses += 1,
            }
        }
    }

    /// What all loads have in common.
    fn spec(&self) -> LoadSpec {
        let RemoteSettings { to, targets, connection, timeout, .. } = &self.settings;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        LoadSpec {
            address: load::Address::Tcp(to.addresses.clone()),
            host: to.host.clone(),
            targets: targets.clone(),
            variables: None,
            keeps_cookies: false,
            shape: Shape::Clients { clients: 1, think: Duration::ZERO },
            warm_up: Duration::ZERO,
            length: Length::Requests(1),
            connection: *connection,
            tls: to.tls.clone(),
            timeout: *timeout,
            max_in_flight: None,
            closing: Closing::default(),
            records_each_target: told_apart(targets),
            keeps_rows: false,
            protocol: Protocol::Http1,
            part: Part::WHOLE,
            loops: loops(cores),
            seed: 1,
            // Where it shares the app's cores it would else measure its own waiting.
            placement: Placement { raised_priority: self.is_here(), ..Placement::default() },
        }
    }
}

impl Place for Remote {
    fn machine(&self) -> &Machine {
        &self.settings.machine
    }

    /// Without the time in which a platform was asked what it recorded: nothing is measured then,
    /// and no budget is to pay for it.
    fn elapsed(&self) -> Duration {
        let taken = self.records.as_ref().map_or(Duration::ZERO, Records::taken);
        self.born.elapsed().saturating_sub(taken)
    }

    fn warnings(&self) -> Vec<Warning> {
        let cores = self.settings.machine.cores.get();
        let shared = MachineDoubt::GeneratorSharesCores { cores };
        let there = self.processors.map(f64::from).filter(|there| *there < cores);
        let fewer =
            there.map(|usable_cores| MachineDoubt::FewerCores { asked_cores: cores, usable_cores });
        let shared = self.shares_cores().then_some(shared);
        shared.into_iter().chain(fewer).map(Warning::from).collect()
    }

    fn noticed(&self) -> Vec<Warning> {
        let Some(said) = self.records.as_ref().and_then(Records::unread) else { return Vec::new() };
        let lines: Vec<String> = said.lines().map(str::to_string).collect();
        let said = self.settings.secrets.mask_lines(&lines).join("; ");
        vec![LoadDoubt::MetricsUnread { said }.into()]
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        Ok(Inspection {
            server_version: self.settings.to.url.clone(),
            remarks: self.remarks(),
            ..Inspection::of(self.settings.today.unwrap_or(self.settings.least))
        })
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.running = None;
        if self.changed.is_none() {
            let (url, restore) = (self.settings.to.url.clone(), self.settings.restore.clone());
            let note = note::beside(&self.settings.store);
            let folder = std::env::current_dir().ok();
            let folder = folder.and_then(|it| it.to_str().map(str::to_string));
            let note = Note::write(&note, &Written { url, restore, folder });
            self.changed = Some(note.map_err(in_words)?);
        }
        let app = self.settings.app.with_changes(variant.of_list(&self.settings.changes));
        let env = environment(&app, configuration, !self.settings.hands_on);
        let began = Instant::now();
        let deadline = began + self.settings.boot_patience;
        let ready = match self.apply(configuration, &env, deadline)? {
            Ok(()) => self.await_ready(configuration, &env, deadline)?,
            failed => failed,
        };
        // Ended in the middle of it, it is no result.
        match ready {
            _ if self.stop.requested() == StopRequest::Now => Err(PlaceError::Stopped),
            Err(failure) => Ok(Started::Failed(failure)),
            Ok(()) => {
                let boot = began.elapsed();
                self.running = Some(Running { configuration, shell: None });
                self.records.iter_mut().for_each(Records::start);
                Ok(Started::Ready { boot })
            }
        }
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        assert_eq!(offer.pods_away, 0, "what runs there is not cut into pods by us");
        let cores = self.settings.machine.cores.get();
        let running = self.running.as_mut().expect("a load is offered to an app that was started");
        let is_over = running.shell.as_ref().is_none_or(Shell::is_over);
        if let (Some(observe), true) = (&self.settings.observe, is_over) {
            // Where none can be had nothing is seen, as the record says.
            running.shell = Shell::begin(observe, running.configuration, cores).ok();
        }
        let (load, origin) = self.send(offer, watch)?;
        let origin_s = wall_clock_s() - origin.elapsed().as_secs_f64();
        let shell = self.running.as_ref().and_then(|running| running.shell.as_ref());
        let secrets = &self.settings.secrets;
        let nothing = || watching::nothing(self.unseen());
        let mut monitor = shell.map_or_else(nothing, |shell| shell.record(origin, secrets));
        self.check()?;
        if monitor.seconds.is_empty()
            && let Some(mut records) = self.records.take()
        {
            let measured = Measured::of(origin_s, &load.run);
            let tell = |line: &str| self.tell(Occasion::Measuring, line);
            records.add(&mut monitor, (measured, cores), &self.stop, &tell);
            self.records = Some(records);
        }
        Ok(Observed { load, monitor, failure: None })
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        self.running = None;
        let Some(note) = self.changed.take() else { return Ok(()) };
        let restore = (&*self.settings.restore, &BTreeMap::new());
        let tell = |line: &str| self.tell(Occasion::PuttingBack, line);
        let tell = self.settings.ours.is_some().then_some(&tell as &dyn Fn(&str));
        put_back(note, restore, &self.stop, tell).map(drop).map_err(|lines| {
            let said = self.settings.secrets.mask_lines(&lines).join("\n");
            PlaceError::Elsewhere(format!(
                "the app at {} could not be put back; do it with 'sweetspot restore{}'\n{said}",
                self.settings.to.url,
                note::of_store(&note::beside(&self.settings.store))
            ))
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // What could not be put back stands in the note.
        let _ = self.stop();
    }
}

/// Whether it is the setting's doing that a command, which ended so, did not apply it. One of ours
/// that was killed, or did not end in time (`None`), has waited for its platform in vain: that says
/// nothing of the setting. One of the user's has a status of its own for that.
fn is_of_setting(end: Option<&ProcessEnd>, is_ours: bool) -> bool {
    let has = |status: i32| end == Some(&ProcessEnd::ExitStatus(status));
    match is_ours {
        true => has(FAILS_SETTING),
        false => !has(ENDS_SESSION.into()),
    }
}

/// The variables of a setting, for commands that have to hand them on: each under a name of its
/// own, so that it changes nothing of the command itself, and all names in one more. `sets_them`:
/// also under their own names.
fn environment(
    app: &App,
    configuration: Configuration,
    sets_them: bool,
) -> BTreeMap<String, String> {
    let all = server::command::environment(app, configuration);
    let names = all.keys().map(String::as_str).collect::<Vec<_>>().join(",");
    let value = |(name, value): (&String, &String)| (format!("{VALUE}{name}"), value.clone());
    let mut env: BTreeMap<String, String> = all.iter().map(value).collect();
    env.insert(VARIABLES.to_string(), names);
    if sets_them {
        env.extend(all);
    }
    env
}

/// What a command of ours was given in this way: names and values. `value`: that of a variable.
pub fn given(value: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let names = value(VARIABLES).unwrap_or_default();
    let one = |name: &str| Some((name.to_string(), value(&format!("{VALUE}{name}"))?));
    names.split(',').filter_map(one).collect()
}

/// The time that is left to a command of ours which applies a setting; `None`: nobody says so.
/// `value`: that of a variable.
pub fn given_time(value: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    value(WITHIN)?.parse().ok().map(Duration::from_secs)
}

/// Writes a file of the commands'; its folder is made.
fn write((path, text): &(PathBuf, String)) -> Result<(), NoteError> {
    let failed = |source| NoteError::File { path: path.clone(), source };
    make_folder_of(path).and_then(|()| replace(path, text.as_bytes())).map_err(failed)
}

fn no_shell(source: std::io::Error) -> PlaceError {
    PlaceError::Environment { what: Task::StartShell, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_by_its_end_whether_the_setting_cannot_be_had_or_the_session_not_go_on() {
        for (end, of_ours, of_theirs) in [
            (Some(ProcessEnd::ExitStatus(1)), true, true),
            (Some(ProcessEnd::ExitStatus(ENDS_SESSION.into())), false, false),
            (Some(ProcessEnd::ExitStatus(127)), false, true),
            (Some(ProcessEnd::Signal(9)), false, true),
            (None, false, true),
        ] {
            let is_of_setting = |is_ours| is_of_setting(end.as_ref(), is_ours);
            assert_eq!(
                (is_of_setting(true), is_of_setting(false)),
                (of_ours, of_theirs),
                "{end:?}"
            );
        }
    }
}
