//! What is measured and what it is held against.
//!
//! In: how long and how often. Out: the cases, as values: [`all`] is the list of the report's
//! sections.

use super::Settings;
use super::rows::Row;
use super::tool::Load;
use super::tool::Tool::{self, Ab, H2load, Hey, K6, Oha, Ours, Vegeta, Wrk, Wrk2};
use crate::common::bars::Limit;

/// One section of the report: some tools under one load.
pub struct Case {
    /// `CASES` names it, or the part before its first hyphen.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows and how, in a few sentences.
    pub about: &'static str,
    /// Ours and the one it is compared with stand side by side: they run one right after the other.
    pub tools: Vec<Tool>,
    pub load: Load,
    pub seconds: u64,
    pub rounds: u32,
    pub server: Server,
    /// Processes that compute beside them, on either core in turn, the tool's first.
    pub busy: u32,
    pub under: Under,
    pub columns: &'static [Column],
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Nginx,
    NginxTls,
    /// See stalling.rs.
    Stalling,
}

impl Case {
    /// Whether the server is looked at once a second, which costs it a request: only where it is
    /// needed.
    pub fn asks_server(&self) -> bool {
        self.columns.iter().any(|column| [CONNECTIONS.title, EXACT.title].contains(&column.title))
    }
}

/// What watches the tool from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Under {
    Nothing,
    Strace,
    Callgrind,
}

/// A figure as the report shows it.
#[derive(Clone, Copy)]
pub struct Column {
    pub figure: fn(&Row) -> Option<f64>,
    pub title: &'static str,
    pub scale: f64,
    pub digits: usize,
}

/// What the figures are held against.
pub struct Bar {
    pub what: &'static str,
    pub column: Column,
    pub against: Against,
    pub limit: Limit,
}

