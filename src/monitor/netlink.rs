//! Questions to the kernel by netlink(7), one at a time.
//!
//! In: a protocol, then messages. Out: the bodies of the answers.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Asks the kernel.
pub(super) struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// All objects that match are wanted.
pub(super) const DUMPS_ALL: u16 = 0x300;
const IS_REQUEST: u16 = 0x1;
const IS_ERROR: u16 = 2;
const IS_DONE: u16 = 3;
/// Length of a message's head; its body follows.
pub(super) const HEADER: usize = 16;

impl Netlink {
    /// # Errors
    /// The kernel was built without the protocol, or a sandbox forbids it.
    pub fn open(protocol: Protocol) -> io::Result<Self> {
        let kind = SocketType::RAW;
        let socket =
            socket_with(AddressFamily::NETLINK, kind, SocketFlags::CLOEXEC, Some(protocol))?;
        // The kernel never sends more than this in one piece.
        Ok(Self { socket, buffer: vec![0; 32 * 1024] })
    }

    /// Sends a question of this kind and hands each answer's body to `each`.
    ///
    /// # Errors
    /// The kernel refuses, with its own number of an error.
    pub fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut request = Vec::with_capacity(HEADER + body.len());
        request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend((IS_REQUEST | flags).to_ne_bytes());
        // A sequence number and a port, of which there is no need: one question at a time.
        request.extend([0; 8]);
        request.extend(body);
        send(&self.socket, &request, SendFlags::empty())?;
        loop {
            // The kernel has answered before `send` returns, so this never has to wait.
            let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT)?;
            let is_last = messages(&self.buffer[..length], each)?;
            if is_last || flags & DUMPS_ALL == 0 {
                return Ok(());
            }
        }
    }
}

/// Goes through what came in one piece; true when the kernel says that it was the last.
pub(super) fn messages(mut piece: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (read_u32(piece, 0), read_u16(piece, 4)) {
        let length = length as usize;
        let Some(body) = piece.get(HEADER..length) else { break };
        match kind {
            IS_DONE => return Ok(true),
            IS_ERROR => {
                let code = read_u32(body, 0).unwrap_or_default() as i32;
                return Err(io::Error::from_raw_os_error(-code));
            }
            _ => each(body),
        }
        piece = piece.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// The value of one attribute behind the fixed part of an answer.
pub(super) fn attribute(answer: &[u8], fixed: usize, wanted: u16) -> Option<&[u8]> {
    /// The upper bits of an attribute's kind say how it is written.
    const KIND: u16 = 0x3fff;
    let mut rest = answer.get(fixed..)?;
    while let (Some(length), Some(kind)) = (read_u16(rest, 0), read_u16(rest, 2)) {
        let length = usize::from(length);
        let value = rest.get(4..length)?;
        if kind & KIND == wanted {
            return Some(value);
        }
        rest = rest.get(aligned(length)..)?;
    }
    None
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

pub(super) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(super) fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Ports come in the network's byte order.
pub(super) fn read_u16_be(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_answer_is_left_out() {
        let mut seen = 0;
        let piece = [40u32.to_ne_bytes().as_slice(), &[20, 0, 0, 0], &[0; 8]].concat();
        assert!(!messages(&piece, &mut |_| seen += 1).unwrap());
        assert_eq!(seen, 0);
        assert_eq!(attribute(&[0; 18], 16, 2), None);
        // An attribute that says it has no length must not be read for ever.
        assert_eq!(attribute(&[0; 24], 16, 2), None);
    }

    #[test]
    fn what_the_kernel_refuses_is_its_own_error() {
        let mut piece = 36u32.to_ne_bytes().to_vec();
        piece.extend([2, 0, 0, 0]);
        piece.extend([0; 8]);
        piece.extend((-libc::EPERM).to_ne_bytes());
        piece.extend([0; 16]);
        let refused = messages(&piece, &mut |_| {}).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    }
}
