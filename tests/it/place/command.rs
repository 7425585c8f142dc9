//! Servers that sweetspot does not know, started by a command: several workers, one process, Python
//! and Ruby; and what is particular to them.

use std::ops::ControlFlow;

use sweetspot::terms::{BootFailureKind, Role};

use super::*;
use crate::failures::site::Site;

/// A Python app that says which process serves, and waits a little.
const WSGI: &str = "import os\n\n\ndef app(environ, start_response):\n    \
    start_response('200 OK', [])\n    return [str(os.getpid()).encode()]\n";

const GUNICORN: &str = "gunicorn -w {workers} --threads {threads} -b 127.0.0.1:{port} app:app";

/// A command of the user's with this app.
fn app(start: &str, more: &str, files: &[(&str, &str)]) -> TestApp {
    let plan = format!("start = '''{start}'''\n{more}");
    let files: Vec<_> = files.iter().copied().chain([("sweetspot.toml", plan.as_str())]).collect();
    TestApp::new(&files)
}

#[test]
fn gunicorn_is_started_by_its_command_and_its_workers_are_found() {
    let app = app(GUNICORN, "[env]\nPYTHONDONTWRITEBYTECODE = \"1\"\n", &[("app.py", WSGI)]);
    let before = app.listing();
    let mut local = app.local_on("command");
    for (workers, threads) in [(1, 1), (3, 1), (2, 3)] {
        start(&mut local, workers, threads);
        let serving = local.workers();
        assert_eq!(serving.len(), usize::from(workers), "{serving:?}");
        let master = local.server_pid().unwrap();
        assert!(!serving.contains(&master), "the master serves nothing");
        let answering: u32 = get(local.address().unwrap(), "/").parse().unwrap();
        assert!(serving.contains(&answering), "{answering} of {serving:?}");
    }
    app.end(&mut local);
    app.assert_is(&before);
}

#[test]
fn workers_that_were_spawned_and_not_forked_are_found_among_their_helpers() {
    let asgi = "import os\n\n\nasync def app(scope, receive, send):\n    \
        if scope['type'] != 'http':\n        return\n    \
        await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
        body = str(os.getpid()).encode()\n    \
        await send({'type': 'http.response.body', 'body': body})\n";
    let start_with = "uvicorn --workers {workers} --host 127.0.0.1 --port {port} app:app";
    let app = app(start_with, "[env]\nPYTHONDONTWRITEBYTECODE = 1\n", &[("app.py", asgi)]);
    let mut local = app.local_on("command");
    for workers in [1, 2] {
        start(&mut local, workers, 1);
        let serving = local.workers();
        assert_eq!(serving.len(), usize::from(workers), "{serving:?}");
        let answering: u32 = get(local.address().unwrap(), "/").parse().unwrap();
        assert!(serving.contains(&answering), "{answering} of {serving:?}");
    }
    app.end(&mut local);
}

#[test]
fn a_single_process_is_its_own_worker_also_below_a_shell() {
    for start_with in [
        "python3 -m http.server --bind 127.0.0.1 {port}",
        "sh -c 'python3 -m http.server --bind 127.0.0.1 $PORT; true'",
        "./serve",
    ] {
        let serve = "#!/bin/sh\nexec python3 -m http.server --bind 127.0.0.1 $PORT\n";
        let app = app(start_with, "[env]\nPORT = \"{port}\"\n", &[("serve", serve)]);
        set_mode(&app.path().join("serve"), 0o755);
        fs::write(app.path().join("index.html"), "ok").unwrap();
        let start_with = start_with.replace("''", "'");
        let mut local = app.local_on("command");
        start(&mut local, 1, 1);
        assert_eq!(get(local.address().unwrap(), "/index.html"), "ok");
        let serving = local.workers();
        assert_eq!(serving.len(), 1, "{start_with}: {serving:?}");
        assert!(title(serving[0]).contains("http.server"), "{start_with}");
        app.end(&mut local);
    }
}

#[test]
fn a_server_that_makes_itself_independent_is_found_watched_and_ended() {
    let serve = "exec python3 -m http.server --bind 127.0.0.1 {port}";
    // Whoever started it has ended, the first process does not know it.
    let start_with = format!("sh -c '(setsid sh -c \"{serve}\" &); exec sleep 1000'");
    let app = app(&start_with, "", &[("index.html", "ok")]);
    let mut local = app.local_on("command");
    start(&mut local, 1, 1);
    let serving = local.workers();
    assert_eq!(serving.len(), 1, "{serving:?}");
    assert!(title(serving[0]).contains("http.server"), "{}", title(serving[0]));
    let offer = a_second(1, Duration::from_millis(50));
    let observed = local.offer(&offer, &mut |_| ControlFlow::Continue(())).unwrap();
    let all = observed.monitor.seconds.iter().flat_map(|second| &second.processes);
    let roles: Vec<Role> = all.filter(|it| it.pid == serving[0]).map(|it| it.role).collect();
    assert!(!roles.is_empty() && roles.iter().all(|role| *role == Role::Worker), "{roles:?}");
    app.end(&mut local);
}

