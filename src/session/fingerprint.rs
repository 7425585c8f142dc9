//! When may a session go on where another stopped: the same app, machine, settings and load.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use ring::hmac::{self, Context, HMAC_SHA256};

use crate::files::with_suffix;
use crate::plan::{Plan, Platform};
use crate::server::Inspection;
use crate::store::Key;
use crate::terms::{Machine, Objective};

/// Files of an app looked at, at most; and how deep.
const FILES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 12;

/// Equal for sessions of one store whose trials may stand for one another: values of variables,
/// headers and bodies take part, which the key keeps from being guessed. The app's files count by
/// path, size and time of change; what it writes itself (logs, temporary files) doesn't.
pub fn fingerprint(plan: &Plan, machine: &Machine, inspection: &Inspection, key: &Key) -> String {
    let mut hash = Hash::keyed(key);
    hash.add(&format!("{:?} {}", plan.app, plan.server));
    let env = plan.app.env.iter().chain(plan.app.start_env.iter());
    env.for_each(|(name, value)| hash.add(&format!("{name}={value}")));
    hash.add(&format!("{:?} {:?}", inspection.current, inspection.server_version));
    hash.add(&inspection.runtime_version);
    hash.add(&machine_of(plan, machine));
    hash.add(&format!("{:?} {:?} {:?}", plan.workers, plan.threads, plan.goal));
    hash.add(&format!("{:?} {:?} {:?}", plan.arrivals, plan.connection, plan.timeout));
    hash.add(&format!("{:?} {:?} {:?}", plan.budget, plan.db_connections, plan.seed));
    hash.add(&format!("{:?}", plan.changes));
    // A server that did not boot in time may do so in another. Absent where none was given, as in
    // sessions from before it could be.
    plan.boot_timeout.iter().for_each(|time| hash.add(&format!("boot timeout {time:?}")));
    for target in &plan.targets {
        hash.add(&format!("{} {} {}", target.method, target.path, target.weight));
        target.headers.iter().for_each(|(name, value)| hash.add(&format!("{name}: {value}")));
        hash.add_bytes(&target.body);
        // Absent without one, as in sessions from before targets could have any.
        target.slo.iter().for_each(|slo| hash.add(&format!("slo {slo}")));
    }
    match (&plan.cluster, &plan.remote) {
        // The image has its version; the folder where it was typed is not the app's.
        (Some(cluster), _) => {
            hash.add(&format!("{cluster:?}"));
            // What is printed of a template has none of its values.
            let template = cluster.own.as_ref().and_then(|own| own.template.as_ref());
            template.iter().for_each(|template| hash.add(&template.contents()));
        }
        (None, Some(remote)) => {
            let commands = &remote.commands;
            let others = [&commands.ready, &commands.observe].into_iter().flatten();
            let all = [&commands.apply, &commands.restore].into_iter().chain(others);
            hash.add(&format!("{} {:?}", remote.url, remote.today));
            all.for_each(|command| hash.add(command));
            // Absent where nobody says which, as in sessions from before it was asked.
            remote.release.iter().for_each(|release| hash.add(release));
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
            list(&plan.app.folder, &whole(&plan.store), 0, &mut files);
            files.sort();
            files.iter().for_each(|file| hash.add(file));
        }
    }
    hash.text()
}

/// What of a machine counts. Of one elsewhere not the processor's name and the kernel: they are
/// seen only where a look there succeeds, and sessions from before anybody looked have neither.
fn machine_of(plan: &Plan, machine: &Machine) -> String {
    let unknown = || Machine::UNKNOWN.to_string();
    match plan.remote {
        Some(_) => {
            let unseen = Machine { cpu_model: unknown(), kernel: unknown(), ..machine.clone() };
            format!("{unseen:?}")
        }
        None => format!("{machine:?}"),
    }
}

/// Of a session that asks this about its trials: their fingerprint comes first, since another
/// question may be answered from the same trials; but none goes on where another one stopped.
pub fn of_question(plan: &Plan, trials: &str) -> String {
    if plan.objective == Objective::default() && plan.soak.is_none() {
        return trials.to_string();
    }
    let mut hash = Hash::keyed(&[]);
    hash.add(&format!("{:?}", plan.objective));
    // Absent without one, as in sessions from before there could be any.
    plan.soak.iter().for_each(|soak| hash.add(&format!("soak {soak:?}")));
    format!("{trials}-{}", hash.text())
}

/// Of a session that verifies another: never that of a tune, so that none takes it up.
pub fn of_verification(session: i64, started_at: &str) -> String {
    let mut hash = Hash::keyed(&[]);
    hash.add(&format!("verifies {session} {started_at}"));
    hash.text()
}

/// The store by its whole path, as an app's folder is named.
fn whole(store: &Path) -> PathBuf {
    let folder = store.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let both = folder.zip(store.file_name());
    both.map_or_else(|| store.to_path_buf(), |(folder, name)| folder.join(name))
}

/// Appends "path size time" of every source file; folders that apps write to are passed over, and
/// so is this store.
fn list(folder: &Path, store: &Path, depth: usize, files: &mut Vec<String>) {
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
                list(&entry.path(), store, depth + 1, files);
            }
        } else if meta.is_file() && !is_data(&name) && !is_stores(&entry.path(), store) {
            let changed = meta
                .modified()
                .ok()
                .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
                .map_or(0, |time| time.as_nanos());
            files.push(format!("{} {} {changed}", entry.path().display(), meta.len()));
        }
    }
}

/// Databases and logs change while the app runs, and what lies beside our own store while we do.
fn is_data(name: &str) -> bool {
    const ENDS: [&str; 11] = [
        ".log", ".sqlite3", ".db", "-wal", "-shm", "-journal", "-lock", ".pid", ".db-key",
        ".db-turn", ".door",
    ];
    ENDS.iter().any(|end| name.ends_with(end))
}

