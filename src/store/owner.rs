//! Which process writes a session: one whose program died is not one that runs.
//!
//! In: nothing, or what was stored. Out: whether that process still lives. Reads `/proc` only.

use std::fs;

/// This process, as stored: its id and when it was started, since ids are used again.
pub(super) fn this_process() -> String {
    let pid = std::process::id();
    format!("{pid} {}", start_ticks(pid).unwrap_or_default())
}

/// True while the process that was stored still runs on this machine.
pub(super) fn is_alive(stored: &str) -> bool {
    let Some((pid, ticks)) = stored.split_once(' ') else { return false };
    let Ok(pid) = pid.parse() else { return false };
    start_ticks(pid).is_some_and(|now| now == ticks)
}

/// Clock ticks from boot to the process's start, as the kernel prints them; `None` when it is gone.
fn start_ticks(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name in parentheses may hold anything; the state is the first field after it, the
    // start time the twentieth. A zombie writes nothing any more.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| ticks.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_of_the_same_id_started_earlier_does_not() {
        let here = this_process();
        assert!(is_alive(&here), "{here}");
        let (pid, ticks) = here.split_once(' ').unwrap();
        let earlier = ticks.parse::<u64>().unwrap() - 1;
        assert!(!is_alive(&format!("{pid} {earlier}")));
        assert!(!is_alive(""));
    }

    #[test]
    fn a_process_that_ended_is_not_alive() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let stored = format!("{} {}", child.id(), start_ticks(child.id()).unwrap());
        assert!(is_alive(&stored));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(&stored));
    }
}
