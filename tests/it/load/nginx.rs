//! The engine over TLS against a real server: nginx, on a unix socket, which needs no free port.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::command::{EASY, json, sweetspot};
use super::tls_server::Authority;
use crate::process::{Kept, wait_until};

/// Ended when dropped.
struct Nginx {
    _process: Kept,
    folder: TempDir,
}

/// Where it is; `/usr/sbin` is on few people's `PATH`.
fn program() -> Option<&'static str> {
    ["nginx", "/usr/sbin/nginx"].into_iter().find(|program| {
        let version = Command::new(program).arg("-v").stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

impl Nginx {
    fn start(program: &str, authority: &Authority, protocols: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display();
        let (certificate, key) = authority.files(&authority.identity("app.test"));
        std::fs::write(folder.path().join("large"), vec![b'x'; 10_000_000]).unwrap();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {at}/{kind};"))
            .join(" ");
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/errors;
            events {{ worker_connections 128; }}
            http {{
                access_log off; {temporary}
                server {{
                    listen unix:{at}/socket ssl http2;
                    ssl_certificate {}; ssl_certificate_key {}; ssl_protocols {protocols};
                    keepalive_requests 7;
                    root {at};
                    location = / {{ return 200 hello; }}
                }}
            }}",
            certificate.display(),
            key.display()
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(program);
        command.args(["-c", file.to_str().unwrap(), "-e", &format!("{at}/errors")]);
        command.args(["-p", &at.to_string()]).stdout(Stdio::null());
        let nginx = Self { _process: Kept::start(&mut command), folder };
        wait_until("nginx listens", || UnixStream::connect(nginx.socket()).is_ok());
        nginx
    }

    fn socket(&self) -> impl AsRef<Path> {
        self.folder.path().join("socket")
    }
}

#[test]
fn nginx_with_tls_on_a_unix_socket_is_measured() {
    let Some(program) = program() else {
        // The one server that the tests can do without: those of our own speak TLS too.
        eprintln!("skipped: nginx is not here (package nginx)");
        return;
    };
    let authority = Authority::new();
    let ca_file = authority.ca_file();
    for protocols in ["TLSv1.3", "TLSv1.2"] {
        let nginx = Nginx::start(program, &authority, protocols);
        let socket = nginx.socket();
        let load = |url: &str, more: &[&str]| {
            let common = [url, "--unix", socket.as_ref().to_str().unwrap(), "--timeout", "20s"];
            let trust = ["--cacert", ca_file.to_str().unwrap(), "--json"];
            json(&sweetspot(&[&common[..], &trust, more, &EASY].concat()))
        };
        for (connection, http) in
            [("keep-alive", "1.1"), ("fresh", "1.1"), ("keep-alive", "2"), ("fresh", "2")]
        {
            let rate = ["--rate", "100/s", "--requests", "50"];
            let more = ["--connection", connection, "--http", http];
            let result = load("https://app.test/", &[&rate[..], &more].concat());
            let what = format!("{protocols}, {connection}, HTTP/{http}");
            assert_eq!(result["status"]["200"], 50, "{what}: {result}");
        }
        for http in ["1.1", "2"] {
            let rate = ["--rate", "5/s", "--requests", "6", "--http", http];
            let result = load("https://app.test/large", &rate);
            assert_eq!(result["status"]["200"], 6, "{protocols}, HTTP/{http}: {result}");
            assert!(result["bytes_in"].as_u64().unwrap() >= 60_000_000);
        }
    }
}
