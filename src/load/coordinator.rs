//! Starts the loops, adds up what they report, hands it to the callbacks and passes on when to end.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::Duration;

use rustix::net::SocketAddrUnix;

use super::clock::Clock;
use super::dialer::Dialer;
use super::error::LoadError;
use super::event_loop::{EventLoop, LoopReport};
use super::http2::Http2Request;
use super::recorder::ClockSecond;
use super::request::{Request, Values};
use super::setup::{Common, Http2Setup, LoopMessage, LoopSetup, Shutdown, ShutdownFlag};
use super::shape::{Nanos, Part, Shape, Span};
use super::socket::Remote;
use super::source::{Limit, Source};
use super::spec::{Address, Length, LoadSpec, Placement, Protocol};
use super::thread::{configure, free_descriptors, rss_bytes_max};
use crate::terms::{
    ConnectionMode, GeneratorPart, GeneratorUse, Latencies, LiveSecond, LoadRecord, LoadRun,
    LoadSecond, Phase, Rate, RequestRow, StopRequest, StopSignal,
};

/// How often the stop signal is looked at.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Messages that may wait for a slow watcher.
const LONGEST_QUEUE: usize = 4096;

/// Descriptors left alone for whatever else the process does meanwhile.
const SPARE_DESCRIPTORS: u64 = 32;

/// No loop sends more, and one that was asked to would never get to anything else.
const MOST_PER_SECOND: f64 = 1e6;

/// Most used-up connections of a loop that wait for the server to close them first.
const MOST_LINGERING: u64 = 256;

/// What is called while a load runs.
pub struct Callbacks<'a> {
    /// About once a second, by the clock, while requests are due and while the last replies are
    /// awaited. Breaking ends the load.
    pub watch: &'a mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    /// Each second of the record, in order and without gaps, as soon as nothing can be added to it
    /// any more. Nothing of it is kept, so that memory does not grow with the length of the load.
    pub second: &'a mut dyn FnMut(LoadSecond),
    /// Requests that have ended, in no order, if the load keeps rows.
    pub rows: &'a mut dyn FnMut(&[RequestRow]),
    /// When all is ready, the load begins as soon as this returns; breaking ends it instead.
    pub begin: &'a mut dyn FnMut() -> ControlFlow<()>,
}

/// Runs one load to its end, until `stop` is raised, or until a callback breaks.
///
/// On the first stop request nothing more is due and replies in flight are awaited up to the
/// timeout; on the second everything ends at once.
///
/// # Errors
/// Only when the generator itself cannot work.
pub fn stream(
    spec: &LoadSpec,
    stop: &StopSignal,
    mut callbacks: Callbacks<'_>,
) -> Result<LoadRun, LoadError> {
    let requests = requests(spec)?;
    let limits = Limits::new(spec)?;
    let remotes = remotes(&spec.address)?;
    let values = values(spec);
    let weights: Vec<u32> = spec.targets.iter().map(|target| target.weight.max(1)).collect();
    let common = Common {
        requests,
        connection: spec.connection,
        closing: spec.closing,
        http2: http2_setup(spec, &weights, &values)?,
        recorded_targets: if spec.records_each_target { spec.targets.len() } else { 0 },
        keeps_rows: spec.keeps_rows,
        keeps_cookies: spec.keeps_cookies,
        timeout: spec.timeout.into(),
        weights,
        shutdown: ShutdownFlag::default(),
        clock: OnceLock::new(),
    };
    let limit = Limit::of(spec);
    thread::scope(|scope| {
        // In here, so that it is gone before the scope waits for its threads: when one of many
        // could not be spawned, the others would wait for ever for room in it.
        let (sender, receiver) = sync_channel(LONGEST_QUEUE);
        let common = &common;
        let mut loops = Vec::new();
        for index in 0..limits.loops {
            let part = spec.part.part(index, limits.loops);
            let own = Part { index, of: limits.loops };
            let max_in_flight = match spec.shape {
                Shape::Clients { clients, .. } => part.share(clients.into()),
                _ => own.share(limits.in_flight.into()),
            };
            let tls = spec.tls.as_ref().map(|tls| tls.for_a_loop(common.http2.is_some()));
            let setup = LoopSetup {
                index,
                part,
                source: Source::new(&spec.shape, spec.warm_up, part, spec.seed, limit.clone()),
                dialer: Dialer::new(&remotes, index, tls),
                max_in_flight: max_in_flight as usize,
                max_lingering: limits.lingering,
                seed: spec.seed.wrapping_add(u64::from(part.index)),
                messages: sender.clone(),
            };
            let work = move || run_loop(common, setup, &spec.placement);
            let spawned = Builder::new().name(format!("load-{index}")).spawn_scoped(scope, work);
            match spawned {
                Ok(handle) => loops.push(handle),
                Err(source) => {
                    // Those already started see the flag as soon as they begin.
                    common.shutdown.raise(Shutdown::Abort);
                    common.clock.get_or_init(Clock::start);
                    return Err(environment(GeneratorPart::Thread)(source));
                }
            }
        }
        drop(sender);
        let mut reported = Reported::new(spec, limits.loops);
        reported.receive(&receiver, stop, common, &mut callbacks);
        let reports = join(loops)?;
        let is_cut_short = common.shutdown.current() != Shutdown::None;
        let run = load_run(spec, &reports, is_cut_short);
        reported.fill_up(run.duration, callbacks.second);
        Ok(run)
    })
}