pub enum Against {
    /// Ours alone.
    Nothing,
    /// Ours alone, in the worst of its runs.
    Worst,
    /// Ours divided by this tool's of the same round.
    Peer(Tool),
    /// Ours divided by ours in this earlier case.
    Case(&'static str),
}

const fn column(
    figure: fn(&Row) -> Option<f64>,
    title: &'static str,
    scale: f64,
    digits: usize,
) -> Column {
    Column { figure, title, scale, digits }
}

const RATE: Column = column(|row| row.throughput_rps, "requests/s", 1.0, 0);
const CPU: Column = column(|row| row.cpu_s_per_request, "CPU µs a request", 1e6, 2);
const USER: Column = column(|row| row.cpu_user_s_per_request, "of it user, µs", 1e6, 2);
const P50: Column = column(|row| row.latency_s_p50, "p50, ms", 1e3, 3);
const P99: Column = column(|row| row.latency_s_p99, "p99, ms", 1e3, 3);
const MAX: Column = column(|row| row.latency_s_max, "max, ms", 1e3, 1);
const LAG50: Column = column(|row| row.send_lag_s_p50, "send lag p50, µs", 1e6, 0);
const LAG99: Column = column(|row| row.send_lag_s_p99, "send lag p99, µs", 1e6, 0);
const EXACT: Column = column(|row| row.exact_share, "seconds within 0.5 % at the server", 1.0, 2);
const PLANNED: Column = column(|row| row.exact_share_planned, "the same by its windows", 1.0, 2);
const ERRORS: Column = column(|row| row.errors, "errors", 1.0, 0);
const MEMORY: Column = column(|row| row.rss_bytes_max, "peak memory, MB", 1e-6, 1);
const CONNECTIONS: Column = column(|row| row.connections, "connections open at once", 1.0, 0);
const CALLS: Column = column(|row| row.system_calls_per_request, "system calls a request", 1.0, 3);
const INSTRUCTIONS: Column =
    column(|row| row.instructions_per_request, "instructions a request", 1.0, 0);

const VALID: Column = column(|row| row.valid, "valid", 1.0, 0);
const LATE_SAID: Column = column(|row| row.late_said_s, "said to be late after, s", 1.0, 0);
const HONEST: Column = column(honest, "honest", 1.0, 0);

/// Whether the rate was held or else said within three seconds not to be: 1 or 0.
fn honest(row: &Row) -> Option<f64> {
    let (rps, sent) = (row.throughput_rps?, row.requests? / row.seconds as f64);
    let is_held = row.valid? > 0.0 && (sent.min(rps) / row.planned_rps? - 1.0).abs() <= 0.01;
    let is_said = row.valid? == 0.0 && row.late_said_s.is_some_and(|after_s| after_s <= 3.0);
    Some(f64::from(is_held || is_said))
}

fn bar(what: &'static str, column: Column, against: Against, limit: Limit) -> Bar {
    Bar { what, column, against, limit }
}

/// Every case, in the order of the report.
pub fn all(settings: &Settings) -> Vec<Case> {
    let mut cases = vec![
        closed(),
        big(),
        open("open-20000", "Open, 20,000 a second", 20_000, 0.65, 150.0),
        open("open-1000", "Open, 1,000 a second", 1_000, 1.0, 100.0),
    ];
    cases.extend(memory(settings));
    cases.extend(idle());
    cases.extend([fresh(), tls()]);
    cases.extend(http2());
    cases.push(omission());
    cases.extend(strain());
    cases.push(syscalls());
    if settings.counts_instructions {
        cases.extend(instructions());
    }
    for case in cases.iter_mut().filter(|case| case.seconds == 0) {
        (case.seconds, case.rounds) = (settings.seconds, settings.pairs);
    }
    cases
}

/// 64 clients that keep their connections; how long and how often is the settings' unless said.
fn plain(name: &'static str, title: &'static str, about: &'static str) -> Case {
    Case {
        name,
        title,
        about,
        tools: vec![Ours, Wrk],
        load: Load {
            connections: 64,
            rate: None,
            think_ms: 0,
            loops: 1,
            shows_progress: false,
            is_fresh: false,
            streams: None,
            path: "/",
        },
        seconds: 0,
        rounds: 0,
        server: Server::Nginx,
        busy: 0,
        under: Under::Nothing,
        columns: &[RATE, CPU, USER],
        bars: Vec::new(),
    }
}

fn closed() -> Case {
    Case {
        tools: vec![Ours, Wrk, Ab, H2load, Hey, Oha],
        columns: &[RATE, CPU, USER, P50, P99, ERRORS],
        bars: vec![
            bar("CPU a request", CPU, Against::Peer(Wrk), Limit::AtMost(0.80)),
            bar("user CPU a request", USER, Against::Peer(Wrk), Limit::AtMost(0.45)),
            bar("throughput", RATE, Against::Peer(Wrk), Limit::AtLeast(0.97)),
        ],
        ..plain(
            "closed",
            "Closed and saturated",
            "64 clients ask again as soon as they are answered. Latency is then mostly waiting in \
             the server's queue, and says nothing about a tool.",
        )
    }
}

fn big() -> Case {
    let plain = plain(
        "big",
        "Replies of 100 kB",
        "As above, with replies that take many reads: what a byte costs instead of a request.",
    );
    Case {
        load: Load { path: "/big", ..plain.load },
        bars: vec![bar("CPU a request", CPU, Against::Peer(Wrk), Limit::AtMost(0.55))],
        ..plain
    }
}

const OPEN_ABOUT: &str = "\
     Requests are due at a fixed rate, whatever the server does. The server's own count, looked \
     at once a second, says which seconds had the rate planned; seconds in which the host took \
     time from either core are left out. A tool that doesn't hold the rate shows what it reached.";

const OPEN_TOOLS: &[Tool] = &[Ours, Oha, Vegeta, K6, Wrk2];
const OPEN_COLUMNS: &[Column] = &[RATE, CPU, LAG50, LAG99, EXACT, PLANNED, P50, P99, ERRORS];

/// `cpu`: of oha's, a request; `lag_us`: 99th percentile of how late requests are sent.
fn open(name: &'static str, title: &'static str, rate: u32, cpu: f64, lag_us: f64) -> Case {
    let plain = plain(name, title, OPEN_ABOUT);
    Case {
        tools: OPEN_TOOLS.to_vec(),
        load: Load { rate: Some(rate), ..plain.load },
        columns: OPEN_COLUMNS,
        bars: vec![
            bar("CPU a request", CPU, Against::Peer(Oha), Limit::AtMost(cpu)),
            bar("send lag p99, µs", LAG99, Against::Nothing, Limit::AtMost(lag_us)),
        ],
        ..plain
    }
}

const MEMORY_ABOUT: &str = "\
     The highest resident memory of the process, by the kernel (`ru_maxrss`), under closed load. \
     Connections are what the server saw open at once.";

/// A short and a long run with few and with many connections. The long one shows whether a tool
/// keeps what it measured.
fn memory(settings: &Settings) -> [Case; 4] {
    let case = |name, title, connections, limit_mb| {
        let plain = plain(name, title, MEMORY_ABOUT);
        Case {
            tools: vec![Ours, Wrk, Ab, H2load, Hey, Oha],
            load: Load { connections, ..plain.load },
            seconds: settings.short,
            rounds: 1,
            columns: &[MEMORY, CONNECTIONS, RATE, ERRORS],
            bars: vec![bar("peak memory, MB", MEMORY, Against::Nothing, Limit::AtMost(limit_mb))],
            ..plain
        }
    };
    let long = |mut case: Case, short: &'static str| {
        (case.tools, case.seconds) = (vec![Ours, Wrk, Oha], settings.long);
        case.bars.push(bar("growth", MEMORY, Against::Case(short), Limit::AtMost(1.05)));
        case
    };
    let few = "Memory, 64 connections";
    let many = "Memory, 10,000 connections";
    [
        case("memory-64", few, 64, 12.0),
        long(case("memory-64-long", "Memory, 64 connections, longer", 64, 12.0), "memory-64"),
        case("memory-10000", many, MANY, 160.0),
        long(
            case("memory-10000-long", "Memory, 10,000 connections, longer", MANY, 160.0),
            "memory-10000",
        ),
    ]
}

