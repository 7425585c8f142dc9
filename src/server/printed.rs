//! What a server printed of its own setting when it started.
//!
//! In: its log. Out: workers and threads, as far as they stand there. Only computes.

/// What was printed last, each with its line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    pub workers: Option<(u16, String)>,
    /// The most of a worker.
    pub threads: Option<(u16, String)>,
}

/// What Puma prints, which is the only one that we know to: `* Max threads: 5`, `* Workers: 2`, and
/// that it starts in single mode, which is one process.
pub fn printed(lines: &[String]) -> Printed {
    let mut printed = Printed::default();
    for line in lines.iter().filter(|line| line.contains("* ") || line.contains("Puma starting")) {
        let after = |name: &str| -> Option<u16> {
            line.split_once(name).and_then(|(_, rest)| rest.trim().parse().ok())
        };
        if let Some(threads) = after(" Max threads:") {
            printed.threads = Some((threads, line.clone()));
        } else if let Some(workers) = after(" Workers:") {
            printed.workers = Some((workers, line.clone()));
        } else if line.contains("Puma starting in single mode") {
            printed.workers = Some((1, line.clone()));
        }
    }
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pumas_own_words_are_read() {
        let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
        let cluster = "\
[1] Puma starting in cluster mode...
[1] *  Min threads: 5
[1] *  Max threads: 8
[1] *   Master PID: 1
[1] *      Workers: 2
[1] * Listening on http://0.0.0.0:9292";
        let both = printed(&lines(cluster));
        let of = |it: &Option<(u16, String)>| it.as_ref().map(|(count, _)| *count);
        assert_eq!((of(&both.workers), of(&both.threads)), (Some(2), Some(8)));
        let single = "Puma starting in single mode...\n*  Max threads: 3";
        let both = printed(&lines(single));
        assert_eq!((of(&both.workers), of(&both.threads)), (Some(1), Some(3)));
        assert_eq!(printed(&lines("Workers: many\nhello")), Printed::default());
    }
}
