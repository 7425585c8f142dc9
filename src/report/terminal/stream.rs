//! This program's own standard streams, where a reader that is gone is no failure.

use std::io::{self, Stderr, Stdout, Write};

/// A stream that drops what nobody reads any more (`EPIPE`). Who reads no further wanted no more:
/// neither what is being measured nor its verdict, which is the exit code, ends by that.
pub struct StandardStream<W>(W);

/// Standard output.
pub fn standard_output() -> StandardStream<Stdout> {
    StandardStream(io::stdout())
}

/// Standard error.
pub fn standard_error() -> StandardStream<Stderr> {
    StandardStream(io::stderr())
}

impl<W: Write> Write for StandardStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_unread(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_unread(self.0.flush(), ())
    }
}

/// What came of writing, and `dropped` where nobody reads.
fn unless_unread<T>(written: io::Result<T>, dropped: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn only_a_reader_that_is_gone_is_no_failure() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut stream = StandardStream(writer);
        stream.write_all(b"read").unwrap();
        let mut read = [0; 4];
        io::Read::read_exact(&mut reader, &mut read).unwrap();
        assert_eq!(&read, b"read");
        drop(reader);
        stream.write_all(b"unread").and_then(|()| stream.flush()).unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = StandardStream(full).write_all(b"no room").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
