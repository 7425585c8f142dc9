//! Unicorn as it is really inspected, started in spite of the app's own settings, and tuned.

use std::process::{Command, Stdio};

use sweetspot::terms::BootFailureKind;

use super::*;
use crate::failures::site::Site;

#[test]
fn the_apps_own_settings_are_read_without_starting_anything() {
    const OWN: &str = "preload_app true\ntimeout 15\nlisten '/run/shop.sock', backlog: 64\n\
                       working_directory '/srv/only/in/production'\n\
                       pid '/no/such/folder/unicorn.pid'\nstderr_path 'log/unicorn.log'\n";
    let follows = |variable: &str| {
        format!("worker_processes Integer(ENV['{variable}'] || 3)\nlisten 8080\n{OWN}")
    };
    for (settings, workers, obeys) in [
        (follows("WEB_CONCURRENCY"), 3, Some("WEB_CONCURRENCY")),
        (follows("UNICORN_WORKERS"), 3, Some("UNICORN_WORKERS")),
        (format!("worker_processes 2\nlisten 8080\n{OWN}"), 2, None),
    ] {
        let files = [("config.ru", "raise 'booted'"), ("config/unicorn.rb", settings.as_str())];
        let inspection = TestApp::new(&files).inspect_on("unicorn");
        assert_eq!(inspection.current, configuration(workers, 1), "{settings}");
        assert_eq!(inspection.obeys.workers.as_deref(), obeys, "{settings}");
        assert!(inspection.server_version.starts_with(|c: char| c.is_ascii_digit()));
        assert!(inspection.runtime_version.starts_with("ruby "));
        let expected = [
            "preload_app true",
            "more than 15 s",
            "(0.0.0.0:8080, /run/shop.sock) are not opened",
            "log/unicorn.log is not written to",
        ];
        assert_remarks(&inspection, &expected);
    }
    let without = TestApp::answering("[200, {}, []]").inspect_on("unicorn");
    assert_eq!(without.current, configuration(1, 1));
    assert_remarks(&without, &["preload_app false"]);
}

#[test]
fn settings_that_insist_on_a_port_are_read_without_one() {
    let own = ("config/unicorn.rb", "listen Integer(ENV.fetch('PORT'))\nworker_processes 3\n");
    let inspection = TestApp::new(&[("config.ru", ""), own]).inspect_on("unicorn");
    assert_eq!(inspection.current, configuration(3, 1));
    assert!(!remarks(&inspection).contains("not opened"), "{inspection:?}");
}

#[test]
fn settings_that_do_not_load_are_shown_with_their_line() {
    let own = ("config/unicorn.rb", "worker_processes 2\nno_such_setting 3\n");
    let app = TestApp::new(&[("config.ru", ""), own]);
    let failure = unread(app.local_on("unicorn"));
    assert_eq!(failure.kind, BootFailureKind::Exited);
    assert!(why(&failure).contains("no_such_setting"), "{failure:?}");
    assert!(why(&failure).contains("config/unicorn.rb:2"), "{failure:?}");
}

/// Settings that would write into the app's folder, hide the output, go elsewhere and listen there;
/// and hooks that have to stay.
const STUBBORN: &str = r#"
worker_processes 4
listen OWN_PORT, backlog: 7
working_directory "/srv/only/in/production"
pid "tmp/pids/server.pid"
stdout_path "log/out.log"
stderr_path "log/err.log"
logger Logger.new(File::NULL)
timeout 20
preload_app PRELOAD
before_fork { |server, worker| $before = "before #{server.config[:pid].nil?}" }
after_fork { |server, worker| $after = "after #{worker.nr}" }
after_worker_ready { |server, worker| $ready = "ready #{worker.nr}" }
after_worker_exit { |server, worker, status| }
"#;

/// The longest that the queue of a listening socket may be, where the kernel says it (tcp_info).
const QUEUE_MAX: &str =
    "Unicorn::HttpServer::LISTENERS[0].getsockopt(:TCP, :INFO).to_s.unpack1('@28L')";

