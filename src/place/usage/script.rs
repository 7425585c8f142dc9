//! What is run in an app's container to see what it uses.
//!
//! In: for how long. Out: a script for `sh -c`.

/// A shell script that prints, once a second, what the processes and the control group of the
/// container in which it runs have used so far. It needs `cat` and `sleep`, and ends by itself when
/// nobody reads any more. `FOR_AT_MOST_S` stands in it for the seconds after which it ends in any
/// case: [`script`] fills that in.
pub const SCRIPT: &str = include_str!("script.sh");

/// The script as it is run, which ends after this many seconds at the latest. Without remarks and
/// indents: it is a part of the address that the API server is asked for.
pub fn script(for_at_most_s: u64) -> String {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let code: Vec<&str> = SCRIPT.lines().map(str::trim).filter(is_code).collect();
    code.join("\n").replace("FOR_AT_MOST_S", &for_at_most_s.to_string())
}
