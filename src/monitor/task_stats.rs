//! Context switches of a whole process in one question, where the kernel answers it (taskstats in
//! the kernel's accounting documents; needs the right to administer the network). Asking each
//! thread's own file costs some hundred times as much.

use std::io;

use rustix::net::netlink;

use super::netlink::{HEADER, Netlink, attribute, read_u16, read_u64};

/// Counted since the process began, over all its threads, those that ended included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

pub(super) struct TaskStats {
    kernel: Netlink,
    /// The kernel's number for this family of questions.
    family: u16,
}

/// Of the family that knows families.
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Of the family "TASKSTATS".
const GET: u8 = 1;
const OF_PROCESS: u16 = 2;
const AGGREGATE: u16 = 5;
const STATS: u16 = 3;
/// Length of the head of a generic question.
const GENERIC_HEADER: usize = 4;
/// Where `struct taskstats` has them; versions only ever add behind.
const VOLUNTARY: usize = 272;
const INVOLUNTARY: usize = 280;

impl TaskStats {
    /// # Errors
    /// The kernel was built without them, or they may not be read.
    pub fn open() -> io::Result<Self> {
        let mut kernel = Netlink::open(netlink::GENERIC)?;
        let mut family = None;
        let body = question(GET_FAMILY, FAMILY_NAME, b"TASKSTATS\0");
        kernel.ask(CONTROLLER, 0, &body, &mut |answer| {
            let id = attribute(answer, GENERIC_HEADER, FAMILY_ID);
            family = id.and_then(|id| read_u16(id, 0));
        })?;
        let family = family.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let mut stats = Self { kernel, family };
        // Whether they may be read shows only when they are.
        stats.switches(std::process::id())?;
        Ok(stats)
    }

    /// # Errors
    /// There is no such process.
    pub fn switches(&mut self, pid: u32) -> io::Result<Switches> {
        let mut found = None;
        let body = question(GET, OF_PROCESS, &pid.to_ne_bytes());
        self.kernel.ask(self.family, 0, &body, &mut |answer| {
            found = attribute(answer, GENERIC_HEADER, AGGREGATE)
                .and_then(|aggregate| attribute(aggregate, 0, STATS))
                .and_then(|stats| {
                    let voluntary = read_u64(stats, VOLUNTARY)?;
                    Some(Switches { voluntary, involuntary: read_u64(stats, INVOLUNTARY)? })
                });
        })?;
        found.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

/// A generic question with one attribute.
fn question(command: u8, attribute: u16, value: &[u8]) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(attribute.to_ne_bytes());
    body.extend(value);
    body.resize((HEADER + body.len()).next_multiple_of(4) - HEADER, 0);
    body
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn switches_are_those_of_all_threads_where_they_may_be_read() {
        // Without the right, or in a kernel without them, there is nothing to compare.
        let Ok(mut stats) = TaskStats::open() else { return };
        let own = std::process::id();
        let before = stats.switches(own).unwrap();
        let sleeps = || (0..50).for_each(|_| thread::sleep(Duration::from_micros(100)));
        thread::scope(|scope| {
            scope.spawn(sleeps);
            scope.spawn(sleeps);
        });
        let after = stats.switches(own).unwrap();
        assert!(after.voluntary >= before.voluntary + 100, "{before:?} {after:?}");
        assert!(stats.switches(u32::MAX / 2).is_err());
    }
}
