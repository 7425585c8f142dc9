//! What the server printed: lines counted while it boots, its last lines when something is wrong.
//!
//! In: the log's path. Out: counts and lines. Only reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::server::ReadyLine;
use crate::terms::Secrets;

/// Bytes at the end that are looked at.
const TAIL: u64 = 64 << 10;

/// Bytes that are read at one look, whatever the server prints meanwhile: the rest is read at the
/// next.
const AT_ONCE: u64 = 4 << 20;

/// Bytes at the beginning of a line that are looked at.
const LONGEST_LINE: usize = 64 << 10;

/// Most lines that are shown.
const SHOWN: usize = 20;

/// Lines of one backtrace that are shown.
const SHOWN_OF_A_BACKTRACE: usize = 1;

/// Reads on where it stopped, and counts lines.
pub struct LineCounter {
    file: File,
    /// After the last line's end, as far as it is looked at.
    part: Vec<u8>,
    wanted: Vec<ReadyLine>,
    counts: Vec<u16>,
}

impl LineCounter {
    /// # Errors
    /// There is no such log.
    pub fn open(path: &Path, wanted: Vec<ReadyLine>) -> io::Result<Self> {
        let counts = vec![0; wanted.len()];
        Ok(Self { file: open(path)?, part: Vec::new(), wanted, counts })
    }

    /// Reads what is new. One count for each kind of line wanted, in that order.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn counts(&mut self) -> io::Result<&[u16]> {
        let mut read = Vec::new();
        (&self.file).take(AT_ONCE).read_to_end(&mut read)?;
        let mut rest = read.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.add(&rest[..=end]);
            let line = String::from_utf8_lossy(&self.part);
            for (wanted, count) in self.wanted.iter().zip(&mut self.counts) {
                *count = count.saturating_add(wanted.matches(&line).into());
            }
            self.part.clear();
            rest = &rest[end + 1..];
        }
        self.add(rest);
        Ok(&self.counts)
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE - self.part.len();
        self.part.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The folder may be another user's, who could have put a link there to what only we may read.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// The lines at the end of the log, oldest first, with secrets masked; none when it cannot be read.
pub fn tail(path: &Path, secrets: &Secrets) -> Vec<String> {
    secrets.mask_lines(&tail_as_printed(path))
}

/// The lines at the end of the log, to be read by us and not to be shown or kept.
pub fn tail_as_printed(path: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(|line| line.trim_end().to_string()).filter(|line| !line.is_empty()).collect()
}

/// The last lines worth showing, oldest first, at most 20: long backtraces would push out the
/// message that stands above them (Ruby) or the one of another process before them (Python).
pub fn worth_showing(lines: &[String]) -> Vec<String> {
    let mut shown = without_ruby_frames(&without_python_frames(lines));
    shown.split_off(shown.len().saturating_sub(SHOWN))
}

/// Ruby names the innermost frame first: that one stays.
fn without_ruby_frames(lines: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut depth = 0;
    for line in lines {
        depth = if is_backtrace(line) { depth + 1 } else { 0 };
        match depth {
            0..=SHOWN_OF_A_BACKTRACE => shown.push(line.clone()),
            _ => {
                let hidden = depth - SHOWN_OF_A_BACKTRACE;
                if hidden > 1 {
                    shown.pop();
                }
                shown.push(format!("\t... {hidden} more"));
            }
        }
    }
    shown
}

/// Python names the innermost frame last: that one stays, with the source lines below it.
fn without_python_frames(lines: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    let mut frames: Vec<&[String]> = Vec::new();
    let mut rest = lines;
    while let Some(line) = rest.first() {
        let length = python_frame_length(rest);
        if is_python_frame(line) {
            frames.push(&rest[..length]);
            rest = &rest[length..];
        } else {
            push_innermost(&mut shown, &mut frames);
            shown.push(line.clone());
            rest = &rest[1..];
        }
    }
    push_innermost(&mut shown, &mut frames);
    shown
}

fn push_innermost(shown: &mut Vec<String>, frames: &mut Vec<&[String]>) {
    let Some(innermost) = frames.pop() else { return };
    if !frames.is_empty() {
        shown.push(format!("  ... {} more", frames.len()));
    }
    shown.extend_from_slice(innermost);
    frames.clear();
}

/// The frame's own line, and the source with its marks, which are indented further.
fn python_frame_length(lines: &[String]) -> usize {
    1 + lines[1..].iter().take_while(|line| line.starts_with("    ")).count()
}

/// `  File "/srv/app/wsgi.py", line 1, in <module>`.
fn is_python_frame(line: &str) -> bool {
    line.starts_with("  File \"") && line.contains("\", line ")
}

/// A frame below the message: Ruby's own `from file:line:in ...`, or `file:line:in ...` as its
/// Logger writes it.
fn is_backtrace(line: &str) -> bool {
    let is_indented = line.starts_with([' ', '\t']);
    (is_indented && line.trim_start().starts_with("from ")) || is_frame(line)
}

