//! Which setting runs, by its processes and the names of their threads.
//!
//! In: the processes of a second, now and then. Out: the setting that was seen most often, and
//! whether there was another.

use std::collections::BTreeMap;

use crate::monitor;
use crate::server;
use crate::terms::{AdviseNote, MonitorSecond, Role};

/// Another setting in a smaller share of the looks is a process that was replaced just then.
const CHANGED: f64 = 0.1;

/// Workers, and threads of each where they were seen.
type Setting = (u16, Option<u16>);

/// What was seen, look by look.
#[derive(Default)]
pub struct Running {
    /// The workers of each look, by pid.
    looks: Vec<Vec<u32>>,
    /// Threads that answer requests, the most that each process had at once: some servers begin
    /// with few, and have more when they are needed.
    threads: BTreeMap<u32, u16>,
    /// By a title: it is a server whose workers have one thread each.
    has_one_thread: bool,
}

impl Running {
    /// Looks at the processes of a second: those with threads that serve are its workers, and where
    /// none has such names, those that are called so.
    pub fn look(&mut self, second: &MonitorSecond) {
        let pids = second.processes.iter().map(|process| process.pid);
        let names: Vec<(u32, Vec<String>)> =
            pids.map(|pid| (pid, monitor::thread_names(pid))).collect();
        for (pid, names) in &names {
            let count = names.iter().filter(|name| server::serves_requests(name)).count() as u16;
            if count > 0 {
                let most = self.threads.entry(*pid).or_default();
                *most = count.max(*most);
            }
            self.has_one_thread |= server::has_one_thread(&monitor::title(*pid));
        }
        let serves = |names: &[String]| names.iter().any(|name| server::is_serving(name));
        let mut workers: Vec<u32> =
            names.iter().filter(|(_, names)| serves(names)).map(|(pid, _)| *pid).collect();
        if workers.is_empty() {
            let titled = second.processes.iter().filter(|process| process.role == Role::Worker);
            workers = titled.map(|process| process.pid).collect();
        }
        self.looks.push(workers);
    }

    pub fn are_threads_known(&self) -> bool {
        self.has_one_thread || !self.threads.is_empty()
    }

    /// The setting that was seen most often, and what is to be said where another was too.
    /// `allowed`: how many threads a process may have at most, by what it told itself.
    pub fn setting(&self, allowed: Option<u16>) -> (Setting, Option<AdviseNote>) {
        let mut times: BTreeMap<Setting, usize> = BTreeMap::new();
        for workers in self.looks.iter().filter(|workers| !workers.is_empty()) {
            let most = workers.iter().filter_map(|pid| self.threads.get(pid)).max().copied();
            let threads = most.or(self.has_one_thread.then_some(1)).max(allowed);
            *times.entry((workers.len() as u16, threads)).or_default() += 1;
        }
        let all: usize = times.values().sum();
        // Where threads were seen at all, looks without any say nothing of them.
        let is_known = times.keys().any(|(_, threads)| threads.is_some());
        times.retain(|(_, threads), _| threads.is_some() == is_known);
        let seen: usize = times.values().sum();
        // Of two that were seen as often the larger.
        let most_often = |times: &BTreeMap<Setting, usize>| {
            let most = times.iter().max_by_key(|(_, count)| **count);
            most.map(|(setting, count)| (*setting, *count))
        };
        let Some((setting, count)) = most_often(&times) else { return ((0, None), None) };
        times.remove(&setting);
        let time_ratio = (seen - count) as f64 / all as f64;
        let other = most_often(&times).filter(|_| seen - count > 1 && time_ratio > CHANGED);
        let note = other.map(|((workers, threads), _)| AdviseNote::SettingChanged {
            workers,
            threads,
            time_ratio,
        });
        (setting, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many looks at these processes, and the threads that each had at most.
    fn running(looks: &[(usize, &[u32])], threads: &[(u32, u16)]) -> Running {
        let each = looks.iter().flat_map(|(times, pids)| vec![pids.to_vec(); *times]);
        let threads = threads.iter().copied().collect();
        Running { looks: each.collect(), threads, has_one_thread: false }
    }

    #[test]
    fn a_worker_that_was_replaced_changes_no_setting() {
        let threads = [(1, 5), (2, 5), (3, 5)];
        let (setting, note) =
            running(&[(9, &[1, 2]), (1, &[1]), (1, &[1, 2, 3]), (9, &[1, 3])], &threads)
                .setting(None);
        assert_eq!((setting, note), ((2, Some(5)), None));
        let (setting, note) = running(&[(9, &[1, 2])], &[(1, 1), (2, 2)]).setting(Some(5));
        assert_eq!((setting, note), ((2, Some(5)), None), "more come when they are needed");
        // Threads that come as they are needed are its setting's from the beginning.
        let (setting, note) = running(&[(20, &[1, 2])], &[(1, 5), (2, 3)]).setting(None);
        assert_eq!((setting, note), ((2, Some(5)), None));
    }

    #[test]
    fn a_restart_with_other_threads_is_said_and_the_setting_seen_most_often_is_meant() {
        let all = running(&[(6, &[1, 2]), (14, &[3, 4, 5])], &[(1, 16), (3, 5), (4, 5)]);
        let (setting, note) = all.setting(None);
        assert_eq!(setting, (3, Some(5)));
        let other =
            AdviseNote::SettingChanged { workers: 2, threads: Some(16), time_ratio: 6.0 / 20.0 };
        assert_eq!(note, Some(other));
    }

    #[test]
    fn threads_that_have_no_name_are_not_known() {
        let unknown = running(&[(3, &[1, 2])], &[]);
        assert!(!unknown.are_threads_known());
        assert_eq!(unknown.setting(None).0, (2, None));
        let late = running(&[(8, &[1]), (4, &[2])], &[(2, 3)]);
        assert_eq!((late.setting(None).0, late.are_threads_known()), ((1, Some(3)), true));
        let one = Running { has_one_thread: true, ..unknown };
        assert_eq!(one.setting(None).0, (2, Some(1)));
        assert_eq!(Running::default().setting(None), ((0, None), None));
    }
}
