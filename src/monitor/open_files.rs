//! The files that a process has open.
//!
//! In: a process id. Out: which of them are sockets.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::text;

/// What a process has open: of each file the socket's number, if it is one. A file that is closed
/// meanwhile is none.
///
/// # Errors
/// The process has ended, or belongs to another user.
pub(super) fn open_files(pid: u32) -> io::Result<impl Iterator<Item = Option<u64>>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
    Ok(entries.map(|entry| socket_inode(&fs::read_link(entry.path()).ok()?)))
}

/// `socket:[1119]`.
fn socket_inode(link: &Path) -> Option<u64> {
    let digits = link.as_os_str().as_bytes().strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    text::number(digits)
}
