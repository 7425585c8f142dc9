//! Thin as it is really inspected, started in spite of the app's own settings, and as its owner
//! starts it with the settings that are printed.

use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use sweetspot::terms::BootFailureKind;

use super::*;

#[test]
fn the_apps_own_settings_are_read_without_starting_anything() {
    let follows = "servers: <%= ENV['WEB_CONCURRENCY'] || 3 %>\nthreaded: true\n\
                   threadpool_size: <%= ENV['MAX_THREADS'] || 7 %>\ntimeout: 45\n\
                   log: log/thin.log\nuser: www-data\nchdir: /srv/only/in/production\n";
    for (settings, (workers, threads), obeys) in [
        (follows, (3, 7), (Some("WEB_CONCURRENCY"), Some("MAX_THREADS"))),
        ("---\n:servers: 2\n:threaded: true\n", (2, 20), (None, None)),
        ("socket: /run/thin.sock\nthreadpool_size: 5\n", (1, 1), (None, None)),
        ("", (1, 1), (None, None)),
    ] {
        let files = [("config.ru", "raise 'booted'"), ("config/thin.yml", settings)];
        let inspection = TestApp::new(&files).inspect_on("thin");
        assert_eq!(inspection.current, configuration(workers, threads), "{settings}");
        let obeyed = &inspection.obeys;
        assert_eq!((obeyed.workers.as_deref(), obeyed.max_threads.as_deref()), obeys, "{settings}");
        assert!(inspection.server_version.starts_with(|c: char| c.is_ascii_digit()));
        assert!(inspection.runtime_version.starts_with("ruby "));
        if settings == follows {
            let log = "log/thin.log is not written to";
            assert_remarks(&inspection, &["longer than 45 s", log, "thin.yml sets user"]);
        }
    }
    let without = TestApp::answering("[200, {}, []]").inspect_on("thin");
    assert_eq!(without.current, configuration(1, 1));
}

#[test]
fn settings_that_do_not_load_are_shown_with_their_line() {
    for (own, expected) in [
        ("servers: 2\nport: <%= no_such_setting %>\n", ["no_such_setting", "config/thin.yml:2"]),
        ("servers: [2\nport: 3\n", ["config/thin.yml", "at line 1"]),
        ("- servers\n", ["config/thin.yml", "holds no names"]),
    ] {
        let app = TestApp::new(&[("config.ru", ""), ("config/thin.yml", own)]);
        let failure = unread(app.local_on("thin"));
        assert_eq!(failure.kind, BootFailureKind::Exited);
        for part in expected {
            assert!(why(&failure).contains(part), "{failure:?}");
        }
    }
}

/// Settings that would write into the app's folder, go elsewhere, listen there and start others;
/// and some that have to stay.
const STUBBORN: &str = "servers: 4\nonly: 1\ndaemonize: true\nport: OWN_PORT\naddress: 127.0.0.1\n\
    chdir: /srv/only/in/production\npid: tmp/pids/server.pid\nlog: log/out.log\nquiet: true\n\
    user: nobody\ngroup: nogroup\nssl: true\nenvironment: staging\nrackup: other.ru\n\
    threaded: true\nthreadpool_size: 9\nbackend: NoSuchBackend\n\
    require: [./own.rb]\ntimeout: 47\nmax_conns: 700\ntag: <%= 'shop' %>\n";

#[test]
fn the_apps_own_ports_files_and_numbers_give_way_and_the_rest_stays() {
    let own_port = unused_address();
    let rackup = "run ->(env) do\n  \
        backend = ObjectSpace.each_object(Thin::Backends::Base).first\n  \
        threads = backend.threaded? ? backend.threadpool_size : 1\n  \
        [200, {}, [[Dir.pwd, $own, backend.timeout, backend.maximum_connections, \
        backend.server.tag, ENV['RACK_ENV'], ENV['WEB_CONCURRENCY'], ENV['RAILS_MAX_THREADS'], \
        threads].join(' ')]]\nend\n";
    let app = TestApp::new(&[
        ("config.ru", rackup),
        ("own.rb", "$own = 'required'\n"),
        ("config/thin.yml", &STUBBORN.replace("OWN_PORT", &own_port.port().to_string())),
        ("tmp/pids/.keep", ""),
        ("log/.keep", ""),
    ]);
    let before = app.listing();
    let mut local = app.local_on("thin");
    for (workers, threads) in [(2, 3), (1, 1)] {
        start(&mut local, workers, threads);
        let expected = format!(
            "{} required 47 700 shop production {workers} {threads} {threads}",
            app.path().display()
        );
        assert_eq!(get(local.address().unwrap(), "/"), expected);
        assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
        assert_eq!(local.server_pids().len(), usize::from(workers));
    }
    app.end(&mut local);
    app.assert_is(&before);
}

/// Answers how many requests have been in one process at the same time.
const COUNTING: &str = "$lock, $in, $max = Mutex.new, 0, 0\nrun ->(env) do\n  \
    $lock.synchronize { $in += 1; $max = [$max, $in].max }\n  sleep 0.2\n  \
    $lock.synchronize { $in -= 1 }\n  [200, {}, [$max.to_s]]\nend\n";

