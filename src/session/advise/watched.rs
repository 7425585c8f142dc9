//! A server at its own traffic.
//!
//! In: what to watch, and for how long. Out: what was seen. It only looks and listens.

use std::path::Path;
use std::time::{Duration, Instant};

use super::question::{AdviseError, Meanwhile, Question, setting};
use super::running::Running;
use crate::advise::{RateSeen, Seen, Sums, Times};
use crate::monitor::{self, CoreChoice, Sampler, Watched, host};
use crate::report::outside::line;
use crate::session::watch::{self, Subject};
use crate::terms::{AdviseNote, BlindSpot, Cores, InsideUse, Machine, MonitorSecond, StopSignal};

/// The kernel's queue of the probe's socket holds ten datagrams, and each process sends two a
/// second, many of them at one moment.
const HEAR_EVERY: Duration = Duration::from_millis(20);
/// Walking memory holds its lock.
const WALK_EVERY: Duration = Duration::from_secs(30);
/// Each thread's name is a file to open, and settings change seldom.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// After so many seconds in which requests were answered, and no thread has a name of those that
/// do, none will.
const NAMELESS_MOST: u32 = 5;
/// After so long without a word something may be wrong.
const SILENT: Duration = Duration::from_secs(15);

/// What is added up while watching.
#[derive(Default)]
struct Sum {
    length_s: f64,
    sums: Sums,
    cpu_s: f64,
    others_cpu_s: f64,
    memory_bytes: Option<u64>,
    /// When memory was walked last, and when threads were looked at.
    walked: Option<Instant>,
    looked: Option<Instant>,
    running: Running,
    /// Seconds with requests in which it was not known how many threads answer them.
    nameless: u32,
    times: Times,
    rates: Vec<RateSeen>,
}

/// # Errors
/// There is no such server, or nothing was told, or it is neither said nor seen how many threads it
/// has.
pub fn seen(
    question: &Question,
    (subject, socket, length): (&Subject, &Path, Duration),
    stop: &StopSignal,
    tell: &mut dyn FnMut(Meanwhile),
) -> Result<Seen, AdviseError> {
    let watched = Watched { probe: Some(socket.to_path_buf()), ..watch::find(subject)? };
    let root = watched.roots[0];
    let machine = host::read_for(root).machine(question.cores, question.memory);
    let mut sampler = Sampler::start(watched, CoreChoice::Allowed);
    // Other apps on this machine may have loaded the same probe.
    sampler.hear_the_watched_alone();
    heard_at(&sampler, socket)?;
    let (origin, own_ns) = (Instant::now(), own_cpu_ns());
    let mut sum = Sum::default();
    let mut is_silence_told = false;
    while origin.elapsed() < length && !stop.is_raised() && !sampler.is_over() {
        let until = second_end(sampler.interval_start(), (origin, length));
        listen(&mut sampler, until, stop);
        let mut second = sampler.close(origin);
        watch::name_workers(&mut second);
        for request in sampler.requests() {
            sum.times.add(&request);
        }
        sum.walk(&mut sampler);
        let are_threads_said = question.threads.is_some() || sampler.threads_told().is_some();
        sum.look(&second, are_threads_said)?;
        sum.add(&second);
        let for_s = origin.elapsed().as_secs_f64();
        match sum.sums.requests {
            0 if origin.elapsed() >= SILENT && !is_silence_told => {
                is_silence_told = true;
                tell(Meanwhile::Silent { for_s, has_others: sampler.other_told().is_some() });
            }
            0 => {}
            requests => tell(Meanwhile::Seen { for_s, requests }),
        }
    }
    let length_s = sum.length_s;
    if sum.sums.requests == 0 {
        return Err(nothing_told(&sampler, root, (length_s, socket)));
    }
    let allowed = sampler.threads_told().and_then(|it| u16::try_from(it).ok());
    let ((workers, threads), changed) = sum.running.setting(allowed);
    let spots = sampler.blind_spots();
    let is_memory_whole = !spots.iter().any(|it| matches!(it, BlindSpot::MemoryRefused { .. }));
    // Who ends both by one Ctrl-C ends the watching.
    let ended = sampler.is_over() && !stop.is_raised();
    let ended = ended.then_some(AdviseNote::ServerEnded { after_s: length_s });
    let remarks = changed.into_iter().chain(ended).chain(capped(question, &machine));
    Ok(Seen {
        setting: setting(question, workers, threads)?,
        cores: machine.cores,
        memory: machine.memory_bytes,
        length_s,
        instances: 1,
        sums: sum.sums,
        cpu_s: Some(sum.cpu_s),
        memory_bytes: sum.memory_bytes.filter(|_| is_memory_whole),
        others_cores: Some((sum.others_cpu_s / length_s).max(0.0)),
        are_threads_counted: question.threads.is_none(),
        watching_cores: Some((own_cpu_ns() - own_ns) as f64 / 1e9 / origin.elapsed().as_secs_f64()),
        times: sum.times,
        rates: sum.rates,
        batch: None,
        remarks: remarks.chain(not_watched(spots)).collect(),
    })
}

