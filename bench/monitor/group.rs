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

use crate::Result;
use crate::crowd::{Crowd, Kind};

/// Prints how far both are apart.
pub fn compare(seconds: Duration) -> Result<()> {
    // A limit that nothing reaches: without one there is no group that counts memory.
    let limits = Limits { cores: None, memory_bytes: Some(16 << 30) };
    let name = format!("sweetspot-bench-{}", std::process::id());
    let group = Removed(cgroup::create(&groups::own(Path::new("/")), &name, limits));
    if !group.0.not_enforced.is_empty() {
        println!("\nno control group could be made: {:?}", group.0.not_enforced);
        return Ok(());
    }
    // As in a trial: else whoever watches is kept from looking by those that it watches.
    load::come_before_the_server();
    println!("\nagainst the control group's own figures over {} s\n", seconds.as_secs());
    for kind in [Kind::Large, Kind::Busy] {
        let crowd = Crowd::start(kind, Some(group.0.doors()))?;
        one(&crowd, kind, &group.0, seconds)?;
    }
    Ok(())
}

fn one(crowd: &Crowd, kind: Kind, group: &Group, seconds: Duration) -> Result<()> {
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
    let ours: f64 = second.processes.iter().map(|process| process.cpu_s).sum();
    let group = second.group.unwrap_or_default();
    println!("{}:", kind.words());
    match group.cpu_s {
        Some(theirs) => println!(
            "  CPU: processes {ours:.4} s, group {theirs:.4} s, {:+.3} %",
            (ours / theirs - 1.0) * 100.0
        ),
        None => println!("  CPU: this group does not count it"),
    }
    let ours: u64 = memory.iter().filter_map(|process| process.pss_anonymous_bytes).sum();
    match group.anonymous_bytes {
        Some(theirs) => println!(
            "  anonymous memory: processes {} KiB, group {} KiB, {:+.2} %",
            ours >> 10,
            theirs >> 10,
            (ours as f64 / theirs as f64 - 1.0) * 100.0
        ),
        None => println!("  anonymous memory: this group does not count it"),
    }
    Ok(())
}

struct Removed(Group);

impl Drop for Removed {
    fn drop(&mut self) {
        if let Err(error) = self.0.remove() {
            println!("the control group could not be removed: {error}");
        }
    }
}