/// Many connections: each needs a file descriptor in a tool and in the server.
pub const MANY: u32 = 10_000;

/// The same rate by few clients and by many, who wait most of the time.
fn idle() -> [Case; 2] {
    let case = |name, title, connections: u32| {
        let about = "Each client asks again some time after it was answered: 1,000 requests a \
                     second in all. What a connection costs that does nothing most of the time.";
        let plain = plain(name, title, about);
        Case {
            tools: vec![Ours],
            load: Load { connections, think_ms: connections, ..plain.load },
            columns: &[RATE, CPU, USER, ERRORS],
            ..plain
        }
    };
    let many = case("idle-10000", "1,000 a second over 10,000 connections", MANY);
    let ratio = bar("CPU a request", CPU, Against::Case("idle-64"), Limit::AtMost(1.2));
    // All have asked once in the first ten seconds.
    let many = Case { bars: vec![ratio], seconds: 30, rounds: 3, ..many };
    let few = case("idle-64", "1,000 a second over 64 connections", 64);
    [Case { seconds: 30, rounds: 3, ..few }, many]
}

fn fresh() -> Case {
    let plain = plain(
        "fresh",
        "A fresh connection for each request",
        "64 at once. What is compared is how many requests a second get through.",
    );
    Case {
        tools: vec![Ours, Ab],
        load: Load { is_fresh: true, ..plain.load },
        columns: &[RATE, CPU, USER, ERRORS],
        bars: vec![bar("throughput", RATE, Against::Peer(Ab), Limit::AtLeast(1.0))],
        ..plain
    }
}

fn tls() -> Case {
    Case {
        server: Server::NginxTls,
        columns: &[RATE, CPU, USER, ERRORS],
        bars: vec![bar("CPU a request", CPU, Against::Peer(Wrk), Limit::AtMost(1.1))],
        ..plain(
            "tls",
            "TLS 1.3, connections kept",
            "64 clients over https; the server allows one cipher (TLS_AES_128_GCM_SHA256), so that \
             both do the same work.",
        )
    }
}

/// Closed, counted, and open.
fn http2() -> [Case; 3] {
    let case = |name, title, about| {
        let plain = plain(name, title, about);
        Case {
            tools: vec![Ours, H2load],
            load: Load { streams: Some(8), ..plain.load },
            server: Server::NginxTls,
            columns: &[RATE, CPU, USER, ERRORS],
            ..plain
        }
    };
    let closed = case(
        "http2",
        "HTTP/2 over TLS, 8 connections",
        "64 requests under way, 8 on each connection.",
    );
    let calls = case("http2-syscalls", "System calls a request, HTTP/2", SYSCALLS_ABOUT);
    let open = case("http2-open", "HTTP/2, open, 10,000 a second", OPEN_ABOUT);
    [
        Case {
            bars: vec![
                bar("CPU a request", CPU, Against::Peer(H2load), Limit::AtMost(0.9)),
                bar("throughput", RATE, Against::Peer(H2load), Limit::AtLeast(1.0)),
            ],
            ..closed
        },
        Case { seconds: 2, rounds: 1, under: Under::Strace, columns: &[CALLS], ..calls },
        Case {
            tools: vec![Ours],
            load: Load { rate: Some(10_000), ..open.load },
            columns: OPEN_COLUMNS,
            bars: vec![bar("send lag p99, µs", LAG99, Against::Nothing, Limit::AtMost(200.0))],
            ..open
        },
    ]
}