/// The end of the second that began then; that of all, of this length since `origin`, where it
/// comes first.
fn second_end(began: Instant, (origin, length): (Instant, Duration)) -> Instant {
    let second_end = began + Duration::from_secs(1);
    // What no clock will ever show is no end.
    origin.checked_add(length).map_or(second_end, |end| end.min(second_end))
}

fn heard_at(sampler: &Sampler, socket: &Path) -> Result<(), AdviseError> {
    let unheard = sampler.blind_spots().into_iter().find_map(|spot| match spot {
        BlindSpot::ProbeUnheard { error } => Some(error),
        _ => None,
    });
    match unheard {
        Some(reason) => Err(AdviseError::Unheard { socket: socket.to_path_buf(), reason }),
        None => Ok(()),
    }
}

/// Why nothing was told of any request.
fn nothing_told(sampler: &Sampler, root: u32, (length_s, socket): (f64, &Path)) -> AdviseError {
    let is_other_version = sampler.blind_spots().contains(&BlindSpot::ProbeOfOtherVersion);
    match sampler.other_told() {
        _ if sampler.is_over() => AdviseError::Ended,
        Some(other) => AdviseError::OthersTold { length_s, watched: named(root), other },
        None if is_other_version => {
            AdviseError::OtherVersion { folder: socket.parent().unwrap_or(socket).to_path_buf() }
        }
        None => AdviseError::NothingTold { length_s, socket: socket.to_path_buf() },
    }
}

/// A process with its program's name, its arguments left out.
fn named(pid: u32) -> String {
    let title = line(&monitor::title(pid));
    let program = title.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default().trim_end_matches(':');
    if name.is_empty() { pid.to_string() } else { format!("{pid} ({name})") }
}

/// What was said to be there, and is more than the server may use: then `machine` has less.
fn capped(question: &Question, machine: &Machine) -> Vec<AdviseNote> {
    let (usable_cores, usable_bytes) = (machine.cores.get(), machine.memory_bytes.0);
    let cores = question.cores.map(Cores::get).filter(|asked| *asked > usable_cores);
    let cores = cores.map(|asked_cores| AdviseNote::FewerCoresThere { asked_cores, usable_cores });
    let memory = question.memory.map(|asked| asked.0).filter(|asked| *asked > usable_bytes);
    let memory =
        memory.map(|asked_bytes| AdviseNote::LessMemoryThere { asked_bytes, usable_bytes });
    cores.into_iter().chain(memory).collect()
}

/// What could not be watched and has a part in the figures.
fn not_watched(spots: Vec<BlindSpot>) -> Vec<AdviseNote> {
    let mut is_memory_said = false;
    let counts = |spot: &BlindSpot| match spot {
        // The first says of all processes what to do.
        BlindSpot::MemoryRefused { .. } => !std::mem::replace(&mut is_memory_said, true),
        // No figure is made of these, and of the lock another note tells.
        BlindSpot::CoreWaitsUnknown
        | BlindSpot::ListenQueueUnseen { .. }
        | BlindSpot::CollectionUnknown
        | BlindSpot::LockWaitUnknown => false,
        _ => true,
    };
    let spots = spots.into_iter().filter(counts);
    spots.map(|spot| AdviseNote::NotWatched { what: spot.into() }).collect()
}

fn listen(sampler: &mut Sampler, until: Instant, stop: &StopSignal) {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.is_raised() {
            return;
        }
        std::thread::sleep(left.min(HEAR_EVERY));
        sampler.hear();
    }
}

fn own_cpu_ns() -> u64 {
    monitor::cpu_clock_ns(std::process::id()).unwrap_or(0)
}

impl Sum {
    fn add(&mut self, second: &MonitorSecond) {
        let server_s: f64 = second.processes.iter().map(|process| process.cpu_s).sum();
        let busy_s = second.host.cores_busy.iter().sum::<f64>() * second.length_s;
        // An interval is a little longer than a second, and much longer on a starved machine.
        let mut rate = RateSeen { second: self.length_s as u32, ..RateSeen::default() };
        self.length_s += second.length_s;
        self.cpu_s += server_s;
        self.others_cpu_s += busy_s - server_s;
        for inside in &second.inside {
            rate.requests += inside.requests;
            rate.app_s += inside.app_s;
            self.sums.add(inside);
        }
        self.rates.push(rate);
    }

    /// Looks at memory, where it is time to.
    fn walk(&mut self, sampler: &mut Sampler) {
        if self.walked.is_some_and(|at| at.elapsed() < WALK_EVERY) {
            return;
        }
        self.walked = Some(Instant::now());
        let bytes: u64 = sampler.memory().iter().map(|process| process.pss_bytes).sum();
        self.memory_bytes = self.memory_bytes.max((bytes > 0).then_some(bytes));
    }

