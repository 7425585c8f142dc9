//! The situations, each with what truly sets its limit, and the controls.
//!
//! In: nothing. Out: values. What the apps do is in `apps/`; why each truth is one is in
//! docs/evidence/diagnosis.md.

use std::time::Duration;

use sweetspot::terms::{ConnectionMode, LimitKind, Offered};

use super::situation::{Beside, Server, Service, Situation, Size};

/// All of them, in the order of the report.
pub fn all() -> Vec<Situation> {
    let mut all = vec![gvl(), cores(), threads(), pool(), mariadb(), memory(), quota()];
    all.extend([backlog(), pinned(), garbage(), nginx(), generator(), neighbour()]);
    all.extend(controls());
    all
}

fn situation(name: &'static str, truth: LimitKind, sizes: [Size; 2]) -> Situation {
    Situation { name, truth, is_control: false, sizes: sizes.into() }
}

/// 10 ms of computing in Ruby a request.
fn cpu() -> Size {
    Size::new("cpu", "/?ms=10")
}

/// Hardly anything but waiting for a service elsewhere.
fn wait(path: &'static str) -> Size {
    Size { services: &[Service::Slow], ..Size::new("wait", path) }
}

fn database(path: &'static str) -> Size {
    Size { services: &[Service::Mariadb], ..Size::new("database", path) }
}

/// One worker computes on two cores: its lock lets it use one of them.
fn gvl() -> Situation {
    situation("gvl", LimitKind::Gvl, [cpu().of(1, 5).under(20), cpu().of(1, 2).under(8)])
}

/// As many workers as cores, or more, compute.
fn cores() -> Situation {
    situation("cores", LimitKind::Cores, [cpu().of(2, 3).under(24), cpu().of(4, 2).under(32)])
}

/// All threads wait for a service that would serve many more.
fn threads() -> Situation {
    let size = wait("/?ms=100");
    let sizes = [size.clone().of(1, 2).under(12), size.of(2, 2).under(24)];
    situation("threads", LimitKind::Threads, sizes)
}

/// Many threads share one connection to the database, which is at rest otherwise.
fn pool() -> Situation {
    let size = Size { env: &[("POOL", "1")], ..database("/slow?ms=20") };
    let sizes = [size.clone().of(1, 8).under(16), size.of(2, 8).under(32)];
    situation("pool", LimitKind::Backend, sizes)
}

/// The database reads a whole table for every request, on the server's own cores.
fn mariadb() -> Situation {
    let size = database("/search");
    let sizes = [size.clone().of(1, 6).under(12), size.of(2, 4).under(16)];
    situation("mariadb", LimitKind::Backend, sizes)
}

/// At first size more is held than there may be, and the kernel kills; at the second what is read
/// again and again does not fit, and comes from the disk each time.
fn memory() -> Situation {
    let hold = Size::new("hold", "/export").of(2, 4).under(16);
    let hold = Size { services: &[Service::Slow], memory_mib: Some(256), ..hold };
    let read = Size::new("files", "/?pages=200").of(1, 2).under(8);
    let read = Size { memory_mib: Some(128), ..read };
    situation("memory", LimitKind::Memory, [hold, read])
}

/// The control group gets less than the workers could use, a slice at a time.
fn quota() -> Situation {
    let sizes = [
        Size { cores: Some(0.5), ..cpu().of(1, 3).under(12) },
        Size { cores: Some(1.5), ..cpu().of(3, 2).under(24) },
    ];
    situation("quota", LimitKind::Quota, sizes)
}

/// Three quarters of what the threads can do, in random arrivals, and almost no room to wait: with
/// the usual room all would be answered in time.
fn backlog() -> Situation {
    const PUMA: &str = "puma --workers {workers} --threads {threads}:{threads} \
                        --environment production \
                        --bind tcp://127.0.0.1:{port}?backlog=1 config.ru";
    let size = Size { server: Server::Command(PUMA), ..wait("/?ms=20&spread=1") };
    let sizes = [size.clone().of(2, 1).at(75.0), size.of(2, 2).at(150.0)];
    situation("backlog", LimitKind::Backlog, sizes)
}

