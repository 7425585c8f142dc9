//! A Rails API app, as a new user meets it: through its bundle, from the command line.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::failures::site::Running;
use crate::process::{Ended, Kept, program, sweetspot, unused_address, wait_until};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/apps/rails_api");

/// Where its requests go.
const PAGE: &str = "GET /items";
const PATH: &str = "/items";

/// The app in a folder of its own, with a lock file of the gems that this machine has.
struct RailsApp {
    /// `app/` and `store/`.
    folder: TempDir,
}

impl RailsApp {
    fn new() -> Self {
        let app = Self { folder: tempfile::tempdir().unwrap() };
        copy_app(&app.path());
        let mut lock = app.command("bundle");
        assert_success(lock.args(["lock", "--local"]));
        app
    }

    /// With the gem's middleware.
    fn with_probe() -> Self {
        let app = Self::new();
        let gemfile = fs::read_to_string(app.path().join("Gemfile")).unwrap();
        let gem = concat!(env!("CARGO_MANIFEST_DIR"), "/gem");
        let ours = format!("gem \"sweetspot\", path: {gem:?}, require: \"sweetspot/probe\"\n");
        fs::write(app.path().join("Gemfile"), gemfile + &ours).unwrap();
        assert_success(app.command("bundle").args(["lock", "--local"]));
        app
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    /// A command in the app's folder, with nothing inherited that would change what the app does.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path());
        for name in ["SECRET_KEY_BASE", "DATABASE_URL", "RAILS_ENV", "RACK_ENV", "BUNDLE_GEMFILE"] {
            command.env_remove(name);
        }
        command
    }

    /// What the advice for a missing table says.
    fn prepare(&self) {
        for task in ["db:prepare", "db:seed"] {
            let mut command = self.command("bin/rails");
            assert_success(command.arg(task).env("RAILS_ENV", "production").envs([KEY]));
        }
    }

    fn tune(&self, arguments: &[&str], env: &[(&str, &str)]) -> Ended {
        let mut command = self.command(env!("CARGO_BIN_EXE_sweetspot"));
        command.args(["tune", "--fresh-session", "--store"]).env("SWEETSPOT_LOCK", "");
        command.arg(self.folder.path().join("store.db")).args(arguments);
        command.envs(env.iter().copied());
        Running::begin(command).end_within(Duration::from_secs(240))
    }

    /// Puma as a user starts it, once it answers; what it says goes to this file.
    fn serve(&self, address: SocketAddr, says: &Path) -> Kept {
        let mut puma = self.command("bundle");
        puma.args(["exec", "puma", "-q", "-e", "production", "-w", "2", "-t", "3:3", "-b"]);
        puma.arg(format!("tcp://{address}")).envs([KEY]).env_remove("WEB_CONCURRENCY");
        puma.stdout(Stdio::null()).stderr(fs::File::create(says).unwrap());
        let kept = Kept::start(&mut puma);
        let url = format!("http://{address}{PATH}");
        wait_until("the app answers", || ureq::get(&url).call().is_ok());
        kept
    }

    /// What the whole run says, in one line, of an app that could not be measured.
    fn refused(&self, arguments: &[&str], env: &[(&str, &str)]) -> String {
        let tuned = self.tune(arguments, env);
        assert_eq!(tuned.code, Some(1), "{}", tuned.stderr);
        tuned.stderr.lines().last().unwrap().to_string()
    }

    /// Every file with its size and time of change, without the database's.
    fn listing(&self) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
        let mut listing = BTreeMap::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                match metadata.is_dir() {
                    true => folders.push(path),
                    false if path.to_string_lossy().contains(".sqlite3") => {}
                    false => {
                        listing.insert(path, (metadata.len(), metadata.modified().unwrap()));
                    }
                }
            }
        }
        listing
    }

    fn assert_nothing_is_left(&self) {
        let folder = self.path().canonicalize().unwrap();
        let works_here = |entry: &fs::DirEntry| {
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
        };
        let left = fs::read_dir("/proc").unwrap().flatten().filter(works_here).count();
        assert_eq!(left, 0, "processes are left in the app's folder");
    }
}

/// Any long text will do.
const KEY: (&str, &str) = ("SECRET_KEY_BASE", "0123456789abcdef0123456789abcdef0123456789abcdef");

