//! gunicorn as it is really inspected, and started in spite of the app's own settings.

use sweetspot::server::MinThreads;
use sweetspot::terms::BootFailureKind;

use super::*;

const APP: &str = "import os\ndef application(environ, start):\n    \
                   start('200 OK', [('Content-Type', 'text/plain')])\n    \
                   return [' '.join(map(str, ANSWER)).encode()]\n";

#[test]
fn the_apps_own_settings_are_read_without_starting_anything() {
    let own = "import os\nworkers = int(os.environ.get('GUNICORN_PROCESSES', 3))\n\
               threads = int(os.environ.get('GUNICORN_THREADS', 2))\nbind = '0.0.0.0:8000'\n\
               accesslog = 'log/access.log'\nchdir = '/srv/only/in/production'\ntimeout = 15\n";
    let module = ("wsgi.py", "raise ValueError('booted')\napplication = 1\n");
    let read = TestApp::new(&[module, ("gunicorn.conf.py", own)]).inspect_on("gunicorn");
    assert_eq!(read.current, configuration(3, 2));
    assert_eq!(read.obeys.workers.as_deref(), Some("GUNICORN_PROCESSES"));
    assert_eq!(read.obeys.max_threads.as_deref(), Some("GUNICORN_THREADS"));
    assert_eq!(read.obeys.min_threads, MinThreads::Variable("GUNICORN_THREADS".into()));
    assert!(read.runtime_version.starts_with("Python 3."));
    let expected = ["(0.0.0.0:8000) are not opened", "log/access.log is not", "more than 15 s"];
    assert_remarks(&read, &expected);
    let own = "import os\nworkers = int(os.getenv('SHOP_WORKERS', 2))\nthreads = \
               int(os.environ.get('SHOP_THREADS', 3))\nworker_class = \
               os.getenv('WORKER_CLASS', 'gthread')\n";
    let read = TestApp::new(&[module, ("gunicorn.conf.py", own)]).inspect_on("gunicorn");
    assert_eq!(read.current, configuration(2, 3));
    assert_eq!(read.obeys.workers.as_deref(), Some("SHOP_WORKERS"));
    assert_eq!(read.obeys.max_threads.as_deref(), Some("SHOP_THREADS"));
    let plain = TestApp::new(&[module]).inspect_on("gunicorn");
    assert_eq!(plain.current, configuration(1, 1));
    assert_eq!(plain.obeys.workers.as_deref(), Some("WEB_CONCURRENCY"));
    assert_eq!(plain.obeys.max_threads, None);
}

#[test]
fn settings_that_insist_on_a_port_are_read_without_one() {
    let own = "import os\nbind = '127.0.0.1:' + os.environ['PORT']\nworkers = 3\n";
    let files = [("wsgi.py", "application = 1\n"), ("gunicorn.conf.py", own)];
    let read = TestApp::new(&files).inspect_on("gunicorn");
    assert_eq!(read.current, configuration(3, 1));
    assert!(!remarks(&read).contains("not opened"), "{read:?}");
}

#[test]
fn settings_that_do_not_load_are_shown_with_their_line() {
    let own = ("gunicorn.conf.py", "workers = 2\nthreads = unknown_name\n");
    let app = TestApp::new(&[("wsgi.py", "application = 1\n"), own]);
    let failure = unread(app.local_on("gunicorn"));
    assert_eq!(failure.kind, BootFailureKind::Exited);
    assert!(why(&failure).contains("unknown_name"), "{failure:?}");
    assert!(why(&failure).contains("gunicorn.conf.py:2"), "{failure:?}");
}

/// Settings that would write into the app's folder, go into the background and listen elsewhere;
/// and hooks that have to stay.
const STUBBORN: &str = "
import os
bind = '127.0.0.1:OWN_PORT'
workers = 7
threads = 5
daemon = True
pidfile = 'gunicorn.pid'
accesslog = 'access.log'
errorlog = 'error.log'
chdir = '/srv/only/in/production'
certfile = '/no/such/file'
proxy_protocol = True
loglevel = 'critical'
preload_app = PRELOAD
def post_worker_init(worker):
    os.environ['HOOK'] = 'hook %s' % worker.cfg.workers
";

