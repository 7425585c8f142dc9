//! The printed settings, followed to the letter: does the app then run as was decided?

use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use sweetspot::plan::{Invoker, Surroundings, Typed};
use sweetspot::terms::{Advice, Bytes, Cores, Counts, RubyRemark, SettingAdvice, SettingsRemark};

use super::*;

/// Every variable that could say how many.
const VARIABLES: &[&str] = &[
    "WEB_CONCURRENCY",
    "MIN_THREADS",
    "MAX_THREADS",
    "PUMA_MIN_THREADS",
    "PUMA_MAX_THREADS",
    "RAILS_MIN_THREADS",
    "RAILS_MAX_THREADS",
];

/// As Rails generates it.
const RAILS: &str = "most = ENV.fetch('RAILS_MAX_THREADS') { 5 }\n\
                     least = ENV.fetch('RAILS_MIN_THREADS') { most }\n\
                     threads least, most\nplugin :tmp_restart\n";

/// As many write it.
const OWN: &str = "workers Integer(ENV['WEB_CONCURRENCY'] || 2)\n\
                   count = Integer(ENV['MAX_THREADS'] || 4)\nthreads count, count\npreload_app!\n";

/// Puma as the app's owner starts it, ended with all its processes.
struct Started(Kept);

impl Started {
    /// Ready: it answers at a socket in the folder `socket_in`.
    fn new(app: &TestApp, settings: &Settings, flags: &[&str], socket_in: &Path) -> Self {
        let socket = socket_in.join("puma.sock");
        let mut command = Command::new("puma");
        command.args(["-e", "production", "-b", &format!("unix://{}", socket.display())]);
        command.args(flags).args(["config.ru"]).current_dir(app.path());
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.envs(&settings.env).stdin(Stdio::null()).stdout(Stdio::null());
        let started = Self(Kept::lead(&mut command));
        wait_until("Puma listens", || UnixStream::connect(&socket).is_ok());
        started
    }

    /// Serving processes, once there are `expected`, each with exactly `threads`.
    fn assert_runs(&self, workers: usize, threads: usize, why: &str) {
        let root = self.0.pid();
        let is_worker = |pid: &u32| title(*pid).starts_with("puma: cluster worker");
        let cluster = || children(root).into_iter().filter(is_worker).collect::<Vec<_>>();
        let serving = || if workers == 1 { vec![root] } else { cluster() };
        let is_there = |pid: u32| threads_in(pid) == threads;
        wait_until(&format!("{workers} x {threads}: {why}"), || {
            serving().len() == workers && serving().into_iter().all(is_there)
        });
        assert!(workers > 1 || cluster().is_empty(), "{why}");
    }
}

/// A process may end while it is looked at.
fn threads_in(pid: u32) -> usize {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let name = |task: PathBuf| fs::read_to_string(task.join("comm")).unwrap_or_default();
    tasks.flatten().filter(|task| name(task.path()).starts_with("puma srv tp 0")).count()
}

fn app_with(config: Option<(&str, &str)>) -> TestApp {
    let mut files = vec![("config.ru", "run ->(env) { [200, {}, ['ok']] }\n"), ("tmp/.keep", "")];
    files.extend(config);
    TestApp::new(&files)
}

fn look(app: &TestApp) -> (App, Inspection) {
    let mut recognised = sweetspot::plan::recognise(&app.path()).unwrap();
    choose_server(&mut recognised, None).unwrap();
    let inspection = inspected(app, recognised.clone());
    (recognised, inspection)
}

fn inspected(test: &TestApp, app: App) -> Inspection {
    let settings = LocalSettings { app, ..test.settings() };
    Local::new(settings, StopSignal::default()).unwrap().inspect().unwrap()
}

/// As `tune` finds it, with what its deployment's files say.
fn planned(app: &TestApp) -> App {
    let surroundings = Surroundings {
        folder: app.path(),
        cores: Cores::new(2.0).unwrap(),
        memory: Bytes(1 << 30),
        elsewhere: None,
        program_folders: vec!["/usr/local/bin".into(), "/usr/bin".into()],
        invoker: Invoker { uid: 1000, sudo_uid: None },
    };
    sweetspot::plan::resolve(&Typed::default(), &surroundings).unwrap().app
}

fn settings_for(app: &TestApp, workers: u16, threads: u16) -> Settings {
    let (recognised, inspection) = look(app);
    written_down("puma", &recognised, &inspection, (workers, threads))
}

#[test]
fn the_printed_variables_give_exactly_the_configuration() {
    for (config, names) in [
        (None, "PUMA_MAX_THREADS PUMA_MIN_THREADS WEB_CONCURRENCY"),
        (Some(("config/puma.rb", RAILS)), "RAILS_MAX_THREADS RAILS_MIN_THREADS WEB_CONCURRENCY"),
        (Some(("config/puma.rb", OWN)), "MAX_THREADS WEB_CONCURRENCY"),
        (Some(("config/puma/production.rb", OWN)), "MAX_THREADS WEB_CONCURRENCY"),
    ] {
        for (workers, threads) in [(2, 3), (1, 2)] {
            let app = app_with(config);
            let settings = settings_for(&app, workers, threads);
            let printed: Vec<&str> = settings.env.keys().map(String::as_str).collect();
            assert_eq!(printed.join(" "), names, "{config:?}");
            let sockets = tempfile::tempdir().unwrap();
            let started = Started::new(&app, &settings, &[], sockets.path());
            started.assert_runs(workers.into(), threads.into(), &format!("{config:?}"));
            drop(started);
            wait_until("Puma has ended", || app.processes().is_empty());
        }
    }
}

