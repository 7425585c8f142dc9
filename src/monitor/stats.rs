//! What a server says of its own workers, asked once in a while over its control socket.
//!
//! In: where to ask and how to read the answer. Out: the newest answer. Never waits: an answer that
//! takes its time is read when it has come, and none is asked for before.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::terms::WorkerStats;

/// Where a server answers, and what its answer says.
pub struct StatsSource {
    pub socket: PathBuf,
    /// What is asked for, by HTTP.
    pub path: String,
    /// Reads an answer's body; empty when it is not what that server says.
    pub read: ReadStats,
}

/// From an answer's body to what it says of the workers.
pub type ReadStats = Box<dyn Fn(&str) -> Vec<WorkerStats> + Send>;

/// Longer answers are not believed: thousands of workers would fit.
const LONGEST: usize = 4 << 20;

/// Asks again and again.
pub(super) struct Stats {
    source: StatsSource,
    under_way: Option<(UnixStream, Vec<u8>)>,
    newest: Vec<WorkerStats>,
}

impl Stats {
    pub fn of(source: StatsSource) -> Self {
        let mut stats = Self { source, under_way: None, newest: Vec::new() };
        stats.ask();
        stats
    }

    /// Reads what has come.
    pub fn look(&mut self) {
        let Some((stream, answer)) = &mut self.under_way else { return };
        let mut buffer = [0; 16 * 1024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) if answer.len() + length <= LONGEST => {
                    answer.extend_from_slice(&buffer[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Too long, or cut off: whatever it was.
                Ok(_) | Err(_) => {
                    self.under_way = None;
                    return;
                }
            }
        }
        if let Some(body) = body(answer) {
            self.newest = (self.source.read)(body);
        }
        self.under_way = None;
    }

    /// The newest answer; the next one is asked for.
    pub fn newest(&mut self) -> Vec<WorkerStats> {
        self.look();
        if self.under_way.is_none() {
            self.ask();
        }
        self.newest.clone()
    }

    /// A server that does not answer now is asked again later.
    fn ask(&mut self) {
        let ask = || -> io::Result<UnixStream> {
            let mut stream = UnixStream::connect(&self.source.socket)?;
            stream.set_nonblocking(true)?;
            // Version 1.0: the answer ends with the connection.
            write!(stream, "GET {} HTTP/1.0\r\nHost: localhost\r\n\r\n", self.source.path)?;
            Ok(stream)
        };
        self.under_way = ask().ok().map(|stream| (stream, Vec::new()));
    }
}

/// What follows the head of a good reply.
fn body(reply: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(reply).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).is_some_and(|status| status == "200").then_some(body)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn source(socket: PathBuf) -> StatsSource {
        let read = |body: &str| -> Vec<WorkerStats> {
            let requests = body.trim().parse().ok();
            requests
                .map(|requests| WorkerStats { requests, ..WorkerStats::default() })
                .into_iter()
                .collect()
        };
        StatsSource { socket, path: "/stats".to_string(), read: Box::new(read) }
    }

    fn answer(listener: &UnixListener, reply: &str) {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = [0; 256];
        let length = stream.read(&mut question).unwrap();
        assert!(question[..length].starts_with(b"GET /stats HTTP/1.0\r\n"));
        stream.write_all(reply.as_bytes()).unwrap();
    }

    #[test]
    fn the_newest_answer_stands_until_there_is_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut stats = Stats::of(source(socket));
        let requests = |stats: &mut Stats| stats.newest().first().map(|worker| worker.requests);
        assert_eq!(requests(&mut stats), None, "nobody has answered yet, and nobody waited");
        answer(&listener, "HTTP/1.0 200 OK\r\n\r\n7");
        assert_eq!(requests(&mut stats), Some(7));
        answer(&listener, "HTTP/1.0 403 Forbidden\r\n\r\n9");
        assert_eq!(requests(&mut stats), Some(7));
        answer(&listener, "HTTP/1.0 200 OK\r\n\r\n11");
        assert_eq!(requests(&mut stats), Some(11));
    }

    #[test]
    fn a_server_that_is_not_there_has_nothing_to_say() {
        let mut stats = Stats::of(source("/no/such/control.sock".into()));
        assert_eq!(stats.newest(), []);
    }
}
