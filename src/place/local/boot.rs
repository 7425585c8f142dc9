//! From a process just started to a server that is ready, or to the reason why it is not.
//!
//! In: the process, its log, the pages to ask for. Out: why it did not start, if it did not. Sends
//! a few requests; must not end the server.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::iter;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::error::guardian_gone;
use super::link::Link;
use super::log::{self, LineCounter};
use super::orders::Reply as Said;
use super::probe::{self, Reply};
use super::processes;
use super::started::StartedProcesses;
use crate::monitor::cpu_clock_ns;
use crate::place::{PlaceError, Unusable};
use crate::server::{
    self, Adapter, App, InspectionError, Listen, ReadyLine, Recipe, Upstream, advice,
};
use crate::terms::{
    BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, Configuration, ReplyAdvice,
    Secrets, ServerEnd, SessionError, StartAdvice, Stated, StopSignal, Target,
};

/// So often log and process are looked at.
pub const LOOK: Duration = Duration::from_millis(10);

/// Time for a server that answers 502, 503 or 504 to answer better: some say so while they warm up.
const WARMING_UP: Duration = Duration::from_secs(10);

/// Time after which the processes of a server that says nothing of its workers are at rest when
/// they have used less than a tenth of a core.
const REST: Duration = Duration::from_millis(300);

/// After this it is taken as it is: some always have something to do.
const RESTLESS: Duration = Duration::from_secs(10);

/// What is waited for.
pub struct Boot<'a> {
    pub link: &'a Link,
    pub adapter: &'static dyn Adapter,
    pub app: &'a App,
    pub targets: &'a [Target],
    pub stop: &'a StopSignal,
    pub recipe: &'a Recipe,
    pub address: SocketAddr,
    pub log: &'a Path,
    /// Masked in what is shown of the log.
    pub secrets: &'a Secrets,
    pub started: Instant,
    pub patience: Duration,
    /// Told when one of them ends.
    pub processes: &'a mut StartedProcesses,
}

/// Why waiting ends before the server is ready.
enum End {
    Failed(BootFailureKind, BootEnd),
    /// The page that says that the app is there failed, and is no target.
    ReadyPageFailed(BootFailureKind, BootEnd),
    /// The user asked to end, or the guardian has ended, and the server with it.
    Over(PlaceError),
}

