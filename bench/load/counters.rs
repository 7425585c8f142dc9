//! What others count: the server its requests, the kernel the time stolen, strace the system calls,
//! callgrind the instructions; and how exact a rate was by it.
//!
//! In: their texts. Out: counts. Computes only; tests/it/bench_load.rs tests it.

/// What nginx's stub_status page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Open connections, the one that asks included.
    pub connections: u64,
    /// Since the start, the one that asks included.
    pub requests: u64,
}

/// Reads the body of the page.
pub fn nginx_status(text: &str) -> Option<Status> {
    let mut lines = text.lines();
    let connections = lines.next()?.strip_prefix("Active connections:")?.trim().parse().ok()?;
    // A head line, then three totals: accepted, handled, requests.
    let requests = lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()?;
    Some(Status { connections, requests })
}

/// Ticks that the host took away from these cores, from the text of `/proc/stat`.
pub fn stolen_ticks(text: &str, cores: &[u16]) -> u64 {
    let is_ours = |name: &str| {
        let core = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
        core.is_some_and(|core: u16| cores.contains(&core))
    };
    let stolen = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        fields.next().filter(|name| is_ours(name))?;
        fields.nth(7)?.parse::<u64>().ok()
    });
    stolen.sum()
}

/// System calls by name, most frequent first, from the table of `strace -c`.
///
/// # Errors
/// The table is not there.
pub fn strace(text: &str) -> Result<Vec<(String, u64)>, String> {
    let mut calls: Vec<(String, u64)> = text.lines().filter_map(strace_row).collect();
    if calls.is_empty() {
        return Err("strace's table is not in its output".to_string());
    }
    calls.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(calls)
}

/// `% time, seconds, usecs/call, calls, [errors,] syscall`; the total's row is left out.
fn strace_row(line: &str) -> Option<(String, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let name = *fields.last()?;
    if !(5..=6).contains(&fields.len()) || name == "total" {
        return None;
    }
    fields[0].parse::<f64>().ok()?;
    Some((name.to_string(), fields[3].parse().ok()?))
}

/// Instructions executed, from what callgrind says at its end.
///
/// # Errors
/// It says no such thing.
pub fn callgrind(text: &str) -> Result<u64, String> {
    let found = text.lines().find_map(|line| line.split_once("Collected :"));
    let count = found.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| "'Collected :' is not in callgrind's output".to_string())
}

/// Whole seconds of a rate: how many were not disturbed, and how many of those were exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exactness {
    pub clean: u32,
    pub exact: u32,
}

/// How far the rate of a second may be off.
const EXACT: f64 = 0.005;

impl Exactness {
    /// One more second, with its rate.
    pub fn add(&mut self, is_clean: bool, rps: f64, planned_rps: f64) {
        let is_exact = (rps / planned_rps - 1.0).abs() <= EXACT;
        self.clean += u32::from(is_clean);
        self.exact += u32::from(is_clean && is_exact);
    }

    /// The share of exact ones among the undisturbed; `None` when all were disturbed.
    pub fn share(self) -> Option<f64> {
        (self.clean > 0).then(|| f64::from(self.exact) / f64::from(self.clean))
    }
}