#[test]
fn a_worker_serves_as_many_requests_at_once_as_it_has_threads() {
    let app = TestApp::new(&[("config.ru", COUNTING), ("config/thin.yml", "threaded: true\n")]);
    let mut local = app.local_on("thin");
    for threads in [1, 2, 3] {
        start(&mut local, 1, threads);
        let address = local.address().unwrap();
        let clients: Vec<_> =
            (0..6).map(|_| std::thread::spawn(move || get(address, "/"))).collect();
        let seen = clients.into_iter().map(|client| client.join().unwrap().parse::<u16>().unwrap());
        assert_eq!(seen.max(), Some(threads));
    }
}

#[test]
fn the_apps_own_timeout_cuts_replies_off_where_there_are_several_threads() {
    let rackup = "run ->(env) { sleep 2.5 if env['PATH_INFO'] == '/slow'; [200, {}, ['ok']] }\n";
    let app = TestApp::new(&[("config.ru", rackup), ("thin.yml", "timeout: 1\n")]);
    let mut local = app.local_on("thin");
    for (threads, expected) in [(1, "ok"), (2, "502 Bad Gateway")] {
        start(&mut local, 1, threads);
        let reply = get(local.address().unwrap(), "/slow");
        assert!(reply.contains(expected), "{threads}: {reply}");
    }
}

#[test]
fn an_app_with_a_bundle_runs_through_bundler() {
    let app = TestApp::new(&[
        ("Gemfile", "gem 'thin'\n"),
        ("config.ru", "run ->(env) { [200, {}, [Bundler.default_lockfile.to_s]] }\n"),
    ]);
    let mut lock = Command::new("bundle");
    lock.args(["lock", "--local"]).current_dir(app.path());
    lock.stdout(Stdio::null()).stderr(Stdio::null());
    assert!(lock.status().unwrap().success());
    let before = app.listing();
    assert_eq!(app.inspect_on("thin").current, configuration(1, 1));
    let mut local = started(app.settings_on("thin"), 2, 2);
    let lock = app.path().join("Gemfile.lock");
    assert_eq!(get(local.address().unwrap(), "/"), lock.display().to_string());
    app.end(&mut local);
    app.assert_is(&before);
}

#[test]
fn a_socket_that_a_killed_server_left_behind_does_not_stop_the_next_one() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    let mut local = app.local_on("thin");
    for _ in 0..2 {
        start(&mut local, 2, 1);
        local.server_pids().into_iter().for_each(|pid| kill(pid, libc::SIGKILL));
    }
    start(&mut local, 2, 1);
    assert_eq!(get(local.address().unwrap(), "/"), "ok");
}

#[test]
fn an_app_that_fails_in_a_request_shows_why() {
    let app = TestApp::answering("raise 'boom in a page'");
    let failure = start_failing(&mut app.local_on("thin"), 2, 2);
    assert_eq!(failure.kind, BootFailureKind::ServerError, "{failure:?}");
    assert!(failure.last_lines.join("\n").contains("boom in a page"), "{failure:?}");
    app.assert_nothing_is_left();
}

/// Thin as the app's owner starts it, in the background, with a file of its own settings; all its
/// processes are ended at the end.
struct Owned<'a>(&'a TestApp);

impl<'a> Owned<'a> {
    fn new(app: &'a TestApp, env: &BTreeMap<String, String>) -> Self {
        let mut command = Command::new("thin");
        command.args(["start", "-C", "config/thin.yml", "-R", "config.ru", "-e", "production"]);
        command.current_dir(app.path()).env_remove("WEB_CONCURRENCY").envs(env);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let owned = Self(app);
        assert!(command.status().unwrap().success());
        owned
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        for pid in self.0.processes() {
            crate::process::kill(pid, libc::SIGKILL);
        }
    }
}

#[test]
fn the_printed_settings_give_exactly_the_workers_and_threads() {
    let follows = "servers: <%= ENV['WEB_CONCURRENCY'] || 1 %>\nthreaded: true\n\
                   threadpool_size: <%= ENV['MAX_THREADS'] || 5 %>\n";
    for (own, names) in
        [(follows, vec!["MAX_THREADS", "WEB_CONCURRENCY"]), ("servers: 1\n", vec![])]
    {
        let rackup = "run ->(env) { [200, {}, ['ok']] }\n";
        let app = TestApp::new(&[("config.ru", rackup), ("config/thin.yml", own)]);
        let inspection = app.inspect_on("thin");
        let settings = written_down("thin", &app.settings_on("thin").app, &inspection, (3, 2));
        assert_eq!(settings.env.keys().collect::<Vec<_>>(), names, "{own}");
        let numbers = if settings.env.is_empty() { &settings.config_snippet } else { own };
        let at = app.path().display().to_string();
        let own =
            format!("{numbers}\nsocket: {at}/thin.sock\npid: {at}/thin.pid\nlog: {at}/thin.log\n");
        fs::write(app.path().join("config/thin.yml"), own).unwrap();
        let owned = Owned::new(&app, &settings.env);
        let sockets = [0, 1, 2].map(|at| app.path().join(format!("thin.{at}.sock")));
        for socket in &sockets {
            wait_until("a worker answers", || {
                let Ok(mut stream) = UnixStream::connect(socket) else { return false };
                write!(stream, "GET / HTTP/1.0\r\n\r\n").unwrap();
                let mut reply = String::new();
                stream.read_to_string(&mut reply).is_ok() && reply.ends_with("ok")
            });
        }
        let processes = app.processes();
        assert_eq!(processes.len(), 3, "{processes:?}");
        for pid in processes {
            // Made by the first request.
            wait_until("both threads are there", || threads_named(pid, "eventmachine") == 2);
        }
        drop(owned);
        wait_until("Thin has ended", || app.processes().is_empty());
    }
}