/// The app in a folder that is made for it, with the folders that Rails and Puma write to, and
/// without a lock file.
pub fn copy_app(to: &Path) {
    copy(Path::new(SOURCE), to);
    ["tmp/pids", "log"].iter().for_each(|one| fs::create_dir_all(to.join(one)).unwrap());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn assert_success(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

#[test]
fn what_a_rails_app_lacks_is_named_with_a_way_out_that_works() {
    let app = RailsApp::new();
    let page = ["--budget", "20s", "--target", PAGE];

    let without_key = app.refused(&page, &[]);
    assert!(without_key.contains("SECRET_KEY_BASE is missing"), "{without_key}");
    assert!(without_key.contains("export SECRET_KEY_BASE="), "{without_key}");

    let without_tables = app.refused(&page, &[KEY]);
    assert!(without_tables.contains("migrations are pending"), "{without_tables}");
    assert!(without_tables.contains("RAILS_ENV=production bin/rails db:prepare"));
    app.prepare();

    let without_page = app.refused(&["--budget", "20s"], &[KEY]);
    assert!(without_page.contains("GET / answers 404"), "{without_page}");
    assert!(without_page.contains("bin/rails routes"), "{without_page}");

    let unknown_host = app.refused(&page, &[KEY, ("ONLY_KNOWN_HOSTS", "1")]);
    assert!(unknown_host.contains("answers 403"), "{unknown_host}");
    assert!(unknown_host.contains("config.hosts") && unknown_host.contains("-H 'Host: "));

    let forced_ssl = app.refused(&page, &[KEY, ("FORCE_SSL", "1")]);
    assert!(forced_ssl.contains("-H 'X-Forwarded-Proto: https'"), "{forced_ssl}");
    app.assert_nothing_is_left();
}

#[test]
fn a_rails_app_is_tuned_through_its_bundle_and_its_folder_stays_as_it_was() {
    let _turn = crate::turn::share();
    let app = RailsApp::new();
    app.prepare();
    let before = app.listing();
    // As the messages for a forced https and an unknown host say.
    let headers = ["-H", "X-Forwarded-Proto: https", "-H", "Host: shop.example"];
    let asked = ["--budget", "20s", "--json", "--workers", "1,2", "--target", PAGE];
    let stubborn = [KEY, ("FORCE_SSL", "1"), ("ONLY_KNOWN_HOSTS", "1")];
    let tuned = app.tune(&[&asked[..], &headers].concat(), &stubborn);
    // On a busy machine it may end undecided, but never without a trial.
    assert!(matches!(tuned.code, Some(0 | 3 | 4)), "{:?} {}", tuned.code, tuned.stderr);
    let result: serde_json::Value = serde_json::from_str(&tuned.stdout).unwrap();
    let trials = result["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    for trial in trials {
        let statuses = trial["summary"]["status"].as_object().unwrap();
        assert!(statuses.keys().all(|status| status == "200"), "{statuses:?}");
    }
    let settings = &result["decision"]["settings"]["env"];
    assert!(settings.is_object() || tuned.code != Some(0), "a decision has its settings: {result}");
    if let Some(env) = settings.as_object() {
        let names: Vec<_> = env.keys().map(String::as_str).collect();
        assert_eq!(names, ["RAILS_MAX_THREADS", "RAILS_MIN_THREADS", "WEB_CONCURRENCY"]);
    }
    assert_eq!(app.listing(), before, "the app's folder was written to");
    app.assert_nothing_is_left();
}

/// Its own traffic, told by the gem's middleware.
#[test]
fn the_gems_probe_tells_which_actions_requests_were_for() {
    let app = RailsApp::with_probe();
    app.prepare();
    let address = unused_address();
    let _puma = app.serve(address, &app.folder.path().join("stderr"));
    let url = format!("http://{address}{PATH}");
    let mut load = program(&app.path());
    load.args(["load", &url, "--rate", "80/s", "--arrivals", "poisson", "--duration", "30s", "-q"]);
    let _load = Kept::start(load.stdout(Stdio::null()).stderr(Stdio::null()));
    let listen = address.to_string();
    let here = ["advise", "--listen", &listen, "--probe", "tmp/sweetspot", "--for", "10s"];
    let ended = sweetspot(&app.path(), &[&here[..], &["--slo", "p95<300ms", "--json"]].concat());
    ended.assert_code(0);
    let report = ended.json();
    assert_eq!(report["routes"][0]["name"], "items#index", "{report}");
    let figure = |name: &str| report["seen"][name].as_f64().unwrap();
    assert_eq!((figure("workers"), figure("threads")), (2.0, 3.0), "{report}");
    assert!(figure("requests") > 500.0 && figure("app_s") > 0.005, "{report}");
    assert!(report["demand"]["wait_s"]["value"].as_f64().unwrap() > 0.004, "{report}");
}

#[test]
fn an_app_whose_tmp_cannot_be_written_answers_without_the_gems_probe() {
    let app = RailsApp::with_probe();
    // What stands in the way of a folder is in root's way too.
    fs::write(app.path().join("tmp/sweetspot"), "").unwrap();
    app.prepare();
    let says = app.folder.path().join("stderr");
    let _puma = app.serve(unused_address(), &says);
    let said = fs::read_to_string(&says).unwrap();
    assert!(said.contains("sweetspot: requests are not counted: File exists"), "{said}");
}
