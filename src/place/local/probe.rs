//! One request and the head of its reply: is the app there, and what does it say?
//!
//! In: an address and a target. Out: status and location. Measures nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::terms::Target;

/// So long at a time is waited, before looking whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// A longer head is no HTTP that we understand.
const LONGEST_HEAD: usize = 64 << 10;

/// A reply's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub location: Option<String>,
}

/// Asks once. `go_on` is asked every few milliseconds and may end it, with
/// [`ErrorKind::Interrupted`].
///
/// # Errors
/// No connection, no reply before the deadline ([`ErrorKind::TimedOut`]), or one that is not HTTP.
pub fn ask(
    address: SocketAddr,
    target: &Target,
    deadline: Instant,
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    if stream.local_addr()? == address {
        // With nobody listening, a connection can by chance come to itself.
        return Err(ErrorKind::ConnectionRefused.into());
    }
    stream.set_read_timeout(Some(SLICE))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(&request(address, target))?;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => head.extend_from_slice(&buffer[..n]),
            Err(error) if is_time_up(&error) => {}
            Err(error) => return Err(error),
        }
        if let Some(reply) = final_reply(&head) {
            return reply.ok_or_else(|| ErrorKind::InvalidData.into());
        }
        if head.len() > LONGEST_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
        if go_on().is_break() {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() >= deadline {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

fn is_time_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn request(address: SocketAddr, target: &Target) -> Vec<u8> {
    let mut text = format!("{} {} HTTP/1.1\r\n", target.method, target.path);
    let names_host = target.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    if !names_host {
        text.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in &target.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("Connection: close\r\n\r\n");
    text.into_bytes()
}

/// The reply, once its head is there: interim ones (1xx) come before it. `Some(None)`: no HTTP.
fn final_reply(mut read: &[u8]) -> Option<Option<Reply>> {
    const END: &[u8] = b"\r\n\r\n";
    loop {
        let end = memchr::memmem::find(read, END)?;
        match parse(&read[..end]) {
            // 101 is no interim reply: another protocol follows.
            Some(Reply { status: 100 | 102..=199, .. }) => read = &read[end + END.len()..],
            reply => return Some(reply),
        }
    }
}

fn parse(head: &[u8]) -> Option<Reply> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let location = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_string())
    });
    Some(Reply { status, location })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server that answers one request with `reply`, and returns what it was asked.
    fn serve(reply: &'static str) -> (SocketAddr, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut asked = Vec::new();
            let mut byte = [0];
            while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                asked.push(byte[0]);
            }
            stream.write_all(reply.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (address, server)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn interim_replies_come_before_the_one_that_counts() {
        let (address, server) = serve(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
             HTTP/1.1 204 No Content\r\n\r\n",
        );
        let target = Target::get("/");
        let reply = ask(address, &target, soon(), &mut || ControlFlow::Continue(())).unwrap();
        assert_eq!(reply.status, 204);
        server.join().unwrap();
    }

    #[test]
    fn the_status_and_the_place_redirected_to_are_read() {
        let (address, server) =
            serve("HTTP/1.1 301 Moved Permanently\r\nlocation: https://a.example/\r\n\r\n");
        let target = Target {
            headers: vec![("host".into(), "shop.example".into())],
            ..Target::get("/items?page=2")
        };
        let reply = ask(address, &target, soon(), &mut || ControlFlow::Continue(())).unwrap();
        assert_eq!((reply.status, reply.location.as_deref()), (301, Some("https://a.example/")));
        let asked = server.join().unwrap();
        assert!(
            asked.starts_with("GET /items?page=2 HTTP/1.1\r\nhost: shop.example\r\n"),
            "{asked}"
        );
        assert!(!asked.contains("Host:"), "{asked}");
    }

    #[test]
    fn what_is_not_http_and_what_never_comes_is_an_error() {
        let (address, server) = serve("SSH-2.0-OpenSSH\r\n\r\n");
        let go_on = &mut || ControlFlow::Continue(());
        let error = ask(address, &Target::get("/"), soon(), go_on).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        server.join().unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let error = ask(address, &Target::get("/"), Instant::now(), go_on).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let stop = &mut || ControlFlow::Break(());
        let error = ask(address, &Target::get("/"), soon(), stop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}
