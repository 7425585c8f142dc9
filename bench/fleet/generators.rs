//! Generators that send nothing and tell what generators tell, a thread each.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, LogNormal};
use sweetspot::fleet::Gate;
use sweetspot::load::monotonic_ns;
use sweetspot::terms::{
    Arrivals, GeneratorUse, Latencies, LiveSecond, LoadRun, LoadSecond, Offered, Phase, Rate,
};

use crate::common::Result;

/// Between two signs of life, as generators have it.
const ALIVE: Duration = Duration::from_millis(200);

/// What all have in common with the collector.
pub fn gate() -> Gate {
    let text = String::from;
    Gate { version: text("bench"), token: text("bench"), load: text("bench") }
}

/// What all of them told of themselves, on the last line of the output.
pub struct Told {
    pub bytes: u64,
    /// By the monotonic clock that all processes of a machine share.
    pub began_ns: u64,
}

impl Told {
    pub fn read(line: &str) -> Result<Self> {
        let (bytes, began_ns) = line.split_once(' ').ok_or("the generators told nothing")?;
        Ok(Self { bytes: bytes.parse()?, began_ns: began_ns.parse()? })
    }
}

/// Is them all: `ADDRESS GENERATORS SECONDS RATE`.
pub fn be(arguments: &[&str]) -> Result<()> {
    let [address, generators, seconds, rate] = arguments else {
        return Err("usage: fleet ADDRESS GENERATORS SECONDS RATE".into());
    };
    let (seconds, rate): (u64, u64) = (seconds.parse()?, rate.parse()?);
    let lines = Arc::new(Lines::new(seconds, rate)?);
    let begin = |_| {
        let (address, lines) = (address.to_string(), Arc::clone(&lines));
        thread::spawn(move || Generator::connect(&address)?.work(&lines))
    };
    let threads: Vec<_> = (0..generators.parse::<u16>()?).map(begin).collect();
    let mut all = Told { bytes: 0, began_ns: u64::MAX };
    for thread in threads {
        let told = thread.join().map_err(|_| "a generator panicked")??;
        all.bytes += told.bytes;
        all.began_ns = all.began_ns.min(told.began_ns);
    }
    println!("{} {}", all.bytes, all.began_ns);
    Ok(())
}

/// What each of them says, written beforehand.
struct Lines {
    /// Of each second: as it is by the clock, and its record.
    seconds: Vec<Vec<u8>>,
    ended: Vec<u8>,
}

impl Lines {
    fn new(seconds: u64, rate: u64) -> Result<Self> {
        let second = LoadSecond {
            due: rate,
            sent: rate,
            status: [(200, rate)].into(),
            latency: latencies(rate, 0.005)?,
            exchange_time: latencies(rate, 0.0045)?,
            send_lag: latencies(rate, 0.000_05)?,
            replies: rate,
            in_flight: 300,
            in_flight_mean: 300.0,
            bytes_in: 200 * rate,
            bytes_out: 100 * rate,
            ..LoadSecond::default()
        };
        let of = |at: u64| -> Result<Vec<u8>> {
            let live = LiveSecond {
                at: Duration::from_secs(at + 1),
                phase: Phase::Measure,
                due: rate,
                sent: rate,
                replies: rate,
                errors: 0,
                in_flight: 300,
                in_flight_mean: 300.0,
                p95: Some(Duration::from_millis(20)),
                send_lag_p99: None,
            };
            Ok([line(&json!({ "live": live }))?, line(&json!({ "second": second }))?].concat())
        };
        let length = Duration::from_secs(seconds);
        let run = LoadRun {
            offered: Offered::Open {
                rate: Rate::per_second(rate as f64)?,
                arrivals: Arrivals::Poisson,
            },
            warm_up: Duration::ZERO,
            duration: length,
            last_reply: length,
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        Ok(Self {
            seconds: (0..seconds).map(of).collect::<Result<_>>()?,
            ended: line(&json!({ "ended": run }))?,
        })
    }
}

/// So many, of a lognormal distribution with this median, seconds.
fn latencies(count: u64, median_s: f64) -> Result<Latencies> {
    let times = LogNormal::new(median_s.ln(), 0.8)?;
    let mut latencies = Latencies::default();
    for at in 0..count {
        let share = (at as f64 + 0.5) / count as f64;
        latencies.record(Duration::from_secs_f64(times.inverse_cdf(share)));
    }
    Ok(latencies)
}

fn line(message: &Value) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

struct Generator {
    orders: BufReader<TcpStream>,
    writer: TcpStream,
    bytes: u64,
    began_ns: u64,
}

impl Generator {
    fn connect(address: &str) -> Result<Self> {
        let writer = TcpStream::connect(address)?;
        writer.set_nodelay(true)?;
        let orders = BufReader::new(writer.try_clone()?);
        Ok(Self { orders, writer, bytes: 0, began_ns: 0 })
    }

    fn say(&mut self, line: &[u8]) -> Result<()> {
        self.bytes += line.len() as u64;
        Ok(self.writer.write_all(line)?)
    }

    fn tell(&mut self, message: &Value) -> Result<()> {
        self.say(&line(message)?)
    }

    fn work(mut self, lines: &Lines) -> Result<Told> {
        self.tell(&json!({ "hello": gate() }))?;
        let mut order = String::new();
        loop {
            order.clear();
            if self.orders.read_line(&mut order)? == 0 {
                return Err("the collector is gone".into());
            }
            let order: Value = serde_json::from_str(&order)?;
            if order == "bye" {
                return Ok(Told { bytes: self.bytes, began_ns: self.began_ns });
            } else if let Some(ping) = order.get("ping") {
                let pong = json!({ "number": ping["number"], "at_ns": monotonic_ns() });
                self.tell(&json!({ "pong": pong }))?;
            } else if order.get("load").is_some() {
                self.tell(&json!("ready"))?;
            } else if let Some(begin) = order.get("begin") {
                self.begin(begin["at_ns"].as_u64().ok_or("no moment was named")?, lines)?;
            } else {
                return Err(format!("the collector said: {order}").into());
            }
        }
    }

    fn begin(&mut self, at_ns: u64, lines: &Lines) -> Result<()> {
        thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
        self.began_ns = at_ns;
        let late = Duration::from_nanos(monotonic_ns().saturating_sub(at_ns));
        self.tell(&json!({ "began": { "late": late } }))?;
        for (second, line) in lines.seconds.iter().enumerate() {
            let end_ns = at_ns + (second as u64 + 1) * 1_000_000_000;
            loop {
                let left = Duration::from_nanos(end_ns.saturating_sub(monotonic_ns()));
                if left.is_zero() {
                    break;
                }
                thread::sleep(left.min(ALIVE));
                self.tell(&json!("alive"))?;
            }
            self.say(line)?;
        }
        self.say(&lines.ended)
    }
}
