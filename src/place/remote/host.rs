//! The machine that an app elsewhere runs on, as a shell there sees it.
//!
//! In: the user's command that gives such a shell. Out: what the kernel calls the processor and
//! itself. Only looks.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use super::command::{self, Order};
use crate::monitor::host::cpu_model_from;
use crate::terms::StopSignal;

/// For a connection, and a look.
const PATIENCE: Duration = Duration::from_secs(30);

/// Before the number of processors and the kernel's release, on a line of their own.
const REST: &str = "sweetspot-machine";

/// Its first lines may be cut off where there are many processors, which are all alike.
const SCRIPT: &str = "\
cat /proc/cpuinfo
n=$(grep -c '^processor' /proc/cpuinfo)
read -r k </proc/sys/kernel/osrelease
echo \"sweetspot-machine ${n:-0} $k\"
";

/// What was seen; `None` where it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    pub cpu_model: Option<String>,
    pub processors: Option<u32>,
    /// Release.
    pub kernel: Option<String>,
}

/// Is this an address of the machine that we are on? At others nobody here may listen.
pub fn is_this(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// Looks once. Where nothing can be seen nothing is said of it: a load's record says why.
pub fn look(observe: &str, stop: &StopSignal) -> Seen {
    let order = Order {
        text: observe,
        env: &BTreeMap::new(),
        input: SCRIPT,
        patience: PATIENCE,
        known_by: None,
        tell: None,
    };
    command::run(&order, stop).map_or_else(|_| Seen::default(), |ran| seen(&ran.lines))
}

fn seen(lines: &[String]) -> Seen {
    let rest = lines.iter().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(REST)).then_some((words.next(), words.next()))
    });
    let (processors, kernel) = rest.unwrap_or_default();
    let processors = processors.and_then(|text| text.parse().ok());
    Seen {
        cpu_model: cpu_model_from(lines.join("\n").as_bytes()).filter(|it| !it.is_empty()),
        processors: processors.filter(|number| *number > 0),
        kernel: kernel.map(str::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_its_own_are_this_machine() {
        // The second is for documents, and nobody's (RFC 5737).
        for (ip, expected) in [("127.0.0.1", true), ("192.0.2.1", false)] {
            assert_eq!(is_this(ip.parse().unwrap()), expected, "{ip}");
        }
    }

    #[test]
    fn what_a_shell_there_sees_is_read_and_what_it_does_not_see_is_left_open() {
        let of = |text: &str| seen(&text.lines().map(str::to_string).collect::<Vec<_>>());
        let whole = Seen {
            cpu_model: Some("AMD EPYC".into()),
            processors: Some(2),
            kernel: Some("6.1.0-9".into()),
        };
        let text = "Welcome to app1\nprocessor\t: 0\nmodel name\t: AMD EPYC\n\
                    processor\t: 1\nmodel name\t: AMD EPYC\nsweetspot-machine 2 6.1.0-9\n";
        assert_eq!(of(text), whole);
        assert_eq!(of("sh: not found\nsweetspot-machine 0\n"), Seen::default());
        assert_eq!(of(""), Seen::default());
    }

    #[test]
    fn this_machine_is_seen_by_a_shell_here() {
        let seen = look("sh", &StopSignal::default());
        assert_eq!(seen.cpu_model, cpu_model_from(&std::fs::read("/proc/cpuinfo").unwrap()));
        assert!(seen.processors.is_some() && seen.kernel.is_some(), "{seen:?}");
        assert_eq!(look("exit 1", &StopSignal::default()), Seen::default());
    }
}
