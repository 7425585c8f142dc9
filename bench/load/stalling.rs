//! A server that stands still for one second in every ten, to see who notices.
//!
//! In: nothing. Out: a URL on loopback and a count. A thread a connection; all of them have ended
//! when it is dropped.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Result;

/// From the beginning of one stall to that of the next; the first comes after half of it.
pub const PERIOD: Duration = Duration::from_secs(10);
/// How long it stands still.
pub const STALL: Duration = Duration::from_secs(1);

/// Some believe that the connection stays open only when they are told.
const REPLY: &[u8] =
    b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 11\r\n\r\nhello world";

struct Shared {
    began: Instant,
    requests: AtomicU64,
    is_over: AtomicBool,
}

/// A running server, whose first stall begins five seconds after its start.
pub struct Stalling {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Stalling {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (requests, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { began: Instant::now(), requests, is_over });
        let acceptor = {
            let shared = shared.clone();
            thread::spawn(move || accept(&listener, &shared))
        };
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the acceptor; when this fails it has ended already.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            // It only fails by a panic, which has told of itself.
            drop(acceptor.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let shared = shared.clone();
        // A connection that fails is the tool's to count.
        threads.push(thread::spawn(move || drop(stream.and_then(|s| serve(s, &shared)))));
    }
    for thread in threads {
        // As above.
        drop(thread.join());
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut buffer = [0; 4096];
    let mut length = 0;
    while !shared.is_over.load(Ordering::SeqCst) {
        match stream.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(error) => return Err(error),
        }
        if buffer[..length].ends_with(b"\r\n\r\n") {
            length = 0;
            shared.requests.fetch_add(1, Ordering::Relaxed);
            thread::sleep(left_of_a_stall(shared.began.elapsed()));
            stream.write_all(REPLY)?;
        }
    }
    Ok(())
}

/// How long a request that comes now has to wait.
fn left_of_a_stall(since_start: Duration) -> Duration {
    let phase = (since_start + PERIOD / 2).as_secs_f64() % PERIOD.as_secs_f64();
    Duration::from_secs_f64((STALL.as_secs_f64() - phase).max(0.0))
}