/// Runs one load as [`stream`] does, and keeps the whole record.
///
/// # Errors
/// Only when the generator itself cannot work.
pub fn run(
    spec: &LoadSpec,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
) -> Result<LoadRecord, LoadError> {
    let mut seconds = Vec::new();
    let mut ignored = |_: &[RequestRow]| {};
    let second = &mut |second| seconds.push(second);
    let begin = &mut || ControlFlow::Continue(());
    let run = stream(spec, stop, Callbacks { watch, second, rows: &mut ignored, begin })?;
    Ok(LoadRecord { run, seconds })
}

/// The work of a loop's thread.
fn run_loop(common: &Common, setup: LoopSetup, placement: &Placement) -> io::Result<LoopReport> {
    let (index, messages) = (setup.index, setup.messages.clone());
    let prepared = configure(placement).and_then(|()| EventLoop::new(common, setup));
    let message = if prepared.is_ok() { LoopMessage::Ready } else { LoopMessage::Ended };
    // The coordinator receives until all senders are gone.
    drop(messages.send((index, message)));
    let prepared = prepared?;
    let report = prepared.run(*common.clock.wait());
    if report.is_err() {
        common.shutdown.raise(Shutdown::Abort);
    }
    report
}

fn join(
    loops: Vec<ScopedJoinHandle<'_, io::Result<LoopReport>>>,
) -> Result<Vec<LoopReport>, LoadError> {
    let results: Vec<_> = loops
        .into_iter()
        .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        .collect();
    results.into_iter().collect::<io::Result<_>>().map_err(environment(GeneratorPart::Loop))
}

fn environment(part: GeneratorPart) -> impl Fn(io::Error) -> LoadError {
    move |source| LoadError::Environment { part, source }
}

/// Looks for what a load is refused for before anything is sent.
///
/// # Errors
/// It makes no sense, or a request has a variable that there is none of.
pub fn check(spec: &LoadSpec) -> Result<(), LoadError> {
    requests(spec).map(drop)
}

fn requests(spec: &LoadSpec) -> Result<Vec<Request>, LoadError> {
    check_shape(spec)?;
    let values = values(spec);
    let request = |target| Request::new(target, &spec.host, spec.connection, &values);
    spec.targets.iter().map(request).collect()
}

