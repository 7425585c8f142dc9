//! The server that everything is measured against: nginx, one process on one core, 11 bytes a
//! reply, and its own count of requests to hold against what the tools say.
//!
//! In: a core. Out: URLs on loopback, and counts. Its folder and its process are gone when it is
//! dropped.

use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::child::Child;
use super::counters::{self, Status};
use crate::common::Result;

/// How large the answer of `/big` is.
const BIG_BYTES: usize = 100_000;

/// A running server.
pub struct Nginx {
    port: u16,
    tls_port: u16,
    /// How often we asked for the status: those requests are none of the tools'.
    polls: Cell<u64>,
    // Before the folder, so that it is gone when its files are removed.
    process: Child,
    folder: TempDir,
}

impl Nginx {
    /// Starts it and waits until it answers. A port that somebody else takes between our look and
    /// its start costs a second attempt.
    pub fn start(core: u16) -> Result<Self> {
        let mut failure = None;
        for _ in 0..3 {
            match Self::try_start(core) {
                Ok(nginx) => return Ok(nginx),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| "nginx was not tried".into()))
    }

    fn try_start(core: u16) -> Result<Self> {
        let folder = TempDir::new()?;
        let (port, tls_port) = two_free_ports()?;
        fs::create_dir(folder.path().join("www"))?;
        fs::write(folder.path().join("www/big"), vec![b'x'; BIG_BYTES])?;
        make_certificate(folder.path())?;
        fs::write(folder.path().join("nginx.conf"), configuration(port, tls_port))?;
        let prefix = folder.path().display().to_string();
        let program = program().ok_or("no nginx; scripts/bootstrap bench-load installs it")?;
        let command = [program, "-p", &prefix, "-c", "nginx.conf", "-e", "error.log"];
        let process = Child::start(&command.map(str::to_string), core, folder.path())?;
        let mut nginx = Self { port, tls_port, polls: Cell::new(0), process, folder };
        nginx.wait_until_it_answers()?;
        Ok(nginx)
    }

    fn wait_until_it_answers(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.status().is_err() {
            let has_ended = self.process.try_wait()?.is_some();
            if has_ended || Instant::now() > deadline {
                return Err(format!("nginx did not start: {}", self.last_words()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        format!("{}{}", read("stderr"), read("error.log")).trim().to_string()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn tls_url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.tls_port)
    }

    /// Connections that are open and requests so far, without our own.
    pub fn status(&self) -> Result<Status> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let patience = Duration::from_secs(5);
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        // From here on it may have been counted, whether or not we see the answer.
        self.polls.set(self.polls.get() + 1);
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let status = counters::nginx_status(body).ok_or("nginx's status page can't be read")?;
        Ok(Status {
            connections: status.connections.saturating_sub(1),
            requests: status.requests.saturating_sub(self.polls.get()),
        })
    }
}

/// Debian has it where ordinary users' PATH does not lead.
pub fn program() -> Option<&'static str> {
    let is_there = |program: &&str| {
        let output = Command::new(program).arg("-v").output();
        output.is_ok_and(|output| output.status.success())
    };
    ["nginx", "/usr/sbin/nginx"].into_iter().find(is_there)
}

fn two_free_ports() -> Result<(u16, u16)> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (first, second) = (bind()?, bind()?);
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}

fn make_certificate(folder: &Path) -> Result<()> {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-keyout", "key.pem", "-out", "certificate.pem", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("could not run openssl: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("openssl: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// One process without a master, so that nothing outlives it. One cipher for everybody: what is
/// compared are the tools, not what they would choose.
fn configuration(port: u16, tls_port: u16) -> String {
    format!(
        r#"daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    default_type text/plain;
    server {{
        listen 127.0.0.1:{port} backlog=16384;
        listen 127.0.0.1:{tls_port} ssl http2 backlog=16384;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        location / {{ return 200 "hello world"; }}
        location = /big {{ root www; }}
        location = /status {{ stub_status; }}
    }}
}}
"#
    )
}
