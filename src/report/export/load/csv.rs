//! A row a request, as `vegeta encode -to csv` writes them: twelve columns without a head, which
//! `vegeta report` and `vegeta plot` read.
//!
//! The columns: Unix time in nanoseconds, status (0 without a reply), latency in nanoseconds, bytes
//! out, bytes in, error, body, name of the attack, sequence number, method, URL, headers. The time
//! is when the request was due, and the bytes are those of whole messages, heads included. Bodies
//! and headers are empty: they may be secret, as may the queries that the URLs lack.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::About;
use crate::terms::{GOOD_STATUSES, RequestRow};

/// A table that is being written.
pub struct Writer<W> {
    out: W,
    began_ns: i128,
    /// Method and URL of each target as they stand in a row.
    targets: Vec<String>,
    /// What is written at once: whole rows.
    rows: String,
}

impl<W: Write> Writer<W> {
    /// Writes nothing yet: there is no head.
    pub fn new(out: W, about: &About) -> Self {
        let target = |target: &super::RequestLine| {
            let url = format!("{}{}", about.server, target.path);
            format!("{},{}", quoted(&target.method), quoted(&url))
        };
        Self {
            out,
            began_ns: about.began.as_nanosecond(),
            targets: about.targets.iter().map(target).collect(),
            rows: String::new(),
        }
    }

    /// Writes requests in the order given.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn rows(&mut self, rows: &[RequestRow]) -> io::Result<()> {
        self.rows.clear();
        for row in rows {
            self.row(row);
        }
        self.out.write_all(self.rows.as_bytes())
    }

    fn row(&mut self, row: &RequestRow) {
        let RequestRow { latency_ns, bytes_in, bytes_out, sequence, status, .. } = *row;
        let due_ns = self.began_ns + i128::from(row.due_ns);
        let target = self.targets.get(row.target as usize).map_or(",", String::as_str);
        let line = &mut self.rows;
        let written = write!(line, "{due_ns},{status},{latency_ns},{bytes_out},{bytes_in},")
            .and_then(|()| match row.error {
                Some(error) => write!(line, "{error}"),
                None if GOOD_STATUSES.contains(&status) => Ok(()),
                // vegeta names these by their status line, of which we keep the code.
                None => write!(line, "{status}"),
            })
            .and_then(|()| writeln!(line, ",,,{sequence},{target},"));
        written.expect("writing to a string does not fail");
    }

    /// Writes what is still in a buffer.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// RFC 4180, section 2.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RequestLine;
    use super::super::tests::Sample;
    use super::*;
    use crate::terms::RequestError;

    const ROW: RequestRow = RequestRow {
        due_ns: 1_500_000_000,
        latency_ns: 2_345_678,
        bytes_in: 120,
        bytes_out: 80,
        sequence: 7,
        target: 0,
        status: 200,
        error: None,
    };

    fn written(sample: &Sample, rows: &[RequestRow]) -> String {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &sample.about);
        writer.rows(rows).unwrap();
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_row_has_the_twelve_columns_in_vegetas_order() {
        let failed = RequestRow {
            status: 0,
            error: Some(RequestError::Timeout),
            sequence: 8,
            bytes_in: 0,
            ..ROW
        };
        let unhappy = RequestRow { status: 503, sequence: 9, target: 1, ..ROW };
        let mut sample = Sample::new();
        sample.about.targets.push(RequestLine { method: "POST".into(), path: "/a,\"b\"".into() });
        let text = written(&sample, &[ROW, failed, unhappy]);
        assert_eq!(
            text,
            "1700000001750000000,200,2345678,80,120,,,,7,GET,http://127.0.0.1:9292/orders?…,\n\
             1700000001750000000,0,2345678,80,0,timeout,,,8,GET,http://127.0.0.1:9292/orders?…,\n\
             1700000001750000000,503,2345678,80,120,503,,,9,POST,\
             \"http://127.0.0.1:9292/a,\"\"b\"\"\",\n"
        );
        let first = text.lines().next().unwrap();
        assert_eq!(first.split(',').count(), 12);
    }

    #[test]
    fn rows_of_several_calls_follow_each_other() {
        let sample = Sample::new();
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, &sample.about);
        writer.rows(&[ROW]).unwrap();
        writer.rows(&[]).unwrap();
        writer.rows(&[ROW, ROW]).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap().lines().count(), 3);
    }
}