#[test]
fn the_apps_own_ports_files_and_numbers_give_way_and_its_hooks_stay() {
    let own_port = unused_address();
    let answer = "(os.getcwd(), os.environ['HOOK'], os.environ['WEB_CONCURRENCY'], \
                  os.environ['GUNICORN_THREADS'], environ['wsgi.multithread'])";
    for preload in ["True", "False"] {
        let config =
            STUBBORN.replace("OWN_PORT", &own_port.port().to_string()).replace("PRELOAD", preload);
        let module = APP.replace("ANSWER", answer);
        let app = TestApp::new(&[("wsgi.py", &module), ("gunicorn.conf.py", &config)]);
        let before = app.listing();
        let mut local = app.local_on("gunicorn");
        for (workers, threads) in [(2, 3), (1, 1)] {
            start(&mut local, workers, threads);
            let expected = format!(
                "{} hook {workers} {workers} {threads} {}",
                app.path().display(),
                if threads > 1 { "True" } else { "False" }
            );
            assert_eq!(get(local.address().unwrap(), "/"), expected, "preload {preload}");
            assert!(TcpStream::connect(own_port).is_err(), "the app's own port is open");
            assert_eq!(children(local.server_pid().unwrap()).len(), usize::from(workers));
        }
        app.end(&mut local);
        app.assert_is(&before);
    }
}

#[test]
fn it_is_measured_with_the_flags_of_the_command_that_deploys_it() {
    let config = "import os\ndef post_worker_init(worker):\n    cfg = worker.cfg\n    \
                  own = (cfg.preload_app, cfg.max_requests, cfg.timeout, cfg.workers)\n    \
                  os.environ['HOOK'] = ' '.join(map(str, own))\n";
    let module = APP.replace("ANSWER", "(os.getcwd(), os.environ['HOOK'], os.environ['STAGE'])");
    let command = "web: gunicorn --chdir web -w 5 --preload --max-requests 500 -t 45 -e STAGE=live \
                   --bind 0.0.0.0:$PORT --pid app.pid wsgi:application\n";
    let files = [("web/wsgi.py", &*module), ("gunicorn.conf.py", config), ("Procfile", command)];
    let app = TestApp::new(&files);
    let before = app.listing();
    let settings = || LocalSettings { app: app.planned(), ..app.settings_on("gunicorn") };
    let inspection = app.inspect(Local::new(settings(), StopSignal::default()).unwrap());
    assert_eq!(inspection.current, configuration(5, 1));
    let expected = ["preload_app = True", "after 500 requests", "more than 45 s"];
    assert_remarks(&inspection, &expected);
    let mut local = started(settings(), 2, 1);
    let expected = format!("{}/web True 500 45 2 live", app.path().display());
    assert_eq!(get(local.address().unwrap(), "/"), expected);
    app.end(&mut local);
    app.assert_is(&before);
}

#[test]
fn an_asgi_app_runs_in_workers_of_uvicorns() {
    let module = "import os\nasync def app(scope, receive, send):\n    \
                  assert scope['type'] == 'http'\n    \
                  await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                  await send({'type': 'http.response.body', 'body': b'asgi'})\n";
    let own = "worker_class = 'uvicorn.workers.UvicornWorker'\nworkers = 2\n";
    for config in [Some(own), None] {
        let config = config.map(|text| ("gunicorn.conf.py", text));
        let files: Vec<_> = [("asgi.py", module)].into_iter().chain(config).collect();
        let app = TestApp::new(&files);
        assert!(!server::find("gunicorn").unwrap().has_threads(&app.settings_on("gunicorn").app));
        let mut local = started(app.settings_on("gunicorn"), 2, 1);
        assert_eq!(get(local.address().unwrap(), "/"), "asgi");
        app.end(&mut local);
    }
}

#[test]
fn a_module_or_a_name_that_is_not_there_is_shown() {
    for (text, expected) in [
        ("import no_such_module\napplication = 1\n", "No module named 'no_such_module'"),
        ("app = application = None\ndel application, app\n", "Failed to find attribute"),
    ] {
        let app = TestApp::new(&[("wsgi.py", text)]);
        let failure = start_failing(&mut app.local_on("gunicorn"), 2, 1);
        assert_eq!(failure.kind, BootFailureKind::Exited, "{failure:?}");
        assert!(failure.last_lines.join("\n").contains(expected), "{failure:?}");
        app.assert_nothing_is_left();
    }
}

#[test]
fn the_printed_lines_give_exactly_the_workers_and_threads() {
    let module = APP.replace("ANSWER", "['ok']");
    let app = TestApp::new(&[("wsgi.py", &module)]);
    let inspection = app.inspect_on("gunicorn");
    let recognised = app.settings_on("gunicorn").app;
    let settings = written_down("gunicorn", &recognised, &inspection, (3, 2));
    assert!(settings.env.is_empty(), "{settings:?}");
    fs::write(app.path().join("gunicorn.conf.py"), &settings.config_snippet).unwrap();
    assert_eq!(app.inspect_on("gunicorn").current, configuration(3, 2));
}
