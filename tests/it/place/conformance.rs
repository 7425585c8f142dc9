//! What the place promises, with the real server behind every adapter: a row of [`ROWS`] a server.

use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;

use sweetspot::server::ADAPTERS;
use sweetspot::terms::{BootFailureKind, PythonRemark, Remark, TrialFailure};

use super::*;
use crate::failures::random;
use crate::failures::site::{Running, Site};

/// What differs from server to server.
struct Row {
    name: &'static str,
    configurations: &'static [(u16, u16)],
    threads: Threads,
    /// The app's own settings: each way of loading the app.
    settings: &'static [&'static str],
    /// An app of this server's language.
    app: fn(Doing) -> Files,
    /// A worker that was killed is replaced, and the server goes on, unless the installed version
    /// is one of which the program says that it doesn't.
    replaces_workers: bool,
    /// What an app that does not load makes of a start: the server ends, or answers nothing good.
    failed_load: BootFailureKind,
}

/// The threads that serve.
#[derive(Clone, Copy)]
enum Threads {
    /// One a worker.
    One,
    /// Called so, and there from the start or from the first request on.
    Named(&'static str),
    /// Called so where there are several; a worker's only thread is its main one.
    NamedBeyondOne(&'static str),
    /// Made when there is something to do.
    OnDemand,
}

/// Names and contents.
type Files = Vec<(&'static str, String)>;

/// What an app does.
#[derive(Clone, Copy)]
enum Doing {
    /// Answers with the id of the process that serves.
    AnswersItsPid,
    /// Does not load; `boom at boot` and the file's name should be seen.
    FailsAtLoad,
    /// Does not load, in the way that its language has for a part that is missing.
    LacksAPart,
    /// Asked for `/slow`, connects to this port, then answers `finished` after half a second.
    TakesItsTime { port: u16 },
    /// Asked for `/slow`, connects to this port, and answers when that connection ends.
    WaitsFor { port: u16 },
}

const ROWS: &[Row] = &[
    Row {
        name: "puma",
        configurations: &[(1, 1), (1, 3), (3, 2)],
        threads: Threads::Named("puma srv tp 0"),
        settings: &["preload_app!\n", "preload_app! false\n"],
        app: rack_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "unicorn",
        configurations: &[(1, 1), (3, 1)],
        threads: Threads::One,
        settings: &["preload_app true\n", "preload_app false\n"],
        app: rack_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "thin",
        configurations: &[(1, 1), (1, 3), (3, 1), (3, 2)],
        // Made when the first request comes.
        threads: Threads::NamedBeyondOne("eventmachine"),
        settings: &["threaded: true\n", "servers: 2\ndaemonize: true\nport: 1\n"],
        app: rack_app,
        replaces_workers: false,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "php-fpm",
        configurations: &[(1, 1), (3, 1)],
        threads: Threads::One,
        settings: &["[www]\npm = static\npm.max_children = 2\nlisten = 127.0.0.1:1\n"],
        app: php_app,
        replaces_workers: true,
        // Nothing is loaded before the first page is asked for.
        failed_load: BootFailureKind::ServerError,
    },
    // Puma as somebody's own command, of which nothing is known.
    Row {
        name: "command",
        configurations: &[(1, 1), (1, 3), (3, 2)],
        threads: Threads::Named("puma srv tp 0"),
        settings: &[],
        app: command_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "uvicorn",
        configurations: &[(1, 1), (3, 1)],
        threads: Threads::One,
        settings: &[],
        app: asgi_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "gunicorn",
        configurations: &[(1, 1), (1, 3), (3, 2)],
        threads: Threads::OnDemand,
        settings: &["preload_app = True\n", "preload_app = False\n"],
        app: wsgi_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
    Row {
        name: "node",
        configurations: &[(1, 1), (3, 1)],
        threads: Threads::One,
        settings: &[],
        app: node_app,
        replaces_workers: true,
        failed_load: BootFailureKind::Exited,
    },
];

/// Where the command listens; it is on a socket behind nginx.
const ON_A_PORT: &str = "tcp://127.0.0.1:{port}";
const ON_A_SOCKET: &str = "unix://{socket}";

fn command_app(doing: Doing) -> Files {
    let start = "puma -e production --preload -w {workers} -t {threads}:{threads} -C -";
    let plan = format!("start = \"{start} -b {ON_A_PORT} config.ru\"\n");
    rack_app(doing).into_iter().chain([("sweetspot.toml", plan)]).collect()
}

fn wsgi_app(doing: Doing) -> Files {
    let app = |body: &str| {
        format!(
            "import os, socket, time\ndef application(environ, start):\n    \
             is_slow = environ['PATH_INFO'] == '/slow'\n    \
             start('200 OK', [('Content-Type', 'text/plain')])\n{body}"
        )
    };
    let module = match doing {
        Doing::AnswersItsPid => app("    return [str(os.getpid()).encode()]\n"),
        Doing::FailsAtLoad => "raise ValueError('boom at boot')\n".to_string(),
        Doing::LacksAPart => "raise ImportError('boom at boot')\n".to_string(),
        Doing::TakesItsTime { port } => app(&format!(
            "    if is_slow:\n        \
             socket.create_connection(('127.0.0.1', {port})).close()\n        \
             time.sleep(0.5)\n    return [b'finished']\n"
        )),
        Doing::WaitsFor { port } => app(&format!(
            "    if is_slow:\n        \
             socket.create_connection(('127.0.0.1', {port})).recv(1)\n    \
             return [b'finished']\n"
        )),
    };
    vec![("wsgi.py", module)]
}

fn asgi_app(doing: Doing) -> Files {
    let app = |body: &str| {
        format!(
            "import asyncio, os\nasync def app(scope, receive, send):\n    \
             assert scope['type'] == 'http'\n    is_slow = scope['path'] == '/slow'\n{body}    \
             await send({{'type': 'http.response.start', 'status': 200, 'headers': []}})\n    \
             await send({{'type': 'http.response.body', 'body': body}})\n"
        )
    };
    let module = match doing {
        Doing::AnswersItsPid => app("    body = str(os.getpid()).encode()\n"),
        Doing::FailsAtLoad => "raise ValueError('boom at boot')\n".to_string(),
        Doing::LacksAPart => "raise ImportError('boom at boot')\n".to_string(),
        Doing::TakesItsTime { port } | Doing::WaitsFor { port } => app(&format!(
            "    body = b'finished'\n    if is_slow:\n        \
             reader, writer = await asyncio.open_connection('127.0.0.1', {port})\n        \
             writer.close()\n        await asyncio.sleep(0.5)\n"
        )),
    };
    vec![("asgi.py", module)]
}

fn node_app(doing: Doing) -> Files {
    let app = |body: &str| {
        format!(
            "const net = require('net');\nrequire('http').createServer((request, reply) => {{\n\
             {body}}}).listen(process.env.PORT);\n"
        )
    };
    let script = match doing {
        Doing::AnswersItsPid => app("  reply.end(String(process.pid));\n"),
        Doing::FailsAtLoad => "throw new Error('boom at boot');\n".to_string(),
        Doing::LacksAPart => "require('boom at boot');\n".to_string(),
        Doing::TakesItsTime { port } | Doing::WaitsFor { port } => app(&format!(
            "  if (request.url !== '/slow') return reply.end('finished');\n  \
             net.connect({port}, '127.0.0.1').end();\n  \
             setTimeout(() => reply.end('finished'), 500);\n"
        )),
    };
    vec![("server.js", script)]
}

fn rack_app(doing: Doing) -> Files {
    let rackup = match doing {
        Doing::AnswersItsPid => "run ->(env) { [200, {}, [Process.pid.to_s]] }\n".to_string(),
        Doing::FailsAtLoad => "def boot = raise 'boom at boot'\nboot\n".to_string(),
        Doing::LacksAPart => "def boot = raise LoadError, 'boom at boot'\nboot\n".to_string(),
        Doing::TakesItsTime { port } => format!(
            "require 'socket'\nrun ->(env) do\n  if env['PATH_INFO'] == '/slow'\n    \
             TCPSocket.new('127.0.0.1', {port}).close\n    sleep 0.5\n  end\n  \
             [200, {{}}, ['finished']]\nend\n"
        ),
        Doing::WaitsFor { port } => format!(
            "require 'socket'\nrun ->(env) do\n  if env['PATH_INFO'] == '/slow'\n    \
             TCPSocket.new('127.0.0.1', {port}).read\n  end\n  \
             [200, {{}}, ['finished']]\nend\n"
        ),
    };
    vec![("config.ru", rackup)]
}

fn php_app(doing: Doing) -> Files {
    let page = match doing {
        Doing::AnswersItsPid => "<?php echo getmypid();\n".to_string(),
        Doing::FailsAtLoad => {
            "<?php function boot() { throw new Exception('boom at boot'); }\nboot();\n".to_string()
        }
        Doing::LacksAPart => "<?php require 'boom at boot.php';\n".to_string(),
        Doing::TakesItsTime { port } | Doing::WaitsFor { port } => format!(
            "<?php\nif ($_SERVER['REQUEST_URI'] == '/slow') {{\n  \
             fclose(fsockopen('127.0.0.1', {port}));\n  usleep(500000);\n}}\necho 'finished';\n"
        ),
    };
    vec![("index.php", page)]
}

/// An app on one of the servers.
struct Case {
    row: &'static Row,
    app: TestApp,
    proxy: Proxy,
}

impl Case {
    /// An app that does this on every server there is, as it stands alone and behind nginx.
    fn all(doing: Doing) -> impl Iterator<Item = Self> {
        ADAPTERS.iter().flat_map(move |adapter| {
            let proxies: &[Proxy] = match adapter.about().needs_proxy {
                true => &[Proxy::Nginx],
                false => &[Proxy::None, Proxy::Nginx],
            };
            proxies.iter().map(move |proxy| Self::new(*adapter, doing, None, *proxy))
        })
    }

    /// Every server, without a proxy where it can be, without and with each of the row's settings.
    fn with_settings(doing: Doing) -> impl Iterator<Item = Self> {
        ADAPTERS.iter().flat_map(move |adapter| {
            let needs = adapter.about().needs_proxy;
            let proxy = if needs { Proxy::Nginx } else { Proxy::None };
            let settings = row_of(*adapter).settings.iter().copied().map(Some).chain([None]);
            settings.map(move |settings| Self::new(*adapter, doing, settings, proxy))
        })
    }

    fn new(
        adapter: &'static dyn Adapter,
        doing: Doing,
        settings: Option<&'static str>,
        proxy: Proxy,
    ) -> Self {
        let row = row_of(adapter);
        let has_threads = !matches!(row.threads, Threads::One);
        assert_eq!(has_threads, adapter.about().has_threads, "{}", row.name);
        let mut files = (row.app)(doing);
        if let Some(settings) = settings {
            let file = *adapter.about().config_files.last().unwrap();
            files.push((file, settings.to_string()));
        }
        if proxy == Proxy::Nginx {
            let plans = files.iter_mut().filter(|(name, _)| *name == "sweetspot.toml");
            plans.for_each(|(_, plan)| *plan = plan.replace(ON_A_PORT, ON_A_SOCKET));
        }
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Self { row, app: TestApp::new(&files), proxy }
    }

    /// As it is called when something fails.
    fn what(&self) -> String {
        match self.proxy.name() {
            None => self.row.name.to_string(),
            Some(proxy) => format!("{} behind {proxy}", self.row.name),
        }
    }

    fn settings(&self) -> LocalSettings {
        let mut settings = self.app.settings_on(self.row.name);
        settings.app.proxy = self.proxy;
        settings
    }

    fn local(&self) -> Local {
        Local::new(self.settings(), StopSignal::default()).unwrap()
    }

    /// Is a worker that was killed replaced by the version that is installed?
    fn replaces_workers(&self) -> bool {
        let stays_away = |remark: &Remark| {
            matches!(remark, Remark::Python(PythonRemark::EndedWorkersStayAway { .. }))
        };
        let is_said = || self.app.inspect(self.local()).remarks.iter().any(stays_away);
        self.row.replaces_workers && !is_said()
    }

    /// Threads that serve in this process, which may be gone.
    fn threads(&self, pid: u32) -> Option<usize> {
        let (Threads::Named(name) | Threads::NamedBeyondOne(name)) = self.row.threads else {
            return None;
        };
        let is_there = Path::new(&format!("/proc/{pid}/task")).exists();
        let named = is_there.then(|| threads_named(pid, name))?;
        let is_on_main = matches!(self.row.threads, Threads::NamedBeyondOne(_)) && named == 0;
        Some(if is_on_main { 1 } else { named })
    }
}

fn row_of(adapter: &dyn Adapter) -> &'static Row {
    let row = ROWS.iter().find(|row| row.name == adapter.name());
    row.unwrap_or_else(|| panic!("{} has no row in ROWS", adapter.name()))
}

/// Starts each configuration, sees that all workers are there, looks at them (where they answer,
/// their process ids, threads each, which case it is), and sees that one of them answers.
fn come_up(case: &Case, look: impl Fn(SocketAddr, &[u32], u16, &str)) {
    let mut local = case.local();
    for &(workers, threads) in case.row.configurations {
        let what = format!("{} {workers} x {threads}", case.what());
        start(&mut local, workers, threads);
        let serving = local.workers();
        assert_eq!(serving.len(), usize::from(workers), "{what}: {serving:?}");
        let address = local.address().unwrap();
        look(address, &serving, threads, &what);
        let answering: u32 = get(address, "/").parse().unwrap();
        assert!(serving.contains(&answering), "{what}: {answering} of {serving:?}");
    }
    case.app.end(&mut local);
}

#[test]
fn every_server_comes_up_with_its_workers_and_threads_and_answers() {
    for case in Case::with_settings(Doing::AnswersItsPid) {
        come_up(&case, |address, serving, threads, what| {
            if matches!(case.row.threads, Threads::Named(_) | Threads::NamedBeyondOne(_)) {
                // Threads are made right after a worker says that it has booted, or by its first
                // request.
                let has_all = |pid: &u32| case.threads(*pid) == Some(threads.into());
                wait_until(what, || {
                    get(address, "/");
                    serving.iter().all(has_all)
                });
            }
        });
    }
}

#[test]
fn every_server_answers_behind_nginx_and_nginx_is_none_of_its_workers() {
    for case in Case::all(Doing::AnswersItsPid).filter(|case| case.proxy == Proxy::Nginx) {
        come_up(&case, |_, _, _, _| {});
    }
}

#[test]
fn every_worker_serves_as_many_requests_at_once_as_it_has_threads() {
    const THREADS: usize = 3;
    let waiting = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = waiting.local_addr().unwrap().port();
    let has_threads = |case: &Case| !matches!(case.row.threads, Threads::One);
    for case in Case::all(Doing::WaitsFor { port }).filter(has_threads) {
        for threads in [1, THREADS] {
            let mut local = case.local();
            start(&mut local, 1, threads.try_into().unwrap());
            let address = local.address().unwrap();
            let ask = || std::thread::spawn(move || get(address, "/slow"));
            let clients: Vec<_> = (0..=threads).map(|_| ask()).collect();
            let mut inside: Vec<_> = (0..threads).map(|_| waiting.accept().unwrap()).collect();
            // One more has to wait until one of these is done.
            waiting.set_nonblocking(true).unwrap();
            let seen = Instant::now();
            while seen.elapsed() < Duration::from_millis(200) {
                assert!(waiting.accept().is_err(), "{}: more than {threads}", case.what());
                std::thread::sleep(Duration::from_millis(5));
            }
            waiting.set_nonblocking(false).unwrap();
            drop(inside.pop());
            inside.push(waiting.accept().unwrap());
            drop(inside);
            for client in clients {
                assert_eq!(client.join().unwrap(), "finished", "{}", case.what());
            }
            case.app.end(&mut local);
        }
    }
}

#[test]
fn every_servers_worker_that_is_killed_is_replaced() {
    let replacing = |case: &Case| case.replaces_workers();
    for case in Case::all(Doing::AnswersItsPid).filter(replacing) {
        let mut local = started(case.settings(), 2, 1);
        let before = local.workers();
        kill(before[0], libc::SIGKILL);
        wait_until("another is in its place", || {
            let now = local.workers();
            now.len() == 2 && !now.contains(&before[0])
        });
        let answering: u32 = get(local.address().unwrap(), "/").parse().unwrap();
        assert_ne!(answering, before[0], "{}", case.what());
        case.app.end(&mut local);
    }
}

#[test]
fn every_servers_worker_that_is_killed_and_not_replaced_is_noticed_under_load() {
    let losing = |case: &Case| !case.replaces_workers();
    for case in Case::all(Doing::AnswersItsPid).filter(losing) {
        let mut local = started(case.settings(), 2, 1);
        kill(local.workers()[1], libc::SIGKILL);
        let offer = a_second(1, Duration::from_millis(50));
        let observed = local.offer(&offer, &mut |_| ControlFlow::Continue(())).unwrap();
        let Some(TrialFailure::Died { status, .. }) = &observed.failure else {
            panic!("{}: {:?}", case.what(), observed.failure)
        };
        let is_named = ["1 of its 2 workers were left", "its process 2 of 2"];
        assert!(
            is_named.iter().any(|text| Language::DATA.say(status).contains(text)),
            "{}: {status:?}",
            case.what()
        );
        case.app.end(&mut local);
    }
}

#[test]
fn every_server_that_is_killed_is_noticed_under_load() {
    for case in Case::all(Doing::AnswersItsPid) {
        let mut local = started(case.settings(), 2, 1);
        // Of several processes, the last: a server with a part missing is no longer the same.
        kill(*local.server_pids().last().unwrap(), libc::SIGKILL);
        let second = a_second(1, Duration::from_millis(50));
        let offer = Offer { duration: Duration::from_secs(30), ..second };
        let began = Instant::now();
        let observed = local.offer(&offer, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(began.elapsed() < offer.duration, "the load is ended with the server");
        let Some(TrialFailure::Died { status, .. }) = &observed.failure else {
            panic!("{}: {:?}", case.what(), observed.failure)
        };
        assert!(Language::DATA.say(status).contains("SIGKILL"), "{status:?}");
        assert_eq!(local.server_pid(), None);
        case.app.end(&mut local);
    }
}

#[test]
fn every_server_says_that_its_port_is_taken() {
    for case in Case::all(Doing::AnswersItsPid) {
        for workers in [1, 2] {
            let taken = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = Some(taken.local_addr().unwrap().port());
            let settings = LocalSettings { port, ..case.settings() };
            let failure = failing(settings, workers, 1);
            assert_eq!(failure.kind, BootFailureKind::PortTaken, "{failure:?}");
            assert_message(&failure, "something else listens");
            case.app.assert_nothing_is_left();
        }
    }
}

#[test]
fn every_server_shows_the_last_words_of_an_app_that_raises_at_load() {
    for doing in [Doing::FailsAtLoad, Doing::LacksAPart] {
        for case in Case::with_settings(doing) {
            let file = (case.row.app)(doing)[0].0;
            for workers in [1, 2] {
                let failure = start_failing(&mut case.local(), workers, 1);
                assert_eq!(failure.kind, case.row.failed_load, "{failure:?}");
                let shown = failure.last_lines.join("\n");
                assert!(shown.contains("boom at boot"), "{}: {failure:#?}", case.what());
                assert!(shown.contains(file), "{}: {failure:#?}", case.what());
                case.app.assert_nothing_is_left();
            }
        }
    }
}

#[test]
fn every_server_finishes_its_requests_when_it_is_stopped_gracefully() {
    let arrived = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = arrived.local_addr().unwrap().port();
    for case in Case::all(Doing::TakesItsTime { port }) {
        for &(workers, threads) in case.row.configurations {
            let mut local = started(case.settings(), workers, threads);
            let address = local.address().unwrap();
            let client = std::thread::spawn(move || get(address, "/slow"));
            arrived.accept().unwrap();
            let began = Instant::now();
            local.stop().unwrap();
            assert_eq!(client.join().unwrap(), "finished", "{} {workers}", case.what());
            let what = format!("{} {workers}: {:?}", case.what(), began.elapsed());
            assert!(began.elapsed() < Duration::from_secs(9), "ended for certain: {what}");
            case.app.assert_nothing_is_left();
        }
    }
}

#[test]
fn every_server_that_does_not_react_is_ended_for_certain() {
    for case in Case::all(Doing::AnswersItsPid) {
        let stop = StopSignal::default();
        let mut local = Local::new(case.settings(), stop.clone()).unwrap();
        start(&mut local, 2, 1);
        case.app.processes().into_iter().for_each(|pid| kill(pid, libc::SIGSTOP));
        // The user does not want to wait for a graceful end either.
        stop.raise();
        stop.raise();
        case.app.end(&mut local);
    }
}

#[test]
fn nothing_of_any_server_outlives_us_when_we_are_killed() {
    const MOMENTS: usize = 4;
    let mut seed = 6;
    for adapter in ADAPTERS {
        let name = adapter.name();
        let files = (row_of(*adapter).app)(Doing::AnswersItsPid);
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let site = Site::working(&files);
        for moment in 0..MOMENTS {
            let tune = ["tune", "--server", name, "--workers", "2", "--cpus", "1"];
            let mut running = Running::begin(site.command(&tune));
            // Through inspection and boot or, the last time, under load.
            let delay = Duration::from_secs_f64(0.1 + 1.2 * random(&mut seed));
            if moment + 1 == MOMENTS {
                running.expect("trial 1:");
            }
            assert!(!running.wait_for("no line says this", delay));
            assert!(!running.has_ended(), "{name}: moment {moment} came too late");
            running.signal(libc::SIGKILL);
            assert_eq!(running.end().code, None);
            site.nothing_left.check();
        }
    }
}
