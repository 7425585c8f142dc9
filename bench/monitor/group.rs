//! The monitor's sums beside the control group's own: CPU time, and anonymous memory.
//!
//! In: nothing. Out: lines of figures. Says so where no group can be made.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sweetspot::load;
use sweetspot::monitor::{CoreChoice, Sampler, Watched, groups};
use sweetspot::place::local::cgroup::{self, Group, Limits};
use sweetspot::terms::Role;

use super::crowd::{Crowd, Kind};
use crate::common::Result;
use crate::common::bars::{Bar, Limit};

/// How far both are apart; nothing where no group can be made.
pub fn compare(seconds: Duration) -> Result<Vec<Bar>> {
    // A limit that nothing reaches: without one there is no group that counts memory.
    let limits = Limits { cores: None, memory_bytes: Some(16 << 30) };
    let name = format!("sweetspot-bench-{}", std::process::id());
    let group = Removed(cgroup::create(&groups::own(Path::new("/")), &name, limits));
    if !group.0.not_enforced.is_empty() {
        println!("\nno control group could be made: {:?}", group.0.not_enforced);
        return Ok(Vec::new());
    }
    // As in a trial: else whoever watches is kept from looking by those that it watches.
    load::come_before_the_server();
    println!("\nagainst the control group's own figures over {} s\n", seconds.as_secs());
    let mut bars = Vec::new();
    for kind in [Kind::Large, Kind::Busy] {
        let crowd = Crowd::start(kind, Some(group.0.join_files()))?;
        bars.extend(one(&crowd, kind, &group.0, seconds));
    }
    Ok(bars)
}

fn one(crowd: &Crowd, kind: Kind, group: &Group, seconds: Duration) -> [Bar; 2] {
    // All of them have come by then.
    thread::sleep(Duration::from_secs(1));
    let processes = Watched::processes(vec![crowd.root()], Box::new(|_| Role::Worker));
    let watched = Watched { group: group.watched(), ..processes };
    let mut sampler = Sampler::start(watched, CoreChoice::All);
    let origin = Instant::now();
    // The first interval ends at once: from here on both count from the same moment.
    sampler.close(origin);
    let end = Instant::now() + seconds;
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
        sampler.look(false);
    }
    let second = sampler.close(origin);
    let memory = sampler.memory();
    let cpu_s: f64 = second.processes.iter().map(|process| process.cpu_s).sum();
    let group = second.group.unwrap_or_default();
    let bytes: u64 = memory.iter().filter_map(|process| process.pss_anonymous_bytes).sum();
    let (kib, group_kib) = (bytes >> 10, group.anonymous_bytes.map(|bytes| bytes >> 10));
    let apart = |ours: f64, theirs: f64| ((ours / theirs - 1.0) * 100.0).abs();
    let bar = |what: &str, apart: Option<f64>, most, figures: String| {
        let text = apart.map_or("not counted".to_string(), |it| format!("{it:.3} ({figures})"));
        let what = format!("{}: {what}, %", kind.words());
        Bar::new(what, apart, Limit::AtMost(most)).shown(text)
    };
    [
        bar(
            "CPU apart",
            group.cpu_s.map(|theirs| apart(cpu_s, theirs)),
            0.5,
            format!("{cpu_s:.4} s, group {:.4} s", group.cpu_s.unwrap_or_default()),
        ),
        bar(
            "anonymous memory apart",
            group_kib.map(|theirs| apart(kib as f64, theirs as f64)),
            5.0,
            format!("{kib} KiB, group {} KiB", group_kib.unwrap_or_default()),
        ),
    ]
}

struct Removed(Group);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = self.0.remove() {
            println!("the control group could not be removed: {error}");
        }
    }
}