#[test]
fn the_apps_own_ports_files_and_numbers_give_way_and_its_hooks_stay() {
    let own_port = unused_address();
    for preload in ["true", "false"] {
        let config =
            STUBBORN.replace("OWN_PORT", &own_port.port().to_string()).replace("PRELOAD", preload);
        // Options in its first line would open yet another port, in the background.
        let rackup = "#\\ -p OWN_PORT -D\n\
            run ->(env) { [200, {}, [[Dir.pwd, $before, $after[0, 5], $ready[0, 5], \
            ENV['RACK_ENV'], ENV['WEB_CONCURRENCY'], ENV['UNICORN_WORKERS'], \
            QUEUE_MAX].join(' ')]] }\n"
            .replace("QUEUE_MAX", QUEUE_MAX)
            .replace("OWN_PORT", &own_port.port().to_string());
        let app = TestApp::new(&[
            ("config.ru", &rackup),
            ("config/unicorn.rb", &config),
            ("tmp/pids/.keep", ""),
            ("log/.keep", ""),
        ]);
        let before = app.listing();
        let mut local = app.local_on("unicorn");
        for workers in [2, 1] {
            start(&mut local, workers, 1);
            let expected = format!(
                "{} before false after ready production {workers} {workers} 7",
                app.path().display()
            );
            assert_eq!(get(local.address().unwrap(), "/"), expected, "preload {preload}");
            assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
            assert_eq!(children(local.server_pid().unwrap()).len(), usize::from(workers));
        }
        app.end(&mut local);
        app.assert_is(&before);
    }
}

/// Unicorn as the app's owner starts it, ended with all its processes.
fn owned(app: &TestApp, settings: &Settings, socket: &Path) -> Kept {
    let mut command = Command::new("unicorn");
    command.args(["-E", "production", "-c", "config/unicorn.rb", "-l"]).arg(socket);
    command.current_dir(app.path()).env_remove("WEB_CONCURRENCY").env_remove("UNICORN_WORKERS");
    command.envs(&settings.env).stdin(Stdio::null()).stderr(Stdio::null());
    Kept::lead(&mut command)
}

#[test]
fn the_printed_settings_give_exactly_the_workers() {
    for (own, names) in [
        ("worker_processes Integer(ENV['WEB_CONCURRENCY'] || 1)\n", vec!["WEB_CONCURRENCY"]),
        ("worker_processes 1\n", vec![]),
    ] {
        let rackup = ("config.ru", "run ->(env) { [200, {}, ['ok']] }\n");
        let app = TestApp::new(&[rackup, ("config/unicorn.rb", own)]);
        let inspection = app.inspect_on("unicorn");
        let recognised = app.settings_on("unicorn").app;
        let settings = written_down("unicorn", &recognised, &inspection, (3, 1));
        assert_eq!(settings.env.keys().collect::<Vec<_>>(), names, "{own}");
        if settings.env.is_empty() {
            fs::write(app.path().join("config/unicorn.rb"), &settings.config_snippet).unwrap();
        }
        let sockets = tempfile::tempdir().unwrap();
        let owned = owned(&app, &settings, &sockets.path().join("unicorn.sock"));
        let workers = || {
            let all = children(owned.pid()).into_iter().map(title);
            all.filter(|title| title.starts_with("unicorn worker[")).count()
        };
        wait_until("three workers run", || workers() == 3);
        drop(owned);
        wait_until("Unicorn has ended", || app.processes().is_empty());
    }
}

#[test]
fn a_tune_ends_in_a_decision_that_names_workers_only() {
    let site = Site::working(&[
        ("config.ru", "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n"),
        ("config/unicorn.rb", "worker_processes Integer(ENV['WEB_CONCURRENCY'] || 1)\n"),
    ]);
    let tune = ["tune", "--workers", "1,3", "--budget", "60s", "--slo", "p95<1s"];
    let ended = site.run(&tune);
    ended.assert_code(0).assert_says(&[
        "Run 3 workers: it holds",
        "times what today's 1 worker holds",
        "3 workers: holds",
        "WEB_CONCURRENCY=3",
        "worker_processes 3",
        "unicorn's configuration file",
    ]);
    let printed = format!("{}{}", ended.stdout, ended.stderr).to_lowercase();
    assert!(!printed.contains("thread"), "{printed}");
    let markdown = site.run(&["report", "last", "-o", "markdown"]);
    markdown.assert_code(0);
    assert!(!markdown.stdout.to_lowercase().contains("thread"), "{}", markdown.stdout);
    site.run(&["sessions", "list"]).assert_says(&["unicorn 6", "3 workers, "]);
    let report = site.run(&["sessions", "show", "last", "--json"]).json();
    assert_eq!(report["decision"]["workers"], 3);
    assert_eq!(report["decision"]["threads"], 1);
    assert_eq!(report["current"]["threads"], 1);
    assert!(report["trials"].as_array().unwrap().iter().all(|trial| trial["threads"] == 1));
}