/// ``config.ru:1:in `block'``. A message begins in the same way and goes on.
fn is_frame(line: &str) -> bool {
    let Some((place, method)) = line.split_once(":in ") else { return false };
    let is_numbered = place.rsplit_once(':').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_numbered && method.starts_with(['`', '\'']) && method.ends_with('\'')
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_counted_once_and_only_when_they_are_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let booted = ReadyLine { contains: vec!["Worker".into(), "booted".into()], count: 2 };
        let mut counter = LineCounter::open(file.path(), vec![booted]).unwrap();
        write!(file, "- Worker 0 booted\nbooted Worker\n- Worker 1 boo").unwrap();
        assert_eq!(counter.counts().unwrap(), [1]);
        assert_eq!(counter.counts().unwrap(), [1]);
        writeln!(file, "ted").unwrap();
        assert_eq!(counter.counts().unwrap(), [2]);
    }

    #[test]
    fn a_line_without_an_end_takes_little_memory_and_hides_no_later_one() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let booted = ReadyLine { contains: vec!["booted".into()], count: 1 };
        let mut counter = LineCounter::open(file.path(), vec![booted]).unwrap();
        let piece = vec![b'x'; AT_ONCE as usize];
        for _ in 0..3 {
            file.write_all(&piece).unwrap();
            assert_eq!(counter.counts().unwrap(), [0]);
            assert_eq!(counter.part.len(), LONGEST_LINE);
        }
        writeln!(file, "\nbooted").unwrap();
        assert_eq!(counter.counts().unwrap(), [1]);
        // As many lines as a look takes are looked at in one go.
        file.write_all(b"booted\n".repeat(AT_ONCE as usize / 7).as_slice()).unwrap();
        assert_eq!(counter.counts().unwrap(), [u16::MAX]);
    }

    #[test]
    fn the_message_above_a_long_backtrace_is_shown() {
        let mut text = String::from("config.ru:1:in `block': boom (RuntimeError)\n");
        (0..40).for_each(|n| text.push_str(&format!("\tfrom rack.rb:{n}:in `load'\n")));
        let shown = worth_showing(&lines(&text));
        assert_eq!(shown.len(), 3);
        assert_eq!(shown[0], "config.ru:1:in `block': boom (RuntimeError)");
        assert_eq!(shown[2], "\t... 39 more");
    }

    #[test]
    fn a_loggers_backtrace_is_cut_short_as_well() {
        let mut text = String::from("E, [x #71] ERROR -- : boom (RuntimeError)\n");
        text.push_str("config.ru:1:in `block in <main>'\n");
        (0..40).for_each(|n| text.push_str(&format!("/gems/rack-2.2/builder.rb:{n}:in `load'\n")));
        text.push_str("config.ru:1:in `boot': again (RuntimeError)\n");
        let shown = worth_showing(&lines(&text));
        assert_eq!(shown.len(), 4, "{shown:?}");
        assert_eq!(shown[1], "config.ru:1:in `block in <main>'");
        assert_eq!(shown[2], "\t... 40 more");
        assert!(shown[3].ends_with("again (RuntimeError)"));
    }

    #[test]
    fn of_a_python_traceback_the_innermost_frame_stays() {
        let mut text = String::from("Traceback (most recent call last):\n");
        for n in 0..40 {
            text.push_str(&format!("  File \"/lib/gunicorn/arbiter.py\", line {n}, in run\n"));
            text.push_str("    self.sleep()\n    ^^^^^^^^^^^^\n");
        }
        text.push_str("  File \"/srv/wsgi.py\", line 1, in <module>\n    import nothing\n");
        text.push_str("ModuleNotFoundError: No module named 'nothing'\n");
        let shown = worth_showing(&lines(&text));
        let expected = [
            "Traceback (most recent call last):",
            "  ... 40 more",
            "  File \"/srv/wsgi.py\", line 1, in <module>",
            "    import nothing",
            "ModuleNotFoundError: No module named 'nothing'",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_traceback_of_the_master_leaves_room_for_its_workers_message() {
        let frame = "  File \"/lib/gunicorn/arbiter.py\", line 7, in run\n    self.sleep()\n";
        let worker = "ModuleNotFoundError: No module named 'nothing'\n";
        let chained = "\nDuring handling of the above exception, another exception occurred:\n\n";
        let trace = format!("Traceback (most recent call last):\n{}", frame.repeat(12));
        let master = "gunicorn.errors.HaltServer: <HaltServer 'Worker failed to boot.' 3>\n";
        let text = format!("{trace}{worker}{trace}StopIteration: 4242\n{chained}{trace}{master}");
        let shown = worth_showing(&lines(&text));
        assert!(shown.contains(&worker.trim_end().to_string()), "{shown:?}");
        assert!(shown.contains(&master.trim_end().to_string()), "{shown:?}");
    }

    #[test]
    fn a_single_python_frame_is_shown_as_it_is() {
        let text =
            "  File \"wsgi.py\", line 3\n    def (:\n        ^\nSyntaxError: invalid syntax\n";
        assert_eq!(worth_showing(&lines(text)), lines(text));
    }

    #[test]
    fn of_many_lines_the_last_are_shown() {
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = worth_showing(&lines(&text));
        assert_eq!((shown.len(), shown[19].as_str()), (20, "line 99"));
    }
}