/// What its variables are taken from.
fn values(spec: &LoadSpec) -> Values {
    let (table, seed, has_cookies) = (spec.variables.clone(), spec.seed, spec.keeps_cookies);
    Values { table, seed, has_cookies }
}

fn check_shape(spec: &LoadSpec) -> Result<(), LoadError> {
    let refuse = |what: &str| Err(LoadError::Plan(what.to_string()));
    if spec.targets.is_empty() {
        return refuse("a load needs at least one target");
    }
    if spec.timeout.is_zero() {
        return refuse("the timeout must be above zero; 10s is usual");
    }
    if spec.warm_up.subsec_nanos() != 0 {
        return refuse("the warm-up must be whole seconds, such as 5s");
    }
    if spec.protocol == (Protocol::Http2 { streams: 0 }) {
        return refuse("a connection needs room for at least one stream; 100 are usual");
    }
    if spec.keeps_cookies && !matches!(spec.shape, Shape::Clients { .. }) {
        return refuse("cookies belong to clients, which only a closed load has");
    }
    let loops = u32::from(spec.loops.max(1)) * u32::from(spec.part.of);
    let most = MOST_PER_SECOND * f64::from(loops);
    let highest = spec.shape.highest_rate().map(Rate::as_per_second);
    match &spec.shape {
        Shape::Clients { clients: 0, .. } => refuse("a closed load needs at least one client"),
        _ if loops > u16::MAX.into() => refuse("generators have more loops than 65535 in all"),
        Shape::Times(times) if !times.fits(spec.targets.len()) => {
            refuse("a replayed request asks for a target that is not in the list of targets")
        }
        shape if shape.end(spec.warm_up).is_some_and(|end| end <= spec.warm_up) => {
            refuse("the load is over before anything is measured; make it longer than its warm-up")
        }
        Shape::Clients { clients, .. }
            if *clients < u32::from(spec.part.of) && matches!(spec.length, Length::Requests(_)) =>
        {
            refuse("a number of requests among generators needs a client for each of them")
        }
        _ if highest == Some(0.0) => refuse("the rate must be above zero, such as 10/s"),
        _ if highest.is_some_and(|rate| rate > most) => refuse(
            "the rate is more than a loop can send (1000000/s); ask for less or use more loops",
        ),
        _ if spec.max_in_flight == Some(0) => refuse("max in flight must be at least 1"),
        _ => Ok(()),
    }
}

fn remotes(address: &Address) -> Result<Vec<Remote>, LoadError> {
    match address {
        Address::Tcp(addresses) if addresses.is_empty() => {
            Err(LoadError::Plan("there is no address to connect to".into()))
        }
        Address::Tcp(addresses) => Ok(addresses.iter().copied().map(Remote::Tcp).collect()),
        Address::Unix(path) => {
            let too_long = || {
                LoadError::Plan(format!(
                    "the path of the unix socket '{}' is longer than the 107 bytes the kernel \
                     takes; use a shorter one",
                    path.display()
                ))
            };
            // One byte more would leave none for the final zero.
            let address = Some(path).filter(|path| path.as_os_str().len() <= 107);
            let address = address.and_then(|path| SocketAddrUnix::new(path).ok());
            address.map(|address| vec![Remote::Unix(address)]).ok_or_else(too_long)
        }
    }
}

/// What the loops need for HTTP/2.
fn http2_setup(
    spec: &LoadSpec,
    weights: &[u32],
    values: &Values,
) -> Result<Option<Http2Setup>, LoadError> {
    let Protocol::Http2 { streams } = spec.protocol else { return Ok(None) };
    let scheme = if spec.tls.is_some() { "https" } else { "http" };
    let request = |target| Http2Request::new(target, scheme, &spec.host, values);
    let mut requests = spec.targets.iter().map(request).collect::<Result<Vec<_>, _>>()?;
    let slots = Http2Request::share_table(&mut requests, weights);
    Ok(Some(Http2Setup { streams: usize::from(streams), requests, slots }))
}

