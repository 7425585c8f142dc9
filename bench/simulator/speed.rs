//! Requests and events a second on one core, and whether memory grows with the run.

use std::time::Instant;

use sweetspot::model::simulator::{RequestKind, Server, Simulator};
use sweetspot::terms::{Arrivals, Offered, Rate};

use crate::common::Result;
use crate::common::bars::{Bar, Limit};
use crate::common::spread::Spread;
use crate::common::table::table;

/// How often each case is run.
const TIMES: usize = 7;
const REQUESTS: f64 = 2e6;

struct Case {
    words: &'static str,
    server: Server,
    kind: RequestKind,
    /// Million requests and events a second at least.
    least: (f64, f64),
}

/// Requests/s that are due.
const RATE: f64 = 280.0;

pub fn run() -> Result<Vec<Bar>> {
    let burst = RequestKind { cpu_s: 0.01, cv2: 1.0, ..RequestKind::default() };
    let server = || Server::new(4, 5, 4.0);
    let case = |words, kind, least| Case { words, server: server(), kind, least };
    let cases = [
        case("4 x 5, one burst, no wait", burst, (1.0, 0.0)),
        case(
            "4 x 5, one burst that varies as measured, no wait",
            RequestKind { cv2: 0.5, ..burst },
            (0.0, 0.0),
        ),
        case(
            "4 x 5, seven bursts and six waits",
            RequestKind { wait_s: 0.03, waits: 6, ..burst },
            (0.0, 3.0),
        ),
    ];
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for case in &cases {
        let speed = Speed::of(case)?;
        let [requests, events] = [&speed.requests, &speed.events];
        let [tenth, all] = speed.memory_kib;
        let bar = |what: &str, figure, least| {
            (least > 0.0).then(|| {
                let what = format!("{}: {what}", case.words);
                Bar::new(what, Some(figure), Limit::AtLeast(least))
            })
        };
        bars.extend(bar("million requests/s", requests.median, case.least.0));
        bars.extend(bar("million events/s", events.median, case.least.1));
        let grown = all.saturating_sub(tenth) as f64;
        let what = format!("{}: memory after a tenth and after all, KiB more", case.words);
        // A page or so is the allocator's.
        bars.push(Bar::new(what, Some(grown), Limit::AtMost(64.0)));
        rows.push([
            case.words.to_string(),
            requests.range(1.0, 2),
            events.range(1.0, 2),
            format!("{tenth} KiB, {all} KiB"),
        ]);
    }
    let head =
        ["simulated", "million requests/s", "million events/s", "memory after a tenth, and all"];
    println!("{}", table(&head, rows));
    Ok(bars)
}

/// Of several runs, a second; and the memory of the last.
struct Speed {
    requests: Spread,
    events: Spread,
    memory_kib: [u64; 2],
}

impl Speed {
    fn of(case: &Case) -> Result<Self> {
        let (mut requests, mut events, mut memory_kib) = (Vec::new(), Vec::new(), [0; 2]);
        for seed in 0..TIMES as u64 {
            let began = Instant::now();
            let mut simulator = Simulator::new(case.server.clone(), vec![case.kind], seed);
            let rate = Rate::per_second(RATE)?;
            simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, seed);
            let mut replies = 0_u64;
            for (share, kib) in [0.1, 1.0].into_iter().zip(&mut memory_kib) {
                simulator.run_until(share * REQUESTS / RATE, &mut |_| replies += 1);
                *kib = resident_bytes()? / 1024;
            }
            let million_s = 1e6 * began.elapsed().as_secs_f64();
            requests.push(replies as f64 / million_s);
            events.push(simulator.events() as f64 / million_s);
        }
        let spread = |values: &[f64]| Spread::of(values).ok_or("nothing was run");
        Ok(Self { requests: spread(&requests)?, events: spread(&events)?, memory_kib })
    }
}

fn resident_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no resident pages in statm")?.parse()?;
    Ok(pages * 4096)
}
