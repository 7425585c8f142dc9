//! Requests and events a second on one core, and whether memory grows with the run.

use std::time::Instant;

use sweetspot::model::simulator::{RequestKind, Server, Simulator};
use sweetspot::terms::{Arrivals, Offered, Rate};

use crate::Result;

/// Each case so often; the median is told.
const TIMES: usize = 7;
const REQUESTS: f64 = 2e6;

struct Case {
    words: &'static str,
    server: Server,
    kind: RequestKind,
    rate: f64,
}

pub fn run() -> Result<()> {
    let burst = RequestKind { cpu_s: 0.01, cv2: 1.0, ..RequestKind::default() };
    let waits = RequestKind { wait_s: 0.03, waits: 6, ..burst };
    let cases = [
        Case {
            words: "4 x 5, one burst, no wait",
            server: Server::new(4, 5, 4.0),
            kind: burst,
            rate: 280.0,
        },
        Case {
            words: "4 x 5, one burst that varies as measured, no wait",
            server: Server::new(4, 5, 4.0),
            kind: RequestKind { cv2: 0.5, ..burst },
            rate: 280.0,
        },
        Case {
            words: "4 x 5, seven bursts and six waits",
            server: Server::new(4, 5, 4.0),
            kind: waits,
            rate: 280.0,
        },
    ];
    println!(
        "| simulated | requests/s | events/s | least to most | memory after a tenth, and all |"
    );
    println!("|---|---|---|---|---|");
    for case in &cases {
        println!("{}", line(case)?);
    }
    println!();
    Ok(())
}

fn line(case: &Case) -> Result<String> {
    let mut runs = Vec::new();
    let mut memory = (0, 0);
    for seed in 0..TIMES as u64 {
        let began = Instant::now();
        let mut simulator = Simulator::new(case.server.clone(), vec![case.kind], seed);
        let rate = Rate::per_second(case.rate)?;
        simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, seed);
        let mut replies = 0_u64;
        simulator.run_until(0.1 * REQUESTS / case.rate, &mut |_| replies += 1);
        memory.0 = resident_bytes()?;
        simulator.run_until(REQUESTS / case.rate, &mut |_| replies += 1);
        memory.1 = resident_bytes()?;
        let took_s = began.elapsed().as_secs_f64();
        runs.push((replies as f64 / took_s, simulator.events() as f64 / took_s));
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (requests, events) = runs[TIMES / 2];
    let million = |value: f64| value / 1e6;
    Ok(format!(
        "| {} | {:.2} million | {:.2} million | {:.2} to {:.2} million events/s | {} KiB, {} KiB |",
        case.words,
        million(requests),
        million(events),
        million(runs[0].1),
        million(runs[TIMES - 1].1),
        memory.0 / 1024,
        memory.1 / 1024
    ))
}

fn resident_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no resident pages in statm")?.parse()?;
    Ok(pages * 4096)
}
