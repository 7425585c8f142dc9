//! Servers that do not become ready, each with its cause and its way out.

use std::net::TcpListener;

use sweetspot::terms::BootFailureKind::*;

use super::*;

#[test]
fn an_app_that_raises_at_boot_shows_its_own_message_in_every_mode() {
    let raising = "def boot = raise('boom at boot')\nboot\n";
    let preload = ("config/puma.rb", "preload_app!\n");
    let no_preload = ("config/puma.rb", "preload_app!(false)\n");
    for (workers, settings) in [(1, None), (2, Some(preload)), (2, Some(no_preload))] {
        let mut files = vec![("config.ru", raising)];
        files.extend(settings);
        let app = TestApp::new(&files);
        let failure = start_failing(&mut app.local(), workers, 1);
        assert_eq!(failure.kind, Exited, "{settings:?}");
        let shown = failure.last_lines.join("\n");
        assert!(shown.contains("boom at boot"), "{settings:?}: {failure:?}");
        assert!(failure.last_lines.len() <= 20);
        app.assert_nothing_is_left();
    }
}

#[test]
fn a_known_cause_is_recognised_in_what_the_app_prints() {
    for (raised, kind, advice) in [
        (
            "ArgumentError, 'Missing `secret_key_base` for \\'production\\' environment'",
            SecretKeyBase,
            "SECRET_KEY_BASE",
        ),
        (
            "Class.new(StandardError) { def self.to_s = 'PG::ConnectionBad' }, 'x'",
            Database,
            "database",
        ),
        ("'Migrations are pending. To resolve this issue, run:'", PendingMigration, "migrat"),
        ("LoadError, 'cannot load such file -- puma/plugin/x'", NotInstalled, "install"),
    ] {
        let app = TestApp::new(&[("config.ru", &format!("raise {raised}\n"))]);
        let failure = start_failing(&mut app.local(), 1, 1);
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_advice(&failure, advice);
        app.assert_nothing_is_left();
    }
}

#[test]
fn a_database_without_connections_left_is_told_with_what_is_needed() {
    let raised = "raise 'Mysql2::Error::ConnectionError: Too many connections'\n";
    let app = TestApp::new(&[("config.ru", raised)]);
    let failure = start_failing(&mut app.local(), 2, 3);
    assert_eq!(failure.kind, TooManyConnections, "{failure:?}");
    let needed = "2 workers x 3 threads need up to 6";
    assert_message(&failure, needed);
    assert_advice(&failure, "max_connections");
    app.assert_nothing_is_left();
}

#[test]
fn a_reply_that_is_not_2xx_says_what_it_is_and_what_to_do() {
    for (status, headers, kind, message, advice) in [
        (500, "{}", ServerError, "GET / answers 500", "own last lines"),
        (301, "{'Location' => 'https://127.0.0.1/'}", ForcedSsl, "https://", "X-Forwarded-Proto"),
        (302, "{'Location' => '/login?to=/'}", Redirected, "leads to /login", "--target"),
        (401, "{}", Unauthorized, "401", "Authorization"),
        (403, "{}", Forbidden, "403", "config.hosts"),
        (404, "{}", NotFound, "404", "--target"),
        (429, "{}", RateLimited, "429", "Rack::Attack"),
    ] {
        let app = TestApp::answering(&format!("warn 'from the app'; [{status}, {headers}, ['']]"));
        let failure = start_failing(&mut app.local(), 1, 1);
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert_message(&failure, message);
        assert_advice(&failure, advice);
        assert!(failure.last_lines.iter().any(|line| line == "from the app"), "{failure:?}");
        app.assert_nothing_is_left();
    }
}

#[test]
fn every_page_that_is_only_read_is_tried_with_its_headers_and_others_are_not() {
    let app = TestApp::answering(
        "next [500, {}, []] if env['REQUEST_METHOD'] == 'POST'; \
         env['HTTP_X_FORWARDED_PROTO'] == 'https' ? [200, {}, []] : [404, {}, []]",
    );
    let https =
        Target { headers: vec![("X-Forwarded-Proto".into(), "https".into())], ..Target::get("/a") };
    let post = Target { method: "POST".into(), ..Target::get("/b") };
    let mut settings = app.settings();
    settings.targets = vec![https.clone(), post];
    let _first = started(settings, 1, 1);
    let mut settings = app.settings();
    settings.targets = vec![https, Target::get("/c?key=secret")];
    let failure = failing(settings, 1, 1);
    assert_message(&failure, "GET /c?… answers 404");
}

fn impatient(app: &TestApp, patience: Duration) -> Local {
    let settings = LocalSettings { boot_patience: patience, ..app.settings() };
    Local::new(settings, StopSignal::default()).unwrap()
}

#[test]
fn an_app_that_never_answers_and_one_that_never_boots_are_given_up() {
    let app = TestApp::answering("sleep");
    let failure = start_failing(&mut impatient(&app, Duration::from_secs(4)), 1, 1);
    assert_eq!(failure.kind, NeverReady);
    assert_message(&failure, "GET / was not answered within 4 s");
    assert_message(&failure, "--boot-timeout gives it longer");
    app.assert_nothing_is_left();

    let app = TestApp::new(&[("config.ru", "warn 'still thinking'; sleep\n")]);
    let failure = start_failing(&mut impatient(&app, Duration::from_secs(4)), 2, 1);
    assert_eq!(failure.kind, NeverReady);
    assert_message(&failure, "0 of 2 processes had booted within 4 s; --boot-timeout");
    assert!(failure.last_lines.join("\n").contains("still thinking"), "{failure:?}");
    app.assert_nothing_is_left();
}

#[test]
fn a_boot_is_given_up_when_the_user_wants_to_end() {
    let app = TestApp::new(&[("config.ru", "sleep\n")]);
    let stop = StopSignal::default();
    let mut local = Local::new(app.settings(), stop.clone()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("it boots", || !app.processes().is_empty());
            stop.raise();
        });
        assert!(matches!(local.start(configuration(2, 1)), Err(PlaceError::Stopped)));
    });
    app.assert_nothing_is_left();
}

#[test]
fn a_port_that_is_taken_is_named_and_the_other_server_is_left_alone() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    for workers in [1, 2] {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = Some(taken.local_addr().unwrap().port());
        let settings = LocalSettings { port, ..app.settings() };
        let failure = failing(settings, workers, 1);
        assert_eq!(failure.kind, PortTaken, "{failure:?}");
        assert_message(&failure, "something else listens");
        app.assert_nothing_is_left();
    }
}

#[test]
fn a_server_that_is_not_installed_is_named() {
    let app = TestApp::answering("[200, {}, ['ok']]");
    let mut settings = app.settings();
    settings.app.is_bundled = true;
    // Whether Bundler is there or not, this app has no Gemfile that it could use.
    fs::write(app.path().join("Gemfile"), "gem 'no-such-gem-at-all'\n").unwrap();
    let failure = failing(settings, 1, 1);
    assert_eq!(failure.kind, NotInstalled, "{failure:?}");
    assert_advice(&failure, "bundle install");
    assert!(!app.path().join("Gemfile.lock").exists());
}
