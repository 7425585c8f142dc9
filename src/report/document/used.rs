//! What a server used, in words: a request's cost inside it, and what its memory is made of.
//!
//! In: what the events say. Out: sentences' parts.

use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::{Inside, Language, MemoryPart};
use crate::terms::MemoryParts;

/// What a request cost inside the server; `None` without a probe. What the probe took is set
/// against the CPU that the requests got.
pub fn inside(story: &Story, language: Language) -> Option<String> {
    let means = story.inside()?;
    let ms = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    Some(language.phrases().inside(&Inside {
        app: &ms(means.app_s),
        cpu: &ms(means.cpu_s),
        gc: means.gc_s.map(ms).as_deref(),
        lock_wait: means.gvl_wait_s.map(ms).as_deref(),
        probe: &ms(means.probe_s),
        probe_share: &figures::percent(means.probe_s / means.cpu_s.max(1e-9)),
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