/// What the limits on descriptors and requests in flight leave to each loop.
#[derive(Debug, Clone, Copy)]
struct Limits {
    loops: u16,
    /// In all.
    in_flight: u32,
    /// Each.
    lingering: usize,
}

impl Limits {
    fn new(spec: &LoadSpec) -> Result<Self, LoadError> {
        let most = u32::from(spec.loops.max(1));
        let (loops, wanted) = match spec.shape {
            // Generators that send together cut a load into equally many parts, none of them
            // without a client as long as there are enough.
            Shape::Clients { clients, .. } => {
                let loops = (clients / u32::from(spec.part.of)).clamp(1, most);
                (loops, own_clients(spec.part, loops as u16, clients))
            }
            Shape::Constant { .. } | Shape::Stages { .. } | Shape::Times(_) => {
                let wanted = spec.max_in_flight.unwrap_or(u32::MAX);
                (most.min(wanted), wanted)
            }
        };
        let loops = loops as u16;
        let free = free_descriptors().saturating_sub(SPARE_DESCRIPTORS + u64::from(loops));
        let lingering = (free / 4 / u64::from(loops)).min(MOST_LINGERING);
        let most = free.saturating_sub(lingering * u64::from(loops));
        let each = match (spec.protocol, spec.connection) {
            (Protocol::Http2 { streams }, ConnectionMode::KeepAlive) => u64::from(streams),
            (Protocol::Http2 { .. } | Protocol::Http1, _) => 1,
        };
        let most = u32::try_from(most.saturating_mul(each)).unwrap_or(u32::MAX);
        if most < u32::from(loops).min(wanted) {
            let source = io::Error::from_raw_os_error(libc::EMFILE);
            return Err(environment(GeneratorPart::Connections)(source));
        }
        if matches!(spec.shape, Shape::Clients { .. }) && wanted > most {
            return Err(LoadError::Plan(format!(
                "{wanted} clients need a connection each, but the limit on open files leaves room \
                 for {most}; raise it ('ulimit -n {}')",
                u64::from(wanted) * 4 / 3 + 2 * SPARE_DESCRIPTORS
            )));
        }
        Ok(Self { loops, in_flight: wanted.min(most), lingering: lingering as usize })
    }
}

/// Those of a generator's loops.
fn own_clients(part: Part, loops: u16, clients: u32) -> u32 {
    let parts = (0..loops).map(|index| part.part(index, loops));
    parts.map(|part| part.share(clients.into()) as u32).sum()
}

/// What the loops have reported so far.
struct Reported {
    loops: Vec<LoopProgress>,
    /// Those that some loop may still add to, the oldest first.
    seconds: VecDeque<LoadSecond>,
    /// How many seconds were handed on before them.
    handed_on: u64,
    /// How many seconds were handed to the watcher.
    shown: u64,
    warm_up: Duration,
}

/// What one loop has reported so far.
#[derive(Default)]
struct LoopProgress {
    is_ready: bool,
    /// How many seconds it has added to the record.
    seconds: u64,
    /// Its seconds by the clock that some other loop has yet to report.
    clock: VecDeque<ClockSecond>,
    has_ended: bool,
}

impl Reported {
    fn new(spec: &LoadSpec, loops: u16) -> Self {
        Self {
            loops: (0..loops).map(|_| LoopProgress::default()).collect(),
            seconds: VecDeque::new(),
            handed_on: 0,
            shown: 0,
            warm_up: spec.warm_up,
        }
    }