#[test]
fn the_printed_lines_give_exactly_the_configuration_as_the_apps_own_file() {
    for (workers, threads) in [(2, 3), (1, 2)] {
        let app = app_with(Some(("config/puma.rb", "workers 3\nthreads 1, 9\n")));
        let settings = settings_for(&app, workers, threads);
        assert!(settings.env.is_empty(), "{settings:?}");
        let (file, counts) = ("config/puma.rb".to_string(), Counts::WorkersAndThreads);
        let fixed = SettingAdvice::FixedInPumaFile { file, counts };
        assert_eq!(settings.advice[0], Advice::from(fixed).into());
        fs::write(app.path().join("config/puma.rb"), &settings.config_snippet).unwrap();
        let sockets = tempfile::tempdir().unwrap();
        let started = Started::new(&app, &Settings::default(), &[], sockets.path());
        started.assert_runs(workers.into(), threads.into(), &settings.config_snippet);
        drop(started);
        wait_until("Puma has ended", || app.processes().is_empty());
    }
}

#[test]
fn variables_that_only_this_app_knows_are_seen_and_so_is_a_plugin_that_waits_for_one() {
    let own = "most = ENV.fetch('SHOP_THREADS', 5)\nthreads most, most\n\
               workers ENV.fetch('SHOP_PROCESSES', 2)\nplugin :jobs if ENV['JOBS_IN_PUMA']\n";
    let app = app_with(Some(("config/puma.rb", own)));
    let (_, inspection) = look(&app);
    assert_eq!(inspection.current, configuration(2, 5));
    let threads = "SHOP_THREADS".to_string();
    let obeys = server::Obeys {
        workers: Some("SHOP_PROCESSES".into()),
        max_threads: Some(threads.clone()),
        min_threads: server::MinThreads::Variable(threads),
    };
    assert_eq!(inspection.obeys, obeys);
    let (plugin, variable) = ("jobs".into(), "JOBS_IN_PUMA".into());
    let off = RubyRemark::PluginOff { plugin, variable }.into();
    assert!(inspection.remarks.contains(&off), "{:?}", inspection.remarks);
    app.assert_nothing_is_left();
    let switch = "workers ENV.fetch('WEB_CONCURRENCY', 2)\nworkers 0 if ENV['ONE_PROCESS']\n";
    let (_, inspection) = look(&app_with(Some(("config/puma.rb", switch))));
    assert_eq!(inspection.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
}

#[test]
fn settings_that_refuse_the_numbers_we_try_are_still_read() {
    let strict = "raise 'too many' if ENV['WEB_CONCURRENCY'].to_i > 8\nworkers 2\nthreads 4, 4\n";
    let app = app_with(Some(("config/puma.rb", strict)));
    let (_, inspection) = look(&app);
    assert_eq!(inspection.current, configuration(2, 4));
    assert_eq!(inspection.obeys, server::Obeys::default());
    app.assert_nothing_is_left();
}

#[test]
fn todays_setting_is_that_of_the_command_and_the_variables_that_deploy_the_app() {
    let clear = "env:\n  clear:\n    WEB_CONCURRENCY: 3\n    RAILS_MAX_THREADS: 2\n";
    for (config, file, text, flags) in [
        (RAILS, "Procfile", "web: bundle exec puma -w 3 -t 2:2\n", "-w 3 -t 2:2"),
        ("workers 4\n", "Procfile", "web: puma --workers=3 -t ${MAX_THREADS:-2}\n", "--workers 3"),
        (RAILS, "Dockerfile", "ENV WEB_CONCURRENCY=3 RAILS_MAX_THREADS=2\n", ""),
        (RAILS, "config/deploy.yml", clear, ""),
    ] {
        let app = app_with(Some(("config/puma.rb", config)));
        fs::write(app.path().join(file), text).unwrap();
        let planned = planned(&app);
        let inspection = inspected(&app, planned.clone());
        assert_eq!(inspection.current, configuration(3, 2), "{text}");
        let single = RubyRemark::SingleMode.into();
        assert!(!inspection.remarks.contains(&single), "{text}: {:?}", inspection.remarks);
        let first = SettingsRemark::FlagsComeFirst { file: file.into(), flags: flags.into() };
        let is_said = inspection.remarks.contains(&first.into());
        assert_eq!(is_said, !flags.is_empty(), "{text}: {:?}", inspection.remarks);

        let settings = Settings { env: (*planned.env).clone(), ..Settings::default() };
        let sockets = tempfile::tempdir().unwrap();
        let flags: Vec<&str> = match flags {
            "--workers 3" => vec!["--workers", "3", "-t", "2"],
            _ => flags.split_whitespace().collect(),
        };
        let started = Started::new(&app, &settings, &flags, sockets.path());
        started.assert_runs(3, 2, text);
        drop(started);
        wait_until("Puma has ended", || app.processes().is_empty());
    }
}
