//! Node.js apps of every kind, really started.

use sweetspot::terms::BootFailureKind;

use super::*;

const SERVE: &str = "require('http').createServer((request, reply) => \
                     reply.end(`${process.env.NODE_ENV} ${process.env['WEB_' + 'CONCURRENCY']}`))";

#[test]
fn apps_of_every_kind_come_up_with_their_workers() {
    let plain = format!("{SERVE}.listen(process.env.PORT || 3000);\n");
    let main_only = format!("if (require.main === module) {SERVE}.listen(+process.env.PORT);\n");
    let own = format!(
        "const cluster = require('cluster');\nif (cluster.isPrimary) {{\n  \
         for (let i = 0; i < (process.env.WEB_CONCURRENCY || 4); i += 1) cluster.fork();\n  \
         cluster.on('exit', () => cluster.fork());\n}} else {{\n  \
         {SERVE}.listen({{ port: process.env.PORT, host: '0.0.0.0' }});\n}}\n"
    );
    let fixed = own.replace("process.env.WEB_CONCURRENCY || 4", "require('os').cpus().length");
    let module = "import http from 'node:http';\nhttp.createServer((request, reply) => \
                  reply.end(`${process.env.NODE_ENV} ${process.env['WEB_' + 'CONCURRENCY']}`))\n  \
                  .listen(process.env.PORT);\n";
    for (name, text, obeys) in [
        ("server.js", plain.as_str(), None),
        ("server.js", &main_only, None),
        ("server.js", &own, Some("WEB_CONCURRENCY")),
        ("server.js", &fixed, None),
        ("server.mjs", module, None),
    ] {
        let app = TestApp::new(&[(name, text)]);
        let before = app.listing();
        let mut local = app.local_on("node");
        assert_eq!(local.inspect().unwrap().obeys.workers.as_deref(), obeys, "{text}");
        for workers in [1, 2] {
            start(&mut local, workers, 1);
            let expected = format!("production {workers}");
            assert_eq!(get(local.address().unwrap(), "/"), expected, "{text}");
            if workers == 2 || text == fixed {
                let serving = children(local.server_pid().unwrap()).into_iter().map(title);
                assert_eq!(
                    serving.filter(|title| title == "node: worker").count(),
                    usize::from(workers),
                    "{text}"
                );
            }
            app.end(&mut local);
        }
        app.assert_is(&before);
    }
}

#[test]
fn what_listens_elsewhere_beside_those_that_serve_is_left_alone() {
    let helped = format!(
        "const helper = require('child_process').fork('./metrics.js');\n\
         {}.listen(process.env.PORT);\n",
        SERVE.replace("process.env.NODE_ENV", "process.uptime() > 6 && helper.exitCode === null")
    );
    let own = format!(
        "const cluster = require('cluster');\nif (cluster.isPrimary) {{\n  \
         require('./metrics.js').once('listening', () => {{\n    \
         for (let i = 0; i < process.env.WEB_CONCURRENCY; i += 1) cluster.fork();\n  }});\n\
         }} else {{\n  {}.listen(process.env.PORT);\n}}\n",
        SERVE.replace("process.env.NODE_ENV", "process.uptime() > 6")
    );
    let metrics = "module.exports = require('http').createServer((request, reply) => \
                   reply.end('up 1')).listen(0);\n\
                   process.on('disconnect', () => process.exit());\n";
    for text in [helped, own] {
        let app = TestApp::new(&[("server.js", &text), ("metrics.js", metrics)]);
        let mut local = app.local_on("node");
        start(&mut local, 1, 1);
        let address = local.address().unwrap();
        // Longer than what listens elsewhere is given to open its own port.
        wait_until("it serves after six seconds", || get(address, "/") == "true 1");
        app.end(&mut local);
    }
}

#[test]
fn an_app_that_listens_on_a_port_of_its_own_is_told_so() {
    let app = TestApp::new(&[("server.js", &format!("{SERVE}.listen(0);\n"))]);
    for workers in [1, 2] {
        let failure = start_failing(&mut app.local_on("node"), workers, 1);
        assert_eq!(failure.kind, BootFailureKind::OtherPort, "{failure:?}");
        assert_message(&failure, "another port than PORT says");
        assert_advice(&failure, "process.env.PORT");
        assert!(failure.last_lines.join("\n").contains("the app listens on port"), "{failure:?}");
        app.assert_nothing_is_left();
    }
}
