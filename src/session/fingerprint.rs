//! When may a session go on where another stopped: the same app, machine, settings and load.

use std::fs;
use std::iter;
use std::path::Path;

use crate::plan::{Plan, Platform};
use crate::server::Inspection;
use crate::terms::{Machine, Objective};

/// Files of an app looked at, at most; and how deep.
const FILES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 12;

/// Equal for sessions whose trials may stand for one another. The app's files count by path, size
/// and time of change; what it writes itself (logs, temporary files) doesn't.
pub fn fingerprint(plan: &Plan, machine: &Machine, inspection: &Inspection) -> String {
    let mut hash = Fnv::default();
    hash.add(&format!("{:?} {}", plan.app, plan.server));
    hash.add(&format!("{:?} {:?}", inspection.current, inspection.server_version));
    hash.add(&inspection.runtime_version);
    hash.add(&format!("{machine:?}"));
    hash.add(&format!("{:?} {:?} {:?}", plan.workers, plan.threads, plan.goal));
    hash.add(&format!("{:?} {:?} {:?}", plan.arrivals, plan.connection, plan.timeout));
    hash.add(&format!("{:?} {:?} {:?}", plan.budget, plan.db_connections, plan.seed));
    hash.add(&format!("{:?}", plan.changes));
    for target in &plan.targets {
        hash.add(&format!("{} {} {}", target.method, target.path, target.weight));
        // Secrets take part as a hash only.
        target.headers.iter().for_each(|(name, value)| hash.add(&format!("{name}: {value}")));
        hash.add_bytes(&target.body);
        // Absent without one, as in sessions from before targets could have any.
        target.slo.iter().for_each(|slo| hash.add(&format!("slo {slo}")));
    }
    match (&plan.cluster, &plan.remote) {
        // The image has its version; the folder where it was typed is not the app's.
        (Some(cluster), _) => hash.add(&format!("{cluster:?}")),
        (None, Some(remote)) => {
            let commands = &remote.commands;
            let others = [&commands.ready, &commands.observe].into_iter().flatten();
            let all = [&commands.apply, &commands.restore].into_iter().chain(others);
            hash.add(&format!("{} {:?}", remote.url, remote.today));
            all.for_each(|command| hash.add(command));
            // Kamal's own files are what the app runs by.
            let folder = plan.app.folder.join("config");
            if let Platform::Kamal { destination } = &remote.by {
                let own = destination.iter().map(|name| format!("deploy.{name}.yml"));
                for name in iter::once("deploy.yml".to_string()).chain(own) {
                    hash.add(&fs::read_to_string(folder.join(name)).unwrap_or_default());
                }
            }
        }
        (None, None) => {
            let mut files = Vec::new();
            list(&plan.app.folder, 0, &mut files);
            files.sort();
            files.iter().for_each(|file| hash.add(file));
        }
    }
    hash.text()
}

/// Of a session that asks this about its trials: their fingerprint comes first, since another
/// question may be answered from the same trials; but none goes on where another one stopped.
pub fn of_question(plan: &Plan, trials: &str) -> String {
    if plan.objective == Objective::default() && plan.soak.is_none() {
        return trials.to_string();
    }
    let mut hash = Fnv::default();
    hash.add(&format!("{:?}", plan.objective));
    // Absent without one, as in sessions from before there could be any.
    plan.soak.iter().for_each(|soak| hash.add(&format!("soak {soak:?}")));
    format!("{trials}-{}", hash.text())
}

/// Of a session that verifies another: never that of a tune, so that none takes it up.
pub fn of_verification(session: i64, started_at: &str) -> String {
    let mut hash = Fnv::default();
    hash.add(&format!("verifies {session} {started_at}"));
    hash.text()
}

/// Appends "path size time" of every source file; folders that apps write to are passed over.
fn list(folder: &Path, depth: usize, files: &mut Vec<String>) {
    const WRITTEN: &[&str] = &["log", "tmp", "node_modules", "storage", "coverage", "vendor"];
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(meta) = entry.metadata() else { continue };
        if files.len() >= FILES_MAX || name.starts_with('.') {
            continue;
        }
        if meta.is_dir() {
            if depth < DEPTH_MAX && !WRITTEN.contains(&name.as_ref()) {
                list(&entry.path(), depth + 1, files);
            }
        } else if meta.is_file() && !is_data(&name) {
            let changed = meta
                .modified()
                .ok()
                .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
                .map_or(0, |time| time.as_nanos());
            files.push(format!("{} {} {changed}", entry.path().display(), meta.len()));
        }
    }
}

/// Databases and logs change while the app runs.
fn is_data(name: &str) -> bool {
    [".log", ".sqlite3", ".db", "-wal", "-shm", "-journal", "-lock", ".pid"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same in every version of this program, as a stored value
/// must be.
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text, separated from what follows.
    pub fn add(&mut self, text: &str) {
        self.add_bytes(text.as_bytes());
        self.add_bytes(&[0]);
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// As it is kept.
    pub fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::default();
        hash.add_bytes(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }
}
