//! Any bytes as an access log: it is refused with a reason, or gives targets that can be asked for,
//! as many requests as there are times for them, and times that rise.
//!
//! The first byte of the input says whether requests that may change something are taken, and
//! whether the log's rhythm is kept.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{LogSpec, Speed, read_fuzzed};
use sweetspot::terms::Target;

fuzz_target!(|data: &[u8]| {
    let [control, log @ ..] = data else { return };
    let spec = LogSpec {
        file: "-".into(),
        allows_unsafe_methods: control & 1 == 1,
        replay: (control & 2 == 2).then_some(Speed::SAME),
    };
    let mut traffic = match read_fuzzed(log, &spec) {
        Ok(traffic) => traffic,
        Err(reason) => return assert!(reason.contains("access log"), "{reason}"),
    };
    assert!(!traffic.targets.is_empty(), "a log without a target is refused");
    let lines = log.split(|byte| *byte == b'\n').count() as u64;
    let requests: u64 = traffic.targets.iter().map(|target| u64::from(target.weight)).sum();
    assert!((1..=lines).contains(&requests), "{requests} requests of {lines} lines");
    for target in &traffic.targets {
        let is_safe = ["GET", "HEAD", "OPTIONS"].contains(&target.method.as_str());
        assert!(is_safe || spec.allows_unsafe_methods, "{target}");
        let again = Target::new(&target.method, &target.path);
        assert!(again.is_ok_and(|again| again.path == target.path), "{target}");
    }
    let description = traffic.description(spec.replay);
    assert!(!description.contains('\n'), "{description}");
    if let Some(speed) = spec.replay {
        assert!(traffic.take_times(speed).is_ok(), "there are requests");
    }
});
