//! What a server used, in words: a request's cost inside it, and what its memory is made of.
//!
//! In: what the events say. Out: sentences' parts.

use super::figures;
use super::story::Story;
use crate::terms::{InsideSummary, MemoryParts};

/// What a request cost inside the server, over all trials; `None` without a probe. What the probe
/// took is set against the CPU that the requests got.
pub fn inside(story: &Story) -> Option<String> {
    let as_it_is = story.trials.iter().filter(|trial| trial.variant.is_as_it_is());
    let told: Vec<InsideSummary> = as_it_is.filter_map(|trial| trial.inside).collect();
    let requests: u64 = told.iter().map(|one| one.requests).sum();
    if requests == 0 {
        return None;
    }
    let mean = |figure: &dyn Fn(&InsideSummary) -> f64| {
        told.iter().map(|one| figure(one) * one.requests as f64).sum::<f64>() / requests as f64
    };
    let ms = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    let optional = |figure: &dyn Fn(&InsideSummary) -> Option<f64>, what: &str| {
        let is_told = told.iter().all(|one| figure(one).is_some());
        let seconds = mean(&|one| figure(one).unwrap_or_default());
        if is_told { format!(", {} {what}", ms(seconds)) } else { String::new() }
    };
    let (cpu_s, probe_s) = (mean(&|one| one.cpu_s), mean(&|one| one.probe_s));
    Some(format!(
        "a request took {} in the app, {} of it CPU{}{}; the probe took {} more ({} of that CPU)",
        ms(mean(&|one| one.app_s)),
        ms(cpu_s),
        optional(&|one| one.gc_s, "garbage collection"),
        optional(&|one| one.gvl_wait_s, "waiting for the lock"),
        ms(probe_s),
        figures::percent(probe_s / cpu_s.max(1e-9))
    ))
}

/// `61 MiB shared, 72 MiB a worker (66 MiB to 78 MiB), 1 MiB a thread`.
pub fn memory_parts(parts: &MemoryParts, has_threads: bool) -> String {
    let part = |bytes: u64, interval: Option<[u64; 2]>, what: &str| {
        let doubt = interval
            .map(|[low, high]| format!(" ({} to {})", figures::bytes(low), figures::bytes(high)));
        format!("{} {what}{}", figures::bytes(bytes), doubt.unwrap_or_default())
    };
    let mut all = vec![
        part(parts.shared_bytes, parts.shared_bytes_interval, "shared"),
        part(parts.worker_bytes, parts.worker_bytes_interval, "a worker"),
    ];
    if has_threads {
        all.push(part(parts.thread_bytes, parts.thread_bytes_interval, "a thread"));
    }
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_an_interval_are_told_without() {
        let parts = MemoryParts {
            shared_bytes: 61 << 20,
            shared_bytes_interval: None,
            worker_bytes: 72 << 20,
            worker_bytes_interval: Some([66 << 20, 78 << 20]),
            thread_bytes: 1 << 20,
            thread_bytes_interval: None,
        };
        let expected = "61 MiB shared, 72 MiB a worker (66 MiB to 78 MiB), 1 MiB a thread";
        assert_eq!(memory_parts(&parts, true), expected);
        assert_eq!(memory_parts(&parts, false), expected.trim_end_matches(", 1 MiB a thread"));
    }

    #[test]
    fn nothing_is_said_of_the_inside_without_a_probe() {
        assert_eq!(inside(&Story::default()), None);
    }
}