/// A store may have any name; whatever else lies beside it ends as data does.
fn is_stores(path: &Path, store: &Path) -> bool {
    ["", "-key", "-turn"].iter().any(|end| path == with_suffix(store, end))
}

/// HMAC with SHA-256 (RFC 2104, FIPS 180-4): the same in every version of this program, as a stored
/// value must be.
pub struct Hash(Context);

impl Hash {
    /// Who hasn't got the key can't try what was hashed; without one, for what is no secret.
    pub fn keyed(key: &[u8]) -> Self {
        Self(Context::with_key(&hmac::Key::new(HMAC_SHA256, key)))
    }

    /// Adds a text, separated from what follows.
    pub fn add(&mut self, text: &str) {
        self.add_bytes(text.as_bytes());
        self.add_bytes(&[0]);
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// As it is kept: 64 hexadecimal digits.
    pub fn text(self) -> String {
        self.0.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::place::kubernetes::Template;
    use crate::plan::{Cluster, Key, OwnPods, Remote, Surroundings, Typed, resolve};
    use crate::server::App;
    use crate::terms::{Bytes, Configuration, Cores};

    /// Of an app elsewhere, typed in this folder.
    fn remote(folder: &Path) -> Plan {
        let given = [
            (Key::Apply, "set {workers} {threads}"),
            (Key::Restore, "undo"),
            (Key::Url, "http://10.0.0.7"),
            (Key::Cpus, "2"),
            (Key::Memory, "2GiB"),
        ];
        let typed =
            given.iter().fold(Typed::default(), |typed, (key, text)| typed.with(*key, *text));
        resolve(&typed, &Surroundings::of_test(folder, [])).unwrap()
    }

    fn of(plan: &Plan, seen: &str, cores: f64) -> String {
        let machine = Machine {
            cpu_model: seen.to_string(),
            cores: Cores::new(cores).unwrap(),
            memory_bytes: Bytes(2 << 30),
            kernel: seen.to_string(),
        };
        let inspection = Inspection::of(Configuration::new(1, 1).unwrap());
        fingerprint(plan, &machine, &inspection, &[7; 32])
    }

    #[test]
    fn what_is_seen_of_a_machine_elsewhere_keeps_no_session_from_going_on() {
        let folder = tempfile::tempdir().unwrap();
        let remote = remote(folder.path());
        let here = Plan { remote: None, ..remote.clone() };
        assert_eq!(of(&remote, "seen", 2.0), of(&remote, Machine::UNKNOWN, 2.0));
        assert_ne!(of(&remote, "seen", 2.0), of(&remote, "seen", 4.0));
        assert_ne!(of(&here, "seen", 2.0), of(&here, Machine::UNKNOWN, 2.0));
    }

    #[test]
    fn a_store_in_the_apps_folder_keeps_no_session_from_going_on_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (app, link) = (at.join("app"), at.join("link"));
        fs::create_dir(&app).unwrap();
        symlink(&app, &link).unwrap();
        let typed = remote(&app);
        let plan = Plan {
            remote: None,
            app: App { folder: app.clone(), ..typed.app.clone() },
            store: link.join("tune.sqlite"),
            ..typed
        };
        let before = of(&plan, "seen", 2.0);
        for name in ["tune.sqlite", "tune.sqlite-wal", "tune.sqlite-key", "tune.sqlite-turn"] {
            fs::write(app.join(name), "ours").unwrap();
        }
        assert_eq!(of(&plan, "seen", 2.0), before);
        fs::write(app.join("tune.sqlite.rb"), "theirs").unwrap();
        assert_ne!(of(&plan, "seen", 2.0), before, "it only begins as the store does");
    }

    #[test]
    fn another_release_of_an_app_elsewhere_is_another_app() {
        let folder = tempfile::tempdir().unwrap();
        let plan = remote(folder.path());
        let with = |release: Option<&str>| {
            let asked = plan.remote.clone().unwrap();
            let remote = Some(Remote { release: release.map(str::to_string), ..asked });
            of(&Plan { remote, ..plan.clone() }, "seen", 2.0)
        };
        let before = with(Some("arn:aws:ecs:eu-west-1:1:task-definition/shop:7"));
        assert_ne!(before, with(Some("arn:aws:ecs:eu-west-1:1:task-definition/shop:8")));
        assert_ne!(before, with(None));
        assert_eq!(with(None), of(&plan, "seen", 2.0));
    }

    #[test]
    fn pods_of_another_template_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let with = |template: Option<&str>| {
            let own = OwnPods {
                image: "shop:2".into(),
                pull_policy: None,
                port: 3000,
                cuts: vec![1, 2],
                at_once: 1,
                template: template.map(|text| Template::read(text, None).unwrap()),
            };
            let cluster = Cluster {
                deployment: "NAME".into(),
                own: Some(own),
                container: None,
                service: None,
                namespace: Some("web".into()),
                context: None,
                generator_image: "sweetspot:1".into(),
                generator_pull_policy: None,
                generators: 1,
                generator_cpus: 1.0,
            };
            let plan = Plan { remote: None, cluster: Some(cluster), ..remote(folder.path()) };
            of(&plan, "seen", 2.0)
        };
        let web = with(Some("{\"nodeSelector\": {\"pool\": \"web\"}}"));
        assert_ne!(web, with(None));
        assert_ne!(web, with(Some("{\"nodeSelector\": {\"pool\": \"db\"}}")));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // RFC 4231, test case 2.
        let mut hash = Hash::keyed(b"Jefe");
        hash.add_bytes(b"what do ya want ");
        hash.add_bytes(b"for nothing?");
        let published = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hash.text(), published);
    }
}
