//! What is seen of a server that runs, or that did not start: its processes, their threads, its
//! last lines.
//!
//! In: titles, names, lines. Out: what they are.

use super::{ADAPTERS, Adapter, ProcessFacts, Proxy, failure, nginx};
use crate::terms::{BootFailureKind, Configuration, Role};

/// What a process of a server or of the proxy in front of it is.
pub fn role(
    proxy: Proxy,
    adapter: &dyn Adapter,
    configuration: Configuration,
    process: ProcessFacts<'_>,
) -> Role {
    match proxy.is_its_title(process.title) {
        true => Role::Other,
        false => adapter.role(configuration, process),
    }
}

/// The cause of a failed boot, from the last lines of the server and of its proxy.
pub fn recognise_failure(adapter: &dyn Adapter, last_lines: &[String]) -> BootFailureKind {
    let of_server = || failure::recognise(adapter.about(), last_lines);
    nginx::recognise_failure(last_lines).unwrap_or_else(of_server)
}

/// Does a process of this title belong to a server whose workers have one thread each?
pub fn has_one_thread(title: &str) -> bool {
    let names = ADAPTERS.iter().map(|it| it.about()).filter(|about| !about.has_threads);
    let names: Vec<&str> = names.map(|about| about.name).collect();
    title.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| names.contains(&word))
}

/// Is a thread of this name one of those that a process has which serves, in any of the servers?
pub fn is_serving(thread: &str) -> bool {
    let mut known = ADAPTERS.iter().flat_map(|adapter| adapter.about().listening_threads);
    serves_requests(thread) || known.any(|start| thread.starts_with(start))
}

/// Is a thread of this name one of those that answer requests, in any of the servers?
pub fn serves_requests(thread: &str) -> bool {
    let mut known = ADAPTERS.iter().flat_map(|adapter| adapter.about().serving_threads);
    known.any(|start| thread.starts_with(start))
}
