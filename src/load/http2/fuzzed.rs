//! What requests that are under way come to, whatever bytes a server sends. Only fuzzing has it.

use super::{EndedStream, Http2Request, Multiplexed};
use crate::load::lifecycle::Pending;
use crate::load::shape::Nanos;
use crate::terms::{RequestError, Target};

/// How a connection on which this many requests were sent ended.
#[derive(Debug)]
pub struct FuzzedConnection {
    /// Of each request that ended its status, and the bytes of its body.
    pub ended: Vec<(Result<u16, RequestError>, u64)>,
    /// Requests that have not ended with the connection.
    pub left: usize,
    /// The most bytes that waited to be sent.
    pub most_unsent: usize,
}

/// Sends requests, gives the connection all bytes in pieces of these lengths, and then ends it. A
/// server that doesn't read takes nothing of what it is sent.
pub fn fuzzed(
    requests: u64,
    server_reads: bool,
    bytes: &[u8],
    mut length: impl FnMut() -> usize,
) -> FuzzedConnection {
    let mut connection = Multiplexed::new().expect("a connection begins with nothing from outside");
    let (mut ended, mut most_unsent, mut at) = (Vec::new(), 0, 0);
    let message = Http2Request::new(&Target::get("/"), "http", "app.test").expect("it is valid");
    for number in 0..requests {
        let request = Pending { number, ..Pending::new(Nanos::default(), Nanos::default()) };
        if connection.has_room(usize::MAX) {
            connection.send(request, &message).expect("a new connection takes requests");
        }
    }
    loop {
        connection.drive(&mut ended);
        most_unsent = most_unsent.max(connection.pipe.unsent());
        if server_reads {
            connection.pipe.send(|bytes| Ok(bytes.len())).expect("all of it is taken");
        }
        if at == bytes.len() {
            break;
        }
        let piece = &bytes[at..bytes.len().min(at + length())];
        connection.pipe.feed(piece);
        at += piece.len();
    }
    connection.pipe.end();
    connection.drive(&mut ended);
    let ended = ended.into_iter().map(|EndedStream { result, received, .. }| (result, received));
    FuzzedConnection { ended: ended.collect(), left: connection.busy(), most_unsent }
}