impl Boot<'_> {
    /// Waits until every worker has booted and the app's pages answer 2xx; `None`: they do.
    ///
    /// # Errors
    /// The user asked to end, or the guardian has ended, and the server with it.
    pub fn wait(mut self) -> Result<Option<BootFailure>, PlaceError> {
        match self.boot().and_then(|()| self.ask_for_all_pages()).and_then(|()| self.rest()) {
            Ok(()) => Ok(None),
            Err(End::Failed(kind, end)) => Ok(Some(self.failure(kind, end))),
            Err(End::ReadyPageFailed(kind, end)) => {
                Ok(Some(of_ready_page(self.failure(kind, end))))
            }
            Err(End::Over(error)) => Err(error),
        }
    }

    fn failure(&self, kind: BootFailureKind, end: BootEnd) -> BootFailure {
        let lines = log::tail(self.log, self.secrets);
        failure(self.adapter, self.app, kind, end, &lines, &self.ports())
    }

    /// Those that the server, and a proxy before it, were told to listen on.
    fn ports(&self) -> Vec<u16> {
        let behind: &[Listen] = match &self.recipe.upstream {
            Upstream::Http(places) => places,
            Upstream::FastCgi { .. } => &[],
        };
        let behind = behind.iter().filter_map(|place| match place {
            Listen::Port(port) => Some(*port),
            Listen::Socket(_) => None,
        });
        iter::once(self.address.port()).chain(behind).collect()
    }

    fn patience_s(&self) -> f64 {
        self.patience.as_secs_f64()
    }

    fn deadline(&self) -> Instant {
        self.started + self.patience
    }

    /// Until the log says that all workers are there, where a line of it does.
    fn boot(&mut self) -> Result<(), End> {
        let Recipe { ready_line, failure_line, .. } = self.recipe;
        let Some(ready) = ready_line else { return Ok(()) };
        let unreadable = |error: std::io::Error| {
            let end = BootEnd::LogUnreadable { error: error.to_string() };
            End::Failed(BootFailureKind::Exited, end)
        };
        let wanted = iter::once(ready).chain(failure_line).cloned().collect();
        let mut counter = LineCounter::open(self.log, wanted).map_err(unreadable)?;
        loop {
            let counts = counter.counts().map_err(unreadable)?;
            let booted = counts[0];
            if booted >= ready.count {
                return Ok(());
            }
            if has_failed(failure_line.as_ref(), counts) {
                return Err(End::Failed(BootFailureKind::Exited, BootEnd::WorkersEndAtOnce));
            }
            if Instant::now() >= self.deadline() {
                let (booted, of) = (booted.into(), ready.count.into());
                let end = BootEnd::TooFewBooted { booted, of, patience_s: self.patience_s() };
                return Err(End::Failed(BootFailureKind::NeverReady, end));
            }
            self.look(LOOK)?;
        }
    }

    /// Notices, within `wait`, that the server has ended or that the user wants to end.
    fn look(&mut self, wait: Duration) -> Result<(), End> {
        if self.stop.is_raised() {
            return Err(End::Over(PlaceError::Stopped));
        }
        match self.link.next_reply(wait) {
            Ok(Said::Exited { pid, status }) => self.processes.note_end(pid, &status),
            Err(RecvTimeoutError::Disconnected) => return Err(End::Over(guardian_gone())),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        match self.processes.ended() {
            None => Ok(()),
            Some(how) => Err(End::Failed(BootFailureKind::Exited, BootEnd::EndedEarly { how })),
        }
    }

    /// The page that says that the app is there, then each page that will be asked for.
    fn ask_for_all_pages(&mut self) -> Result<(), End> {
        // Sent with the headers of the first target: some apps insist on a host or on https.
        let headers = self.targets.first().map(|target| target.headers.clone()).unwrap_or_default();
        let ready = Target { headers, ..Target::get(self.app.ready_path.clone()) };
        let is_target = self.targets.iter().any(|target| target.path == ready.path);
        self.ask_until_good(&ready).map_err(|end| match end {
            End::Failed(kind, end) if !is_target => End::ReadyPageFailed(kind, end),
            end => end,
        })?;
        for target in self.targets {
            // Anything else could change the app's data.
            let is_safe = matches!(target.method.as_str(), "GET" | "HEAD");
            if is_safe && !target.is_same_request(&ready) {
                self.ask_until_good(target)?;
            }
        }
        Ok(())
    }

    /// One good reply says nothing of the other workers: where no line of the log does either, they
    /// are taken to have booted when nothing is busy any more and no process comes or goes.
    fn rest(&mut self) -> Result<(), End> {
        if self.recipe.ready_line.is_some() {
            return Ok(());
        }
        let end = (Instant::now() + RESTLESS).min(self.deadline());
        let mut before = self.processes_at_work();
        while Instant::now() < end {
            let began = Instant::now();
            while began.elapsed() < REST {
                self.look(LOOK)?;
            }
            let now = self.processes_at_work();
            if is_at_rest(&before, &now, began.elapsed()) {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// The processes of the server, and of a proxy before it, with the CPU that each has used so
    /// far, nanoseconds.
    fn processes_at_work(&self) -> BTreeMap<u32, u64> {
        let all = processes::descendants(self.link.guardian()).into_iter().map(|it| it.pid);
        all.filter_map(|pid| Some((pid, cpu_clock_ns(pid)?))).collect()
    }

    fn ask_until_good(&mut self, target: &Target) -> Result<(), End> {
        let first = Instant::now();
        // A proxy answers for a server that does not listen yet.
        let is_for_another = self.recipe.proxy.is_some() && self.recipe.ready_line.is_none();
        let left = self.deadline().saturating_duration_since(first);
        let warming_up = if is_for_another { left } else { WARMING_UP };
        loop {
            let end = match self.ask(target)? {
                Ok(reply) => match judge(&reply) {
                    None => return Ok(()),
                    Some(kind) => {
                        let may_recover = matches!(reply.status, 502..=504);
                        (!may_recover || first.elapsed() >= warming_up)
                            .then(|| (kind, answered(target, &reply, self.secrets)))
                    }
                },
                // Not listening yet, or no longer.
                Err(ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset) => None,
                Err(ErrorKind::InvalidData) => {
                    let end = BootEnd::NotHttp { target: target.to_string() };
                    Some((BootFailureKind::NotSuccess, end))
                }
                Err(_) => None,
            };
            if let Some((kind, end)) = end {
                return Err(End::Failed(kind, end));
            }
            if Instant::now() >= self.deadline() {
                let (target, patience_s) = (target.to_string(), self.patience_s());
                let end = BootEnd::NotAnswered { target, patience_s };
                return Err(End::Failed(BootFailureKind::NeverReady, end));
            }
            self.look(LOOK)?;
        }
    }

    /// The outer error ends waiting, the inner one is that of this attempt.
    fn ask(&mut self, target: &Target) -> Result<Result<Reply, ErrorKind>, End> {
        let mut end = None;
        let (address, deadline) = (self.address, self.deadline());
        let reply =
            probe::ask(address, target, deadline, &mut || match self.look(Duration::ZERO) {
                Ok(()) => ControlFlow::Continue(()),
                Err(why) => {
                    end = Some(why);
                    ControlFlow::Break(())
                }
            });
        end.map_or_else(|| Ok(reply.map_err(|error| error.kind())), Err)
    }
}

/// Does a line of the log say that it won't come up? `counts`: of the line that says that a worker
/// is ready, then of this one.
fn has_failed(failure: Option<&ReadyLine>, counts: &[u16]) -> bool {
    failure.zip(counts.get(1)).is_some_and(|(line, count)| *count >= line.count)
}

/// Between two looks the processes stayed the same, and used little.
fn is_at_rest(before: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>, time: Duration) -> bool {
    let used: u64 = now.values().sum::<u64>().saturating_sub(before.values().sum());
    before.keys().eq(now.keys()) && u128::from(used) * 10 < time.as_nanos()
}

/// A failed start as it is reported. `ports`: those that the server was told to listen on.
pub fn failure(
    adapter: &dyn Adapter,
    app: &App,
    kind: BootFailureKind,
    end: BootEnd,
    log: &[String],
    ports: &[u16],
) -> BootFailure {
    let seen = seen(adapter, kind, log);
    let taken = seen.filter(|kind| *kind == BootFailureKind::PortTaken);
    let other_port = taken.and_then(|_| server::other_port_taken(adapter.about(), log, ports));
    // With another one of ours the app would meet the same.
    let seen = seen.filter(|_| other_port.is_none());
    let kind = seen.unwrap_or(kind);
    let is_gone = app.command.is_some()
        && kind == BootFailureKind::Exited
        && matches!(&end, BootEnd::EndedEarly { how: ServerEnd::ProcessEnded { how } }
            if how.is_success());
    let way_out = match other_port {
        Some(port) => BootAdvice::Start(StartAdvice::FreeOwnPort { port }),
        None if is_gone => BootAdvice::Start(StartAdvice::RunInForeground),
        None => advice::for_failure(app, adapter.about(), kind),
    };
    BootFailure {
        kind,
        message: BootCause::NotReady { seen, end, connections_for: None }.into(),
        advice: way_out.into(),
        last_lines: log::worth_showing(log),
    }
}

/// A failure of the page that says that the app is there, where that is no target: to name another
/// target would change nothing.
pub fn of_ready_page(failure: BootFailure) -> BootFailure {
    use BootFailureKind::{NotFound, NotSuccess, Redirected};
    if !matches!(failure.kind, NotFound | NotSuccess | Redirected) {
        return failure;
    }
    BootFailure { advice: BootAdvice::Reply(ReplyAdvice::NameReadyPage).into(), ..failure }
}

/// Settings that cannot be read, with what the log shows of the reason.
pub fn unread(
    adapter: &dyn Adapter,
    app: &App,
    InspectionError { kind, why }: InspectionError,
    log: &[String],
) -> Unusable {
    let kind = seen(adapter, kind, log).unwrap_or(kind);
    let said: Vec<String> = log.iter().filter(|line| !server::is_report(line)).cloned().collect();
    Unusable {
        kind,
        why: SessionError::SettingsNotRead { why },
        advice: advice::for_failure(app, adapter.about(), kind),
        last_lines: log::worth_showing(&said),
    }
}

/// The cause that the log shows, which says more than the way it ended does. Some show in the
/// first page only, such as a database without tables. One that is still waited for may have got
/// over all but a server that kills its workers.
fn seen(adapter: &dyn Adapter, kind: BootFailureKind, log: &[String]) -> Option<BootFailureKind> {
    use BootFailureKind::{Exited, NeverReady, ServerError, WorkerTimeout};
    let seen = server::recognise_failure(adapter, log);
    let says_more = match kind {
        Exited | ServerError => seen != Exited,
        NeverReady => seen == WorkerTimeout,
        _ => false,
    };
    says_more.then_some(seen)
}

/// Where a database had too few connections: for which setting.
pub fn with_connections_needed(
    mut failure: BootFailure,
    configuration: Configuration,
) -> BootFailure {
    if failure.kind == BootFailureKind::TooManyConnections
        && let Stated::Fact(BootCause::NotReady { connections_for, .. }) = &mut failure.message
    {
        *connections_for = Some(configuration);
    }
    failure
}

/// A server that has come up without what was changed, because a part of it could not be had: to
/// measure it would say that the change does nothing.
pub fn ignored(app: &App, log: &Path, secrets: &Secrets) -> Option<BootFailure> {
    if app.changed.env.is_empty() {
        return None;
    }
    let lines = log::tail(log, secrets);
    let line = server::ignored(&lines)?;
    Some(BootFailure {
        kind: BootFailureKind::Exited,
        message: BootCause::RunsUnchanged { line: line.clone() }.into(),
        advice: BootAdvice::Start(StartAdvice::InstallNamed).into(),
        last_lines: vec![line.clone()],
    })
}

/// What is wrong with a reply; `None` when nothing is.
fn judge(reply: &Reply) -> Option<BootFailureKind> {
    let leads_to_https = reply
        .location
        .as_ref()
        .is_some_and(|place| place.to_ascii_lowercase().starts_with("https://"));
    match kind_of_status(reply.status) {
        Some(BootFailureKind::Redirected) if leads_to_https => Some(BootFailureKind::ForcedSsl),
        kind => kind,
    }
}

/// What is wrong with a reply of this status; `None` when nothing is.
pub fn kind_of_status(status: u16) -> Option<BootFailureKind> {
    Some(match status {
        200..=299 => return None,
        301 | 302 | 303 | 307 | 308 => BootFailureKind::Redirected,
        401 => BootFailureKind::Unauthorized,
        403 => BootFailureKind::Forbidden,
        404 => BootFailureKind::NotFound,
        429 => BootFailureKind::RateLimited,
        500..=599 => BootFailureKind::ServerError,
        _ => BootFailureKind::NotSuccess,
    })
}

fn answered(target: &Target, reply: &Reply, secrets: &Secrets) -> BootEnd {
    // A query can carry secrets, such as the page to return to.
    let place = reply.location.as_ref().and_then(|place| place.split(['?', '#']).next());
    let leads_to = place.map(|place| secrets.mask(place));
    BootEnd::NotGood { target: target.to_string(), status: reply.status, leads_to }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::ProcessEnd;

    #[test]
    fn each_reply_that_is_not_2xx_has_its_cause() {
        use BootFailureKind::*;
        for (status, location, expected) in [
            (204, None, None),
            (301, Some("https://127.0.0.1/"), Some(ForcedSsl)),
            (302, Some("/login?return=/"), Some(Redirected)),
            (302, None, Some(Redirected)),
            (401, None, Some(Unauthorized)),
            (403, None, Some(Forbidden)),
            (404, None, Some(NotFound)),
            (418, None, Some(NotSuccess)),
            (429, None, Some(RateLimited)),
            (503, None, Some(ServerError)),
        ] {
            let reply = Reply { status, location: location.map(ToString::to_string) };
            assert_eq!(judge(&reply), expected, "{status} {location:?}");
        }
    }

    /// It prints as many lines as are counted at all.
    #[test]
    fn who_prints_much_before_it_is_ready_has_failed_only_where_a_line_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        std::fs::write(&log, "Puma starting\n".repeat(usize::from(u16::MAX))).unwrap();
        let line = |text: &str, count: u16| ReadyLine { contains: vec![text.into()], count };
        let of = |failure: Option<ReadyLine>| {
            let wanted = iter::once(line("Listening on", 1)).chain(failure.clone()).collect();
            let mut counter = LineCounter::open(&log, wanted).unwrap();
            let counts = counter.counts().unwrap();
            (counts[0], has_failed(failure.as_ref(), counts))
        };
        assert_eq!(of(None), (0, false));
        assert_eq!(of(Some(line("Worker failed to boot", 3))), (0, false));
        assert_eq!(of(Some(line("starting", 3))), (0, true));
    }

    #[test]
    fn processes_are_at_rest_when_none_comes_or_goes_and_little_is_used() {
        let ms = |ms: u64| ms * 1_000_000;
        let time = Duration::from_millis(300);
        let before = BTreeMap::from([(7, ms(100)), (8, ms(100))]);
        for (now, expected) in [
            (vec![(7, ms(100)), (8, ms(120))], true),
            (vec![(7, ms(120)), (8, ms(120))], false),
            (vec![(7, ms(100))], false),
            (vec![(7, ms(100)), (9, ms(0))], false),
        ] {
            assert_eq!(is_at_rest(&before, &now.iter().copied().collect(), time), expected);
        }
    }

    #[test]
    fn who_waits_for_a_worker_that_its_server_kills_is_told_which_setting_does_so() {
        use BootFailureKind::*;
        let adapter = server::find("puma").unwrap();
        let app = App::new("/srv/shop", server::Framework::Rack, "config.ru");
        let late = "! Terminating timed out worker (Worker 0 failed to boot within 60 seconds): 7";
        for (said, kind, expected) in [
            (late, NeverReady, WorkerTimeout),
            (late, NotFound, NotFound),
            ("Address already in use", NeverReady, NeverReady),
            ("Address already in use", Exited, PortTaken),
        ] {
            let end = BootEnd::TooFewBooted { booted: 0, of: 2, patience_s: 180.0 };
            let failure = failure(adapter, &app, kind, end, &[said.to_string()], &[]);
            assert_eq!(failure.kind, expected, "{said}");
            if expected == WorkerTimeout {
                let setting = "worker_boot_timeout".to_string();
                let advice = BootAdvice::Start(StartAdvice::RaiseWorkerTimeout { setting });
                assert_eq!(failure.advice, advice.into());
            }
        }
    }

    #[test]
    fn a_port_of_the_apps_own_that_is_taken_is_named_and_is_not_that_of_the_server() {
        let adapter = server::find("puma").unwrap();
        let app = App::new("/srv/shop", server::Framework::Rack, "config.ru");
        let taken = |port: u16| {
            let line = format!("Address already in use - bind(2) for 127.0.0.1:{port}");
            let end = BootEnd::WorkersEndAtOnce;
            failure(adapter, &app, BootFailureKind::Exited, end, &[line], &[4000])
        };
        assert_eq!(taken(4000).kind, BootFailureKind::PortTaken);
        let own = taken(9394);
        assert_eq!(own.kind, BootFailureKind::Exited, "it is not tried again");
        let advice = BootAdvice::Start(StartAdvice::FreeOwnPort { port: 9394 });
        assert_eq!(own.advice, advice.into());
    }

    #[test]
    fn a_command_that_ends_at_once_and_well_has_left_its_server_in_the_background() {
        use crate::server::command::{CommandTemplate, Runs};
        let command = CommandTemplate {
            text: "serve -d {port}".into(),
            words: vec!["serve".into(), "-d".into(), "{port}".into()],
            stop_signal: 15,
            today: Configuration::new(1, 1).unwrap(),
            runs: Runs::Server,
        };
        let app =
            App { command: Some(command), ..App::new("/srv/shop", server::Framework::Other, "") };
        let advice = |status: i32| {
            let how = ServerEnd::ProcessEnded { how: ProcessEnd::ExitStatus(status) };
            let end = BootEnd::EndedEarly { how };
            let adapter = server::FOR_COMMANDS;
            failure(adapter, &app, BootFailureKind::Exited, end, &[], &[4000]).advice
        };
        assert_eq!(advice(0), BootAdvice::Start(StartAdvice::RunInForeground).into());
        assert_eq!(advice(1), BootAdvice::Start(StartAdvice::MendApp).into());
    }

    #[test]
    fn only_where_the_page_that_failed_is_no_target_another_ready_page_helps() {
        let adapter = server::find("puma").unwrap();
        let app = App::new("/srv/shop", server::Framework::Rack, "config.ru");
        let of = |kind, status| {
            let end = BootEnd::NotGood { target: "GET /up".into(), status, leads_to: None };
            failure(adapter, &app, kind, end, &[], &[4000])
        };
        let missing = of(BootFailureKind::NotFound, 404);
        let advice = BootAdvice::Reply(ReplyAdvice::NameExistingPage { list: None });
        assert_eq!(missing.advice, advice.into());
        let advice = BootAdvice::Reply(ReplyAdvice::NameReadyPage);
        assert_eq!(of_ready_page(missing).advice, advice.into());
        let broken = of(BootFailureKind::ServerError, 500);
        assert_eq!(of_ready_page(broken.clone()), broken);
    }

    #[test]
    fn a_redirect_is_named_without_its_query_and_what_is_secret() {
        let reply = Reply { status: 302, location: Some("/in/s3cret-pw?token=secret".into()) };
        let secrets = Secrets::default().with_values(["s3cret-pw"]);
        let end = answered(&Target::get("/items?key=secret"), &reply, &secrets);
        let (target, leads_to) = ("GET /items?…".into(), Some("/in/[hidden]".into()));
        assert_eq!(end, BootEnd::NotGood { target, status: 302, leads_to });
    }
}