#[test]
fn the_stop_signal_is_the_users() {
    // Ends at USR1 alone, and says so.
    let serve = "import signal, sys, os, http.server\n\
        def end(*_):\n    open(os.environ['MARK'], 'w').close()\n    os._exit(0)\n\
        signal.signal(signal.SIGUSR1, end)\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), \
        bind='127.0.0.1')\n";
    let elsewhere = tempfile::tempdir().unwrap();
    let mark = elsewhere.path().join("ended");
    let more = format!("stop-signal = \"USR1\"\n[env]\nMARK = \"{}\"\n", mark.display());
    let app = app("python3 serve.py {port}", &more, &[("serve.py", serve)]);
    let mut local = app.local_on("command");
    start(&mut local, 1, 1);
    let began = Instant::now();
    local.stop().unwrap();
    assert!(mark.exists(), "it was ended for certain");
    assert!(began.elapsed() < Duration::from_secs(9));
    app.assert_nothing_is_left();
}

#[test]
fn workers_that_load_slowly_are_waited_for_though_another_answers() {
    // The first worker is there at once; the others compute before they load the app.
    let slow = "import os, time, fcntl\n\
        lock = open(os.environ['FIRST'], 'w')\n\
        try:\n    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)\n\
        except OSError:\n    end = time.process_time() + 1.5\n    \
        while time.process_time() < end:\n        pass\n    \
        open(os.environ['FIRST'] + str(os.getpid()), 'w').close()\n";
    let elsewhere = tempfile::tempdir().unwrap();
    let more = format!(
        "[env]\nPYTHONDONTWRITEBYTECODE = \"1\"\nFIRST = \"{}\"\n",
        elsewhere.path().join("first").display()
    );
    let files = [("app.py", format!("{slow}{WSGI}"))];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let app = app("gunicorn -w {workers} -b 127.0.0.1:{port} app:app", &more, &files);
    let mut local = app.local_on("command");
    start(&mut local, 3, 1);
    let loaded = fs::read_dir(elsewhere.path()).unwrap().count();
    assert_eq!(loaded, 3, "it counted as ready before its workers had loaded the app");
    app.end(&mut local);
}

#[test]
fn the_last_words_of_a_command_that_fails_are_shown() {
    let preloading = format!("{GUNICORN} --preload");
    for (start_with, words, kind) in [
        // Loaded by the master: of two workers that fail at once, this version sometimes forgets
        // to end.
        (preloading.as_str(), "boom at boot", BootFailureKind::Exited),
        ("sh -c 'echo no licence for {port} >&2; exit 3'", "no licence", BootFailureKind::Exited),
        ("sh -c 'exec ./not-there {port}'", "not-there", BootFailureKind::Exited),
    ] {
        let broken = "raise RuntimeError('boom at boot')\n";
        let env = "[env]\nPYTHONDONTWRITEBYTECODE = \"1\"\n";
        let app = app(start_with, env, &[("app.py", broken)]);
        let failure = start_failing(&mut app.local_on("command"), 2, 1);
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.last_lines.join("\n").contains(words), "{failure:?}");
        app.assert_nothing_is_left();
    }
}

#[test]
fn a_variable_of_the_users_reaches_every_server_and_the_recipes_own_come_before_it() {
    let app = TestApp::answering(
        "[200, {}, [%w[GREETING RACK_ENV RAILS_ENV WEB_CONCURRENCY].map { |n| ENV[n] }.join(' ')]]",
    );
    for name in ["puma", "unicorn"] {
        let mut settings = app.settings_on(name);
        let env = [("GREETING", "{port}"), ("RACK_ENV", "staging"), ("WEB_CONCURRENCY", "9")];
        settings.app.env = env.map(|(name, value)| (name.to_string(), value.to_string())).into();
        let local = started(settings, 2, 1);
        let answer = get(local.address().unwrap(), "/");
        assert_eq!(answer, "{port} staging staging 2", "{name}");
    }
}

#[test]
fn a_tune_of_a_command_ends_in_the_command_to_start_it_with() {
    let waiting = "import time\n\n\ndef app(environ, start_response):\n    time.sleep(0.02)\n    \
        start_response('200 OK', [])\n    return [b'ok']\n";
    let site = Site::working(&[("app.py", waiting)]);
    let start = "gunicorn -w {workers} -b 127.0.0.1:{port} app:app";
    let tune = ["tune", "--start", start, "--env", "PYTHONDONTWRITEBYTECODE=s3cret"];
    let tune: Vec<&str> = tune
        .into_iter()
        .chain(["--workers", "1,3", "--budget", "45s", "--slo", "p95<1s"])
        .collect();
    let ended = site.run(&tune);
    ended.assert_code(0).assert_says(&[
        "command gunicorn",
        "Run 3 workers: it holds",
        "gunicorn -w 3 -b 127.0.0.1:{port} app:app",
        "WEB_CONCURRENCY=3",
        "{port} is the one that it has where it serves users",
    ]);
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    for word in ["thread", "s3cret", "configuration file"] {
        assert!(!printed.contains(word), "{word} in {printed}");
    }
    let store = fs::read(site.store()).unwrap();
    assert!(memchr::memmem::find(&store, b"s3cret").is_none(), "a value is in the store");
    let report = site.run(&["sessions", "show", "last", "--json"]).json();
    assert_eq!(
        report["decision"]["settings"]["start"],
        "gunicorn -w 3 -b 127.0.0.1:{port} app:app"
    );
}
