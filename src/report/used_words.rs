//! What a server used, in words: a request's cost inside it, and what its memory is made of.
//!
//! In: what the events say. Out: sentences' parts.

use super::figures;
use super::story::Story;
use super::wording::{Inside, Language, MemoryPart};
use crate::terms::{InsideSummary, MemoryParts};

/// What a request cost inside the server, over all trials; `None` without a probe. What the probe
/// took is set against the CPU that the requests got.
pub fn inside(story: &Story, language: Language) -> Option<String> {
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
    let optional = |figure: &dyn Fn(&InsideSummary) -> Option<f64>| {
        let is_told = told.iter().all(|one| figure(one).is_some());
        is_told.then(|| ms(mean(&|one| figure(one).unwrap_or_default())))
    };
    let (cpu_s, probe_s) = (mean(&|one| one.cpu_s), mean(&|one| one.probe_s));
    Some(language.phrases().inside(&Inside {
        app: &ms(mean(&|one| one.app_s)),
        cpu: &ms(cpu_s),
        gc: optional(&|one| one.gc_s).as_deref(),
        lock_wait: optional(&|one| one.gvl_wait_s).as_deref(),
        probe: &ms(probe_s),
        probe_share: &figures::percent(probe_s / cpu_s.max(1e-9)),
    }))
}

/// `61 MiB shared, 72 MiB a worker (66 MiB to 78 MiB), 1 MiB a thread`.
pub fn memory_parts(parts: &MemoryParts, has_threads: bool, language: Language) -> String {
    let say = language.phrases();
    let part = |part: MemoryPart, bytes: u64, interval: Option<[u64; 2]>| {
        let interval =
            interval.map(|[low, high]| say.between(&figures::bytes(low), &figures::bytes(high)));
        say.memory_part(part, &figures::bytes(bytes), interval.as_deref())
    };
    let mut all = vec![
        part(MemoryPart::Shared, parts.shared_bytes, parts.shared_bytes_interval),
        part(MemoryPart::Worker, parts.worker_bytes, parts.worker_bytes_interval),
    ];
    if has_threads {
        all.push(part(MemoryPart::Thread, parts.thread_bytes, parts.thread_bytes_interval));
    }
    say.list(&all)
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
        assert_eq!(memory_parts(&parts, true, Language::English), expected);
        assert_eq!(
            memory_parts(&parts, false, Language::English),
            expected.trim_end_matches(", 1 MiB a thread")
        );
    }

    #[test]
    fn nothing_is_said_of_the_inside_without_a_probe() {
        assert_eq!(inside(&Story::default(), Language::English), None);
    }
}
