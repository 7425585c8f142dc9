//! A session as long as any: the trials of the sample again and again, with many seconds each.

use std::time::Duration;

use sweetspot::terms::*;

use super::sample;

/// The sample with this many trials, of this many seconds each.
pub fn events(trials: usize, seconds: usize) -> Vec<Event> {
    let events = sample::events();
    let is_trial = |event: &Event| {
        matches!(event.kind, EventKind::TrialStarted { .. } | EventKind::TrialFinished { .. })
    };
    let finished: Vec<&Event> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::TrialFinished { .. }))
        .collect();
    let mut longer: Vec<Event> = events.iter().filter(|event| !is_trial(event)).cloned().collect();
    // How it ended stands at its end.
    let ended = longer.pop();
    for id in 0..trials {
        let mut event = finished[id % finished.len()].clone();
        let EventKind::TrialFinished { summary, load, monitor } = &mut event.kind else { continue };
        summary.id = id as u32 + 1;
        let uneven = |at: usize| ((at * 7919 + id * 104_729) % 1000) as f64 / 1000.0;
        summary.summary.windows = (0..seconds).map(|at| window(at, uneven(at))).collect();
        monitor.seconds = (0..seconds).map(|at| watched(at, &uneven)).collect();
        load.seconds = vec![LoadSecond::default(); seconds];
        for second in &mut load.seconds {
            second.latency.record(Duration::from_micros(12_345));
        }
        longer.push(event);
    }
    longer.extend(ended);
    longer
}

fn window(at: usize, uneven: f64) -> Window {
    let latency = |times: f64| 0.012_345 * times * (1.0 + uneven);
    Window {
        start_s: at as f64,
        due: 400 + (uneven * 40.0) as u64,
        sent: 400 + (uneven * 40.0) as u64,
        completed: 400 + (uneven * 39.0) as u64,
        errors: 0,
        failed: 0,
        latency_s: WindowLatency {
            p50: latency(1.0),
            p95: latency(4.0),
            p99: latency(9.0),
            max: latency(20.0),
        },
        in_flight: (uneven * 20.0) as u64,
    }
}

/// Eight workers and their master.
fn watched(at: usize, uneven: &impl Fn(usize) -> f64) -> MonitorSecond {
    let process = |index: u16| ProcessUse {
        pid: 4100 + u32::from(index),
        role: if index == 0 { Role::Master } else { Role::Worker },
        index: (index > 0).then(|| index - 1),
        name: format!("puma: cluster worker {index}: 4099 [shop]"),
        cpu_s: uneven(at + usize::from(index)),
        ..ProcessUse::default()
    };
    MonitorSecond {
        at_s: at as f64,
        length_s: 1.0,
        processes: (0..9).map(process).collect(),
        listen_queue: Some((uneven(at) * 30.0) as u32),
        ..MonitorSecond::default()
    }
}