/// Few connections, all of them kept, and all of them with one worker.
fn pinned() -> Situation {
    let size =
        Size { connection: ConnectionMode::KeepAlive, beside: Beside::StandingStill, ..cpu() };
    let sizes = [size.clone().of(2, 5).under(4), size.of(3, 5).under(4)];
    situation("pinned", LimitKind::Balance, sizes)
}

/// A large cache is renewed bit by bit, under settings that keep the heap small: most of the time
/// goes into looking for what can be freed.
fn garbage() -> Situation {
    const SAVING: [(&str, &str); 4] = [
        ("RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR", "1.05"),
        ("RUBY_GC_HEAP_FREE_SLOTS_MIN_RATIO", "0.03"),
        ("RUBY_GC_HEAP_FREE_SLOTS_GOAL_RATIO", "0.05"),
        ("RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO", "0.10"),
    ];
    let size = Size { env: &SAVING, is_probed: true, ..Size::new("garbage", "/renew") };
    let sizes = [size.clone().of(1, 3).under(12), size.of(2, 3).under(24)];
    situation("gc", LimitKind::Gc, sizes)
}

/// nginx has room for fewer requests than the threads behind it, and cuts the others off.
fn nginx() -> Situation {
    let few = |connections| {
        let beside = Beside::FewConnections(connections);
        Size { server: Server::PumaBehindNginx, beside, ..wait("/?ms=50") }
    };
    let sizes = [few(16).of(1, 16).under(32), few(24).of(2, 16).under(48)];
    situation("nginx", LimitKind::Proxy, sizes)
}

/// A server that costs next to nothing, on the core that the generator has too: more is due than it
/// can send there.
fn generator() -> Situation {
    let size = Size {
        server: Server::Command("sh start.sh {port}"),
        cores: None,
        connection: ConnectionMode::KeepAlive,
        // So that what can't be sent is soon given up.
        timeout: Duration::from_secs(2),
        beside: Beside::OneCore,
        ..Size::new("static", "/")
    };
    let sizes = [size.clone().at(120_000.0), size.at(240_000.0)];
    situation("generator", LimitKind::Generator, sizes)
}

/// Somebody else computes on the same cores.
fn neighbour() -> Situation {
    let sizes = [
        Size { beside: Beside::Busy(4), ..cpu().of(2, 3).under(24) },
        Size { beside: Beside::Busy(4), ..cpu().of(1, 5).under(20) },
    ];
    situation("neighbour", LimitKind::Host, sizes)
}

/// What must not be mistaken: each says what it truly is, or that it is unknown.
fn controls() -> [Situation; 5] {
    let control = |name, truth, size| {
        let sizes = vec![size];
        Situation { name, truth, is_control: true, sizes }
    };
    // The rules are asked as though it had been pushed: its figures alone must keep them from
    // naming anything.
    let light = Offered::Closed { clients: 2, think: Duration::from_millis(200) };
    let light = Size { offered: light, ..cpu().of(2, 3) };
    let nginx = Size { server: Server::PumaBehindNginx, ..cpu().of(1, 5).under(20) };
    let asleep = Size { beside: Beside::Asleep, ..cpu().of(2, 3).under(24) };
    [
        control("light", LimitKind::Unknown, light),
        control("half", LimitKind::Unknown, wait("/?ms=50").of(1, 16).at(160.0)),
        control("gvl-behind-nginx", LimitKind::Gvl, nginx),
        control(
            "cores-beside-mariadb",
            LimitKind::Cores,
            database("/compute?ms=10").of(2, 3).under(24),
        ),
        control("cores-beside-sleeper", LimitKind::Cores, asleep),
    ]
}
