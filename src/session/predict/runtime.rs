//! What the simulator has to know of a server, from its name and version and its runtime's.

use crate::model::Form;
use crate::model::simulator::{Admission, Lock};
use crate::report::Story;
use crate::server::{self, Accepts};

/// The interpreter's lock; where the runtime is not known, the commonest.
pub(super) fn lock(story: &Story, form: Form) -> Lock {
    // A loop runs each piece to its end.
    if form == Form::EventLoop {
        return Lock::Ruby33 { quantum_s: 3600.0 };
    }
    let words = story.runtime().unwrap_or_default();
    let (name, version) = named(&words);
    match name {
        "ruby" if version >= (3, 3) => Lock::Ruby33 { quantum_s: 0.1 },
        "Python" => Lock::CPython { interval_s: 0.005 },
        "jruby" | "truffleruby" | "php" => Lock::None,
        _ => Lock::Ruby26 { quantum_s: 0.1 },
    }
}

/// Who takes a connection, of workers with one thread and with several; of a server that is not
/// known, a worker that has a thread free.
pub(super) fn admission(story: &Story) -> [Admission; 2] {
    let (name, version) = named(&story.server);
    match server::find(name).map_or(Accepts::Free, |adapter| adapter.accepts(version)) {
        Accepts::Free => [Admission::Random; 2],
        Accepts::Any => [Admission::Split; 2],
        Accepts::AnyWithThreads => [Admission::Random, Admission::Split],
        Accepts::InTurn => [Admission::InTurn; 2],
    }
}

/// A name, and the first two numbers of its version; 0 what is missing.
pub(super) fn named(words: &str) -> (&str, (u32, u32)) {
    let (name, version) = words.split_once(' ').unwrap_or((words, ""));
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (name, (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{PlanLine, PlanRecord, PlanSource, PlannedValue};

    fn story(server: &str, runtime: &str) -> Story {
        let value = PlannedValue::Runtime(runtime.to_string());
        let plan = vec![PlanLine::Record(PlanRecord { value, source: PlanSource::Inspection })];
        Story { server: server.to_string(), plan, ..Story::default() }
    }

    #[test]
    fn the_lock_is_that_of_the_runtime() {
        for (runtime, expected) in [
            ("ruby 3.1.2", Lock::Ruby26 { quantum_s: 0.1 }),
            ("ruby 3.4.1", Lock::Ruby33 { quantum_s: 0.1 }),
            ("Python 3.11.2", Lock::CPython { interval_s: 0.005 }),
            ("php 8.2.35", Lock::None),
            ("", Lock::Ruby26 { quantum_s: 0.1 }),
        ] {
            assert_eq!(lock(&story("any", runtime), Form::Threads), expected, "{runtime}");
        }
    }

    #[test]
    fn who_takes_a_connection_depends_on_the_server_and_its_version() {
        for (server, expected) in [
            ("puma 5.6.5", [Admission::Random; 2]),
            ("puma 7.1.0", [Admission::Split; 2]),
            ("unicorn 6.0.0", [Admission::Random; 2]),
            ("gunicorn 20.1.0", [Admission::Random, Admission::Split]),
            ("thin 1.8.1", [Admission::InTurn; 2]),
            ("command bin/serve", [Admission::Random; 2]),
        ] {
            assert_eq!(admission(&story(server, "")), expected, "{server}");
        }
    }
}
