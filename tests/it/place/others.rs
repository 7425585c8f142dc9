//! Servers that are known by their command alone, of several languages, as people run them today.
//! `make test-others` brings them; here each is tried where it is on the PATH, and with
//! `SWEETSPOT_OTHERS` set all must be.

use super::proxies::is_there;
use super::*;
use crate::failures::site::Site;

/// A server, and an app on it that waits for 20 ms and answers `ok`.
struct Other {
    program: &'static str,
    start: &'static str,
    env: &'static [&'static str],
    /// The app's file.
    file: (&'static str, &'static str),
    /// What can be set with it, and how many processes serve then.
    settings: &'static [((u16, u16), usize)],
}

const WSGI: &str = "import time\n\n\ndef app(environ, start_response):\n    time.sleep(0.02)\n    \
    start_response('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";

const ASGI: &str = "import asyncio\n\n\nasync def app(scope, receive, send):\n    \
    if scope['type'] != 'http':\n        return\n    await asyncio.sleep(0.02)\n    \
    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
    await send({'type': 'http.response.body', 'body': b'ok'})\n";

const RACK: &str = "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n";

const BUN: &str = "Bun.serve({\n  hostname: '127.0.0.1', port: Number(process.argv[2]),\n  \
    reusePort: true,\n  async fetch() { await Bun.sleep(20); return new Response('ok') },\n});\n";

const DENO: &str = "const wait = () => new Promise((done) => setTimeout(done, 20));\n\
    export default { async fetch() { await wait(); return new Response('ok') } };\n";

const OTHERS: &[Other] = &[
    Other {
        program: "granian",
        start: "granian --interface wsgi --workers {workers} --blocking-threads {threads} \
                --host 127.0.0.1 --port {port} app:app",
        env: &["PYTHONDONTWRITEBYTECODE=1"],
        file: ("app.py", WSGI),
        settings: &[((1, 1), 1), ((2, 3), 2)],
    },
    Other {
        program: "hypercorn",
        start: "hypercorn --workers {workers} --bind 127.0.0.1:{port} app:app",
        env: &["PYTHONDONTWRITEBYTECODE=1"],
        file: ("app.py", ASGI),
        settings: &[((1, 1), 1), ((2, 1), 2)],
    },
    Other {
        program: "uwsgi",
        start: "uwsgi --http-socket 127.0.0.1:{port} --master --die-on-term --need-app \
                --processes {workers} --threads {threads} --module app:app",
        env: &["PYTHONDONTWRITEBYTECODE=1"],
        file: ("app.py", WSGI),
        settings: &[((1, 1), 1), ((2, 3), 2)],
    },
    Other {
        program: "bun",
        start: "sh -c 'for one in $(seq {workers}); do bun app.js {port} & done; wait'",
        env: &[],
        file: ("app.js", BUN),
        settings: &[((1, 1), 1), ((2, 1), 2)],
    },
    Other {
        program: "deno",
        start: "deno serve --parallel --host 127.0.0.1 --port {port} app.js",
        env: &["DENO_JOBS={threads}", "DENO_NO_UPDATE_CHECK=1"],
        file: ("app.js", DENO),
        settings: &[((1, 1), 1), ((1, 2), 1)],
    },
    Other {
        program: "passenger",
        start: "passenger start --engine builtin --address 127.0.0.1 --port {port} \
                --max-pool-size {workers} --min-instances {workers} --environment production \
                --disable-security-update-check --log-file /dev/null --pid-file passenger.pid",
        env: &[],
        file: ("config.ru", RACK),
        // Its core takes all connections and hands them on.
        settings: &[((1, 1), 1), ((2, 1), 1)],
    },
    Other {
        program: "spring-boot-shop",
        start: "spring-boot-shop --server.address=127.0.0.1 --server.port={port} \
                --server.tomcat.threads.max={threads}",
        env: &[],
        file: ("readme", ""),
        settings: &[((1, 1), 1), ((1, 8), 1)],
    },
];

impl Other {
    fn plan(&self) -> String {
        let env: Vec<String> = self
            .env
            .iter()
            .filter_map(|it| it.split_once('='))
            .map(|(name, value)| format!("{name} = \"{value}\"\n"))
            .collect();
        format!("start = '''{}'''\n[env]\n{}", self.start, env.concat())
    }

    fn is_there(&self) -> bool {
        let found = is_there(self.program);
        let is_demanded = std::env::var_os("SWEETSPOT_OTHERS").is_some();
        assert!(found || !is_demanded, "{} is not there", self.program);
        found
    }
}

#[test]
fn each_starts_serves_with_as_many_workers_as_it_is_told_and_ends() {
    for other in OTHERS.iter().filter(|other| other.is_there()) {
        let app = TestApp::new(&[other.file, ("sweetspot.toml", &other.plan())]);
        let mut local = app.local_on("command");
        for &((workers, threads), serving) in other.settings {
            start(&mut local, workers, threads);
            assert_eq!(get(local.address().unwrap(), "/"), "ok", "{}", other.program);
            let found = local.workers();
            assert_eq!(found.len(), serving, "{}: {workers} x {threads}: {found:?}", other.program);
        }
        app.end(&mut local);
    }
}

#[test]
fn each_is_tuned_to_a_decision() {
    for other in OTHERS.iter().filter(|other| other.is_there()) {
        let site = Site::working(&[other.file, ("sweetspot.toml", &other.plan())]);
        let mut tune = vec!["tune", "--budget", "45s", "--slo", "p95<300ms"];
        if other.start.contains("{workers}") {
            tune.extend(["--workers", "1,2"]);
        }
        if other.plan().contains("{threads}") {
            tune.extend(["--threads", "1,4"]);
        }
        site.run(&tune).assert_code(0).assert_says(&["it holds"]);
    }
}
