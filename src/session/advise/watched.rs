//! A server at its own traffic.
//!
//! In: what to watch, and for how long. Out: what was seen. It only looks and listens.

use std::path::Path;
use std::time::{Duration, Instant};

use super::question::{AdviseError, Meanwhile, Question, setting};
use crate::advise::{RateSeen, Seen, Sums, Times};
use crate::monitor::{self, CoreChoice, Sampler, Watched, host};
use crate::server;
use crate::session::watch::{self, Subject};
use crate::terms::{BlindSpot, InsideUse, MonitorSecond, Role, StopSignal};

/// The kernel's queue of the probe's socket holds ten datagrams, and each process sends two a
/// second, many of them at one moment.
const HEAR_EVERY: Duration = Duration::from_millis(20);
/// Walking memory holds its lock, and threads come and go slowly.
const WALK_EVERY: Duration = Duration::from_secs(30);
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
    /// Processes whose titles say that they are workers, most at once. One that is replaced counts
    /// twice, and so does one of jobs.
    titled: u16,
    /// Processes with threads that serve requests, most at once.
    serving: u16,
    threads: Option<u16>,
    times: Times,
    rates: Vec<RateSeen>,
}

/// # Errors
/// There is no such server, or nothing was told.
pub fn seen(
    question: &Question,
    (subject, socket, length): (&Subject, &Path, Duration),
    stop: &StopSignal,
    tell: &mut dyn FnMut(Meanwhile),
) -> Result<Seen, AdviseError> {
    let watched = Watched { probe: Some(socket.to_path_buf()), ..watch::find(subject)? };
    let host = host::read_for(watched.roots[0]);
    let machine = host.machine(question.cores, question.memory);
    let mut sampler = Sampler::start(watched, CoreChoice::Allowed);
    // Other apps on this machine may have loaded the same probe.
    sampler.hear_the_watched_alone();
    heard_at(&sampler, socket)?;
    let (origin, own_ns) = (Instant::now(), own_cpu_ns());
    let mut sum = Sum::default();
    let mut walked: Option<Instant> = None;
    let mut is_silence_told = false;
    while origin.elapsed() < length && !stop.is_raised() && !sampler.is_over() {
        let until = second_end(sampler.interval_start(), (origin, length));
        listen(&mut sampler, until, stop);
        let second = sampler.close(origin);
        for request in sampler.requests() {
            sum.times.add(&request);
        }
        if walked.is_none_or(|at| at.elapsed() >= WALK_EVERY) {
            walked = Some(Instant::now());
            sum.walk(&mut sampler, &second);
        }
        sum.add(second);
        let for_s = origin.elapsed().as_secs_f64();
        match sum.sums.requests {
            0 if origin.elapsed() >= SILENT && !is_silence_told => {
                is_silence_told = true;
                tell(Meanwhile::Silent { for_s });
            }
            0 => {}
            requests => tell(Meanwhile::Seen { for_s, requests }),
        }
    }
    let length_s = sum.length_s;
    if sum.sums.requests == 0 {
        return Err(match sampler.is_over() {
            true => AdviseError::Ended,
            false => AdviseError::NothingTold { length_s, socket: socket.to_path_buf() },
        });
    }
    Ok(Seen {
        setting: setting(question, sum.workers(), sum.threads)?,
        cores: machine.cores,
        memory: machine.memory_bytes,
        length_s,
        instances: 1,
        sums: sum.sums,
        cpu_s: Some(sum.cpu_s),
        memory_bytes: sum.memory_bytes,
        others_cores: Some((sum.others_cpu_s / length_s).max(0.0)),
        are_threads_counted: question.threads.is_none(),
        watching_cores: Some((own_cpu_ns() - own_ns) as f64 / 1e9 / origin.elapsed().as_secs_f64()),
        times: sum.times,
        rates: sum.rates,
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
    fn add(&mut self, mut second: MonitorSecond) {
        watch::name_workers(&mut second);
        let workers = second.processes.iter().filter(|it| it.role == Role::Worker).count();
        self.titled = self.titled.max(workers as u16);
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

    /// By their threads, where the server names these.
    fn workers(&self) -> u16 {
        if self.serving > 0 { self.serving } else { self.titled }
    }

    /// What is looked at seldom.
    fn walk(&mut self, sampler: &mut Sampler, second: &MonitorSecond) {
        let bytes: u64 = sampler.memory().iter().map(|process| process.pss_bytes).sum();
        self.memory_bytes = self.memory_bytes.max((bytes > 0).then_some(bytes));
        let pids = || second.processes.iter().map(|process| process.pid);
        let names: Vec<Vec<String>> = pids().map(monitor::thread_names).collect();
        let is_serving = |all: &&Vec<String>| all.iter().any(|name| server::is_serving(name));
        self.serving = self.serving.max(names.iter().filter(is_serving).count() as u16);
        let of_requests = |all: &Vec<String>| {
            all.iter().filter(|name| server::serves_requests(name)).count() as u16
        };
        let most = names.iter().map(of_requests).max().filter(|count| *count > 0);
        let one = pids().any(|pid| server::has_one_thread(&monitor::title(pid))).then_some(1);
        self.threads = self.threads.max(most.or(one));
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
            sum.add(MonitorSecond { length_s: 1.5, ..MonitorSecond::default() });
        }
        let seconds: Vec<u32> = sum.rates.iter().map(|rate| rate.second).collect();
        assert_eq!(seconds, [0, 1, 3, 4]);
    }
}