    /// Looks at the setting, where it is time to, and each second until its threads are known.
    ///
    /// # Errors
    /// Requests are answered, and by how many threads is neither said nor to be seen.
    fn look(&mut self, second: &MonitorSecond, are_threads_said: bool) -> Result<(), AdviseError> {
        let is_due = self.looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY);
        if is_due || !(are_threads_said || self.running.are_threads_known()) {
            self.looked = Some(Instant::now());
            self.running.look(second);
        }
        let is_known = are_threads_said || self.running.are_threads_known();
        let has_requests = second.inside.iter().any(|inside| inside.requests > 0);
        self.nameless += u32::from(has_requests && !is_known);
        match self.nameless < NAMELESS_MOST {
            true => Ok(()),
            false => Err(AdviseError::ThreadsUnknown),
        }
    }
}

impl Sums {
    fn add(&mut self, inside: &InsideUse) {
        let is_first = self.requests == 0;
        let both = |sum: Option<f64>, one: Option<f64>| match is_first {
            true => one,
            false => sum.zip(one).map(|(sum, one)| sum + one),
        };
        self.gvl_wait_s = both(self.gvl_wait_s, inside.gvl_wait_s);
        self.probe_s = both(self.probe_s, Some(inside.probe_s));
        self.requests += inside.requests;
        self.app_s += inside.app_s;
        self.app_cpu_s += inside.cpu_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::advise::question::Source;
    use crate::terms::Bytes;

    #[test]
    fn a_second_ends_with_all_of_it_unless_that_has_no_end() {
        let (origin, s) = (Instant::now(), Duration::from_secs_f64);
        let end = |began_s: f64, length: Duration| {
            second_end(origin + s(began_s), (origin, length)).duration_since(origin)
        };
        assert_eq!(end(3.0, s(60.0)), s(4.0));
        assert_eq!(end(59.5, s(60.0)), s(60.0));
        assert_eq!(end(3.0, Duration::MAX), s(4.0));
    }

    #[test]
    fn an_interval_counts_at_the_second_in_which_it_began() {
        let mut sum = Sum::default();
        for _ in 0..4 {
            sum.add(&MonitorSecond { length_s: 1.5, ..MonitorSecond::default() });
        }
        let seconds: Vec<u32> = sum.rates.iter().map(|rate| rate.second).collect();
        assert_eq!(seconds, [0, 1, 3, 4]);
    }

    /// A second with a request and without a process.
    fn answered() -> MonitorSecond {
        let inside = InsideUse { requests: 1, ..InsideUse::default() };
        MonitorSecond { inside: vec![inside], ..MonitorSecond::default() }
    }

    #[test]
    fn threads_that_stay_unknown_end_the_watching_soon_where_nobody_said_how_many() {
        let mut sum = Sum::default();
        sum.look(&MonitorSecond::default(), false).unwrap();
        let known = (0..10).take_while(|_| sum.look(&answered(), false).is_ok()).count();
        assert_eq!(known as u32, NAMELESS_MOST - 1);
        let mut sum = Sum::default();
        assert!((0..10).all(|_| sum.look(&answered(), true).is_ok()));
    }

    #[test]
    fn what_could_not_be_watched_is_said_where_a_figure_is_made_of_it() {
        let refused = |pid| BlindSpot::MemoryRefused { pid };
        let spots = vec![
            refused(7),
            BlindSpot::LockWaitUnknown,
            refused(8),
            BlindSpot::CollectionUnknown,
            BlindSpot::ProbeOfOtherVersion,
        ];
        let said = |spot: BlindSpot| AdviseNote::NotWatched { what: spot.into() };
        let expected = [refused(7), BlindSpot::ProbeOfOtherVersion].map(said);
        assert_eq!(not_watched(spots), expected);
    }

    #[test]
    fn more_than_the_server_may_use_is_said_to_be_so() {
        let there = host::read().machine(None, None);
        let question = |cores: f64, bytes: u64| Question {
            source: Source::Perfm { file: "x".into(), instances: 1 },
            workers: None,
            threads: None,
            cores: Some(Cores::new(cores).unwrap()),
            memory: Some(Bytes(bytes)),
            slo: None,
        };
        let (cores, bytes) = (there.cores.get(), there.memory_bytes.0);
        assert_eq!(capped(&question(cores, bytes), &there), []);
        let more = capped(&question(2.0 * cores, 2 * bytes), &there);
        assert_eq!(
            more,
            [
                AdviseNote::FewerCoresThere { asked_cores: 2.0 * cores, usable_cores: cores },
                AdviseNote::LessMemoryThere { asked_bytes: 2 * bytes, usable_bytes: bytes },
            ]
        );
    }
}