fn omission() -> Case {
    let plain = plain(
        "omission",
        "A server that stands still",
        "It answers at once, but stands still for 1 s in every 10 s. Of 100 requests due a second, \
         300 of the 3,000 in 30 s fall into a stall and wait what is left of it, evenly between 0 \
         and 1 s: one in a hundred of all waits longer than 0.9 s, and the longest 1 s. That is \
         what users would meet. The 10 connections of wrk, ab and hey stand still too, and ask \
         nothing meanwhile; wrk adds afterwards what its own mean rate would have asked. k6 has 40 \
         users at most.",
    );
    let p99 = |limit| bar("p99, ms", P99, Against::Nothing, limit);
    Case {
        tools: vec![Ours, Wrk, Ab, Hey, Oha, Vegeta, K6],
        load: Load { rate: Some(100), connections: 10, ..plain.load },
        seconds: 30,
        rounds: 1,
        server: Server::Stalling,
        columns: &[RATE, P50, P99, MAX, ERRORS],
        bars: vec![
            p99(Limit::AtLeast(850.0)),
            p99(Limit::AtMost(950.0)),
            bar("max, ms", MAX, Against::Nothing, Limit::AtLeast(950.0)),
        ],
        ..plain
    }
}

/// Beside 1, 2 and 4 processes that compute, on two cores.
fn strain() -> [Case; 4] {
    let case = |name, title, busy, rate| {
        let about = "Processes that compute share both cores with nginx and with the tool. Then \
                     either its rate is held, within 1 %, and its figures are the server's, or it \
                     says that it is late within the first three seconds and that its figures are \
                     not valid. 1 is a run that does one of the two.";
        let plain = plain(name, title, about);
        Case {
            tools: vec![Ours],
            load: Load { rate: Some(rate), shows_progress: true, ..plain.load },
            seconds: 10,
            busy,
            columns: &[RATE, LAG99, P99, VALID, LATE_SAID, HONEST, ERRORS],
            bars: vec![bar("honest runs", HONEST, Against::Worst, Limit::AtLeast(1.0))],
            ..plain
        }
    };
    let cases = [
        case("strain-1", "Beside one busy process, 1,000 a second", 1, 1_000),
        case("strain-2", "Beside two busy processes, 1,000 a second", 2, 1_000),
        case("strain-4", "Beside four busy processes, 1,000 a second", 4, 1_000),
        case("strain-4-fast", "Beside four busy processes, 10,000 a second", 4, 10_000),
    ];
    cases.map(|case| Case { rounds: 5, ..case })
}

const SYSCALLS_ABOUT: &str = "\
     The closed case under `strace -c -f`. Tracing slows the tool and not the server, so that \
     fewer replies wait at each look than otherwise: calls that serve many replies at once \
     (epoll_wait) are over-counted.";

fn syscalls() -> Case {
    Case {
        seconds: 2,
        rounds: 1,
        under: Under::Strace,
        columns: &[CALLS],
        ..plain("syscalls", "System calls a request", SYSCALLS_ABOUT)
    }
}

/// Of one loop, and of two: what a request needs with two is what two cores cannot gain.
fn instructions() -> [Case; 2] {
    let case = |name, title, loops| {
        let about = "Ours under `valgrind --tool=callgrind`, once with few requests and once with \
                     many: the difference is free of start and end. The kernel's are not counted.";
        let plain = plain(name, title, about);
        Case {
            tools: vec![Ours],
            load: Load { loops, ..plain.load },
            seconds: 1,
            rounds: 1,
            under: Under::Callgrind,
            columns: &[INSTRUCTIONS],
            ..plain
        }
    };
    let two = case("instructions-2", "Instructions a request, two loops", 2);
    // 2.0 times the CPU for 1.9 times the requests.
    let limit = Limit::AtMost(2.0 / 1.9);
    let ratio = bar("instructions a request", INSTRUCTIONS, Against::Case("instructions"), limit);
    [case("instructions", "Instructions a request", 1), Case { bars: vec![ratio], ..two }]
}
