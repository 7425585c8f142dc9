//! Servers of a few lines that do exactly what a test wants, however wrong.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What a server saw.
#[derive(Default)]
pub struct Seen {
    /// Heads and bodies of all requests, in the order of their arrival.
    pub requests: Mutex<Vec<String>>,
    pub connections: AtomicUsize,
    busy: AtomicUsize,
    /// Most requests that were being answered at the same time.
    pub busy_max: AtomicUsize,
}

/// A server on a loopback port of its own, with a thread a connection. All of it ends with it.
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    is_over: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    acceptor: Option<JoinHandle<()>>,
}

/// One connection as a behaviour sees it.
pub struct Connection {
    pub stream: TcpStream,
    pub seen: Arc<Seen>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Serves every connection with `behaviour`.
    pub fn start(behaviour: impl Fn(&mut Connection) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, is_over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let acceptor = {
            let (seen, is_over, streams) = (seen.clone(), is_over.clone(), streams.clone());
            std::thread::spawn(move || accept(&listener, &seen, &is_over, &streams, &behaviour))
        };
        Self { address, seen, is_over, streams, acceptor: Some(acceptor) }
    }

    /// Answers every request with this.
    pub fn answering(reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(move |connection| {
            while connection.request().is_some() {
                connection.send(&reply);
            }
        })
    }

    /// Answers each request after this many milliseconds, any number at once.
    pub fn slow(milliseconds: u64) -> Self {
        Self::start(move |connection| {
            while connection.request().is_some() {
                connection.busy(|connection| {
                    std::thread::sleep(Duration::from_millis(milliseconds));
                    connection.send(ok("slow"));
                });
            }
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        for stream in self.streams.lock().unwrap().iter() {
            drop(stream.shutdown(Shutdown::Both));
        }
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

fn accept(
    listener: &TcpListener,
    seen: &Arc<Seen>,
    is_over: &Arc<AtomicBool>,
    streams: &Mutex<Vec<TcpStream>>,
    behaviour: &(impl Fn(&mut Connection) + Sync),
) {
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            let Ok(stream) = stream else { continue };
            seen.connections.fetch_add(1, Ordering::SeqCst);
            streams.lock().unwrap().push(stream.try_clone().unwrap());
            let (seen, is_over) = (seen.clone(), is_over.clone());
            let mut connection = Connection { stream, seen, is_over };
            scope.spawn(move || {
                behaviour(&mut connection);
                // The clone kept for the end would hold it open.
                drop(connection.stream.shutdown(Shutdown::Both));
            });
        }
        for stream in streams.lock().unwrap().iter() {
            drop(stream.shutdown(Shutdown::Both));
        }
    });
}

impl Connection {
    /// The next request, head and body; `None` at the connection's end.
    pub fn request(&mut self) -> Option<String> {
        let request = read_request(&mut self.stream)?;
        self.seen.requests.lock().unwrap().push(request.clone());
        Some(request)
    }

    /// Sends, and doesn't mind a peer that has gone.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        drop(self.stream.write_all(bytes.as_ref()));
    }

    /// Counts the time in which `work` runs as busy with a request.
    pub fn busy(&mut self, work: impl FnOnce(&mut Self)) {
        let busy = self.seen.busy.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.busy_max.fetch_max(busy, Ordering::SeqCst);
        work(self);
        self.seen.busy.fetch_sub(1, Ordering::SeqCst);
    }

    /// Says nothing more until the peer closes or the test is over.
    pub fn hang(&mut self) {
        let mut buffer = [0; 4096];
        while !self.is_over.load(Ordering::SeqCst) {
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Ends the connection with a reset instead of a proper end.
    pub fn reset(&mut self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let nobody = libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
        // SAFETY: both structures live through their calls and are as long as said. Disconnecting
        // an established socket that does not linger sends the reset at once.
        unsafe {
            let fd = self.stream.as_raw_fd();
            let length = size_of::<libc::linger>() as u32;
            let option = (&raw const linger).cast();
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, option, length);
            libc::connect(fd, &raw const nobody, size_of::<libc::sockaddr>() as u32);
        }
    }
}

/// The next request, head and body; `None` at the stream's end.
pub fn read_request(stream: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return None,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

/// A proper reply.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
