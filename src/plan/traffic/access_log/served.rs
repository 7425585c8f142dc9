//! How the requests of an access log were served: when, how long it took, and with which status.
//!
//! In: a log, read as a stream. Out: a row a request, of 16 bytes.

use std::path::Path;

use super::super::InputError;
use super::line::{self, ServedLine};
use super::{each_line, opened};

/// One request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Served {
    /// Since 1970; when the log's time says, which is mostly the end.
    pub at_s: f64,
    pub latency_s: f32,
    /// Its status is one of a server that failed.
    pub failed: bool,
}

/// All that say how long they took, in the log's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServedLog {
    pub requests: Vec<Served>,
    /// Lines that are not blank.
    pub lines: u64,
}

/// Reads a whole log; `-` is standard input.
///
/// # Errors
/// It cannot be read, is empty, or no line says a time and a response time.
pub fn read(file: &Path) -> Result<ServedLog, InputError> {
    let name = file.display();
    let mut log = ServedLog::default();
    let mut has_times = false;
    let is_compressed = opened(file, |lines| {
        each_line(lines, |_, line| {
            log.lines += 1;
            let Some(served) = line.and_then(line::parse_served) else { return };
            has_times = true;
            log.requests.extend(row(served));
        })
    })?;
    if is_compressed {
        return Err(InputError(format!("{name} is compressed; unpack it first, such as by zcat")));
    }
    let why = match (log.lines, has_times) {
        (0, _) => "is empty".to_string(),
        (lines, false) => format!(
            "has no line that is understood, of {lines}; lines must be in the combined or common \
             format with a time, or JSON objects with one"
        ),
        (lines, true) if log.requests.is_empty() => format!(
            "says no response times ({lines} lines); with nginx add $request_time to the end of \
             the log_format, with Apache %D to the LogFormat, in JSON a field request_time"
        ),
        _ => return Ok(log),
    };
    Err(InputError(format!("the access log {name} {why}")))
}

fn row(served: ServedLine) -> Option<Served> {
    Some(Served {
        at_s: served.at as f64 / 1e9,
        latency_s: served.latency_s? as f32,
        failed: served.status.is_some_and(|status| status >= 500),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<ServedLog, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.log");
        std::fs::write(&file, text).unwrap();
        read(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_read_and_what_says_no_time_is_counted() {
        let line = "h - - [10/Oct/2025:11:55:36 +0000] \"GET / HTTP/1.1\"";
        let log = said(&format!("{line} 200 5 \"-\" \"x\" 0.25\n\nnonsense\n{line} 503 5 7.5\n"));
        let log = log.unwrap();
        assert_eq!((log.lines, log.requests.len()), (3, 2));
        let [first, second] = log.requests[..] else { panic!() };
        assert_eq!((first.at_s, first.latency_s, first.failed), (1_760_097_336.0, 0.25, false));
        assert_eq!((second.latency_s, second.failed), (7.5, true));
    }

    #[test]
    fn a_log_that_says_nothing_of_it_is_refused_with_what_to_add() {
        let line = "h - - [10/Oct/2025:11:55:36 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"";
        for (text, expected) in [
            (line, "says no response times (1 lines); with nginx add $request_time"),
            ("GET /", "has no line that is understood, of 1"),
            ("\n", "is empty"),
            ("\u{1f}", "has no line"),
        ] {
            let error = said(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let error = read(Path::new("/no/such.log")).unwrap_err().to_string();
        assert!(error.starts_with("could not read the access log /no/such.log: "), "{error}");
    }
}
