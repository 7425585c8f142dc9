//! What a collector costs with many generators, and what it makes of their seconds: the real
//! collector of `load`, and generators that only speak as generators do, in a process of their own.
//! Each tells a second of `RATE` requests (50,000) every second.
//!
//! Run by `make bench-fleet`. `GENERATORS='10 100 1000'`, `SECONDS=20`.

mod generators;

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Duration;

use sweetspot::fleet::{Collector, Gathered, OnLoss};
use sweetspot::load::{monotonic_ns, raise_descriptor_limit};
use sweetspot::stats::median;
use sweetspot::terms::{LoadSecond, StopSignal};

use crate::common::bars::{self, Bar, Limit};
use crate::common::options::{number, text};
use crate::common::process::{Kept, last_line};
use crate::common::table::table;
use crate::common::{Result, machine};

/// For all of them to join.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(arguments: &[&str]) -> Result<()> {
    raise_descriptor_limit();
    if !arguments.is_empty() {
        return generators::be(arguments);
    }
    let (seconds, rate) = (number("SECONDS", 20)?, number("RATE", 50_000)?);
    println!("{}", machine::line());
    println!("\n{seconds} s of load, {rate} requests a second of each generator\n");
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for count in text("GENERATORS", "10 100 1000").split_whitespace() {
        let fleet = Fleet::measure(count.parse()?, seconds, rate)?;
        bars.extend(fleet.bars());
        rows.push(fleet.row());
    }
    let titles = [
        "generators",
        "requests/s",
        "told, MB/s",
        "a second of one, kB",
        "collector, cores",
        "of a generator's second, ms",
        "merged, s after its end: median (most)",
        "began late at most, ms",
        "most memory so far, MB",
    ];
    println!("{}", table(&titles, rows));
    bars::hold(&bars)
}

/// One load of so many generators.
struct Fleet {
    generators: u16,
    seconds: usize,
    gathered: Gathered,
    requests: u64,
    /// Of all generators.
    told_bytes: f64,
    /// Of the collector's process, from the order to prepare to the last second.
    cpu_s: f64,
    /// From a second's end until it was handed on.
    delays_s: Vec<f64>,
    memory_bytes: f64,
}

impl Fleet {
    fn measure(generators: u16, seconds: usize, rate: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let numbers = [generators.to_string(), seconds.to_string(), rate.to_string()];
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["fleet", &address]).args(numbers).stdout(Stdio::piped());
        let mut child = Kept::start(&mut command)?;
        let stop = StopSignal::default();
        let wanted = (generators, PATIENCE);
        let gate = generators::gate();
        let mut collector =
            Collector::gather(&listener, wanted, &gate, OnLoss::End, &mut |_| Ok(()))?;
        let before = used();
        let (mut at_ns, mut requests) = (Vec::new(), 0);
        let mut second = |second: LoadSecond| {
            at_ns.push(monotonic_ns());
            requests += second.due;
        };
        let mut watch = |_: &_| ControlFlow::Continue(());
        let gathered = collector.send(1, None, &stop, &mut watch, &mut second)?;
        let after = used();
        collector.dismiss();
        let said = std::io::read_to_string(child.0.stdout.take().ok_or("it has no output")?)?;
        let told = generators::Told::read(last_line(&said).unwrap_or_default())?;
        let end_ns = |second: usize| told.began_ns + (second as u64 + 1) * 1_000_000_000;
        let delay = |(second, at_ns): (usize, &u64)| {
            Duration::from_nanos(at_ns.saturating_sub(end_ns(second))).as_secs_f64()
        };
        Ok(Self {
            generators,
            seconds,
            gathered,
            requests,
            told_bytes: told.bytes as f64,
            cpu_s: after.cpu_s - before.cpu_s,
            delays_s: at_ns.iter().enumerate().map(delay).collect(),
            memory_bytes: after.most_bytes,
        })
    }

    fn late_ms(&self) -> Option<f64> {
        let late = self.gathered.generators.iter().map(|one| one.late);
        let late = late.collect::<Option<Vec<_>>>()?;
        late.into_iter().max().map(|late| 1e3 * late.as_secs_f64())
    }

    fn most_delay_s(&self) -> Option<f64> {
        self.delays_s.iter().copied().reduce(f64::max)
    }

    fn row(&self) -> [String; 9] {
        let (seconds, count) = (self.seconds as f64, f64::from(self.generators));
        let of_one = seconds * count;
        let (most, late) = (self.most_delay_s(), self.late_ms());
        [
            self.generators.to_string(),
            format!("{:.0}", self.requests as f64 / seconds),
            format!("{:.1}", self.told_bytes / 1e6 / seconds),
            format!("{:.1}", self.told_bytes / 1e3 / of_one),
            format!("{:.3}", self.cpu_s / seconds),
            format!("{:.2}", 1e3 * self.cpu_s / of_one),
            format!(
                "{:.2} ({:.2})",
                median(&self.delays_s).unwrap_or(f64::NAN),
                most.unwrap_or(f64::NAN)
            ),
            late.map_or("one did not begin".to_string(), |late| format!("{late:.1}")),
            format!("{:.0}", self.memory_bytes / 1e6),
        ]
    }

    fn bars(&self) -> [Bar; 3] {
        let of = |what: &str| format!("{} generators: {what}", self.generators);
        let lost = self.gathered.generators.iter().filter(|one| one.lost_at.is_some()).count();
        [
            Bar::new(of("lost"), Some(lost as f64), Limit::AtMost(0.0)),
            Bar::new(of("began late at most, ms"), self.late_ms(), Limit::AtMost(50.0)),
            Bar::new(of("merged, s after its end"), self.most_delay_s(), Limit::AtMost(1.0)),
        ]
    }
}

/// What this process has used so far.
struct Used {
    cpu_s: f64,
    most_bytes: f64,
}

fn used() -> Used {
    // SAFETY: all zeros is a valid `rusage`, which is ours and lives through the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Used {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        most_bytes: usage.ru_maxrss as f64 * 1024.0,
    }
}