    /// Receives until all loops are gone.
    fn receive(
        &mut self,
        receiver: &Receiver<(u16, LoopMessage)>,
        stop: &StopSignal,
        common: &Common,
        callbacks: &mut Callbacks<'_>,
    ) {
        loop {
            match stop.requested() {
                StopRequest::None => {}
                StopRequest::Finish => common.shutdown.raise(Shutdown::Drain),
                StopRequest::Now => common.shutdown.raise(Shutdown::Abort),
            }
            match receiver.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok((_, LoopMessage::Rows(rows))) => (callbacks.rows)(&rows),
                Ok((index, message)) => self.take(usize::from(index), message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let is_known = |one: &LoopProgress| one.is_ready || one.has_ended;
            if common.clock.get().is_none() && self.loops.iter().all(is_known) {
                // A loop that ended before the load begins could not be prepared.
                let is_prepared = self.loops.iter().all(|one| one.is_ready);
                if !is_prepared || (callbacks.begin)().is_break() {
                    common.shutdown.raise(Shutdown::Abort);
                }
                common.clock.get_or_init(Clock::start);
            }
            let is_ending = common.shutdown.current() != Shutdown::None;
            while let Some(second) = self.next_live_second(is_ending) {
                if (callbacks.watch)(&second).is_break() {
                    common.shutdown.raise(Shutdown::DrainBriefly);
                }
            }
            while let Some(second) = self.next_final_second() {
                (callbacks.second)(second);
            }
        }
    }

    fn take(&mut self, index: usize, message: LoopMessage) {
        let progress = &mut self.loops[index];
        match message {
            LoopMessage::Ready => progress.is_ready = true,
            LoopMessage::Clock(second) => progress.clock.push_back(*second),
            LoopMessage::Finished(at, second) => {
                progress.seconds = at + 1;
                self.second(at).add(&second);
            }
            LoopMessage::Ended => progress.has_ended = true,
            // Passed on at once.
            LoopMessage::Rows(_) => {}
        }
    }

    fn second(&mut self, at: u64) -> &mut LoadSecond {
        assert!(at >= self.handed_on, "second {at} was handed on already");
        let at = at.saturating_sub(self.handed_on) as usize;
        if self.seconds.len() <= at {
            self.seconds.resize_with(at + 1, LoadSecond::default);
        }
        &mut self.seconds[at]
    }

    /// The oldest second, once no loop can add to it.
    fn next_final_second(&mut self) -> Option<LoadSecond> {
        let is_done = |one: &LoopProgress| one.has_ended || one.seconds > self.handed_on;
        if !self.loops.iter().all(is_done) {
            return None;
        }
        let second = self.seconds.pop_front()?;
        self.handed_on += 1;
        Some(second)
    }

    /// Hands on what is left, and empty seconds until the record is as long as requests were due.
    fn fill_up(mut self, duration: Duration, take: &mut dyn FnMut(LoadSecond)) {
        let whole_seconds = Span::from(duration).get().div_ceil(Span::SECOND.get()) as usize;
        let whole_seconds = whole_seconds.saturating_sub(self.handed_on as usize);
        if self.seconds.len() < whole_seconds {
            self.seconds.resize_with(whole_seconds, LoadSecond::default);
        }
        self.seconds.drain(..).for_each(take);
    }

    /// The next second that every loop that still runs has reported, all loops together. The piece
    /// of a second in which the last loop ended is none.
    fn next_live_second(&mut self, is_ending: bool) -> Option<LiveSecond> {
        let is_known = |one: &LoopProgress| one.has_ended || !one.clock.is_empty();
        if !self.loops.iter().all(is_known) || self.loops.iter().all(|one| one.has_ended) {
            return None;
        }
        self.shown += 1;
        let at = Duration::from_secs(self.shown);
        let mut live = LiveSecond {
            at,
            phase: if at <= self.warm_up { Phase::WarmUp } else { Phase::Measure },
            due: 0,
            sent: 0,
            replies: 0,
            errors: 0,
            in_flight: 0,
            in_flight_mean: 0.0,
            p95: None,
            send_lag_p99: None,
        };
        let (mut latency, mut send_lag) = (Latencies::default(), Latencies::default());
        let mut is_draining = true;
        for second in self.loops.iter_mut().filter_map(|one| one.clock.pop_front()) {
            live.due += second.due;
            live.sent += second.sent;
            live.replies += second.latency.count();
            live.errors += second.errors;
            live.in_flight += second.in_flight;
            live.in_flight_mean += second.in_flight_mean;
            latency.add(&second.latency);
            send_lag.add(&second.send_lag);
            is_draining &= second.is_draining;
        }
        live.p95 = latency.quantile(0.95);
        live.send_lag_p99 = send_lag.quantile(0.99);
        if is_ending || is_draining {
            live.phase = Phase::Drain;
        }
        Some(live)
    }
}

/// What the loops used and when they ended, together.
fn load_run(spec: &LoadSpec, reports: &[LoopReport], is_cut_short: bool) -> LoadRun {
    let share = |report: &LoopReport| {
        let wall = report.wall.max(Duration::from_nanos(1));
        (report.cpu.user + report.cpu.system).as_secs_f64() / wall.as_secs_f64()
    };
    let last_reply = reports.iter().map(|report| report.last_reply).max().unwrap_or_default();
    LoadRun {
        offered: spec.shape.offered(),
        warm_up: spec.warm_up,
        duration: length(spec, reports),
        last_reply: last_reply.elapsed(),
        is_cut_short,
        tls_trouble: reports.iter().find_map(|report| report.tls_trouble.clone()),
        rows_left_out: reports.iter().map(|report| report.rows_left_out).sum(),
        generator: GeneratorUse {
            cpu_user: reports.iter().map(|report| report.cpu.user).sum(),
            cpu_system: reports.iter().map(|report| report.cpu.system).sum(),
            rss_bytes_max: rss_bytes_max(),
            busiest_loop: reports.iter().map(share).fold(0.0, f64::max).min(1.0),
        },
    }
}

/// How long requests were due for.
fn length(spec: &LoadSpec, reports: &[LoopReport]) -> Duration {
    if let Some(at) = reports.iter().filter_map(|report| report.cut_short_at).max() {
        return at.elapsed();
    }
    let last_due = reports.iter().map(|report| report.last_due).max().unwrap_or_default();
    let own_length = spec.shape.length(spec.warm_up).map(Length::Duration);
    match (own_length.unwrap_or(spec.length), &spec.shape) {
        (Length::Duration(length), _) => Nanos::from(spec.warm_up.saturating_add(length)).elapsed(),
        // The last request stands for the time until the next would be due.
        (Length::Requests(_), Shape::Constant { rate, .. }) => {
            let distance = Span::SECOND.get() as f64 / rate.as_per_second();
            (last_due + Span::new(distance.round() as u64)).elapsed()
        }
        (Length::Requests(_), _) => last_due.elapsed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::spec::tests::spec;

    #[test]
    fn a_path_too_long_for_a_unix_socket_is_noticed() {
        let path = |length| Address::Unix(format!("/{}", "x".repeat(length)).into());
        let error = remotes(&path(107)).unwrap_err().to_string();
        assert!(error.contains("longer than the 107 bytes"), "{error}");
        assert_eq!(remotes(&path(106)).unwrap().len(), 1);
    }

    #[test]
    fn a_load_does_not_begin_where_a_loop_could_not_be_prepared() {
        // On a core that no machine has.
        let placement = Placement { cpus: vec![usize::MAX], raised_priority: false };
        let unprepared = LoadSpec { placement, ..spec() };
        let mut has_begun = false;
        let callbacks = Callbacks {
            watch: &mut |_| ControlFlow::Continue(()),
            second: &mut |_| {},
            rows: &mut |_| {},
            begin: &mut || {
                has_begun = true;
                ControlFlow::Continue(())
            },
        };
        let error = stream(&unprepared, &StopSignal::default(), callbacks).unwrap_err();
        let is_loop = matches!(error, LoadError::Environment { part: GeneratorPart::Loop, .. });
        assert!(is_loop && !has_begun, "{error}");
    }
}
