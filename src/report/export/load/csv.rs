//! A row a request, as `vegeta encode -to csv` writes them: twelve columns without a head, which
//! `vegeta report` and `vegeta plot` read.
//!
//! The columns: Unix time in nanoseconds, status (0 without a reply), latency in nanoseconds, bytes
//! out, bytes in, error, body, name of the attack, sequence number, method, URL, headers. The time
//! is when the request was due, and the bytes are those of whole messages, heads included. Bodies
//! and headers are empty: they may be secret, as may the queries that the URLs lack.

use std::io::{self, Write};

use super::About;
use crate::terms::{GOOD_STATUSES, RequestRow};

/// A table that is being written. It has no head.
pub struct Table {
    began_ns: i128,
    /// Method and URL of each target as they stand in a row.
    targets: Vec<String>,
}

impl Table {
    /// Of this load's requests.
    pub fn new(about: &About) -> Self {
        let target = |target: &super::RequestLine| {
            let url = format!("{}{}", about.server, target.path);
            format!("{},{}", quoted(&target.method), quoted(&url))
        };
        Self {
            began_ns: about.began.as_nanosecond(),
            targets: about.targets.iter().map(target).collect(),
        }
    }

    /// Adds requests to `lines` in the order given.
    pub fn rows(&self, rows: &[RequestRow], lines: &mut Vec<u8>) {
        rows.iter().try_for_each(|row| self.row(row, lines)).expect("memory takes every row");
    }

    fn row(&self, row: &RequestRow, lines: &mut Vec<u8>) -> io::Result<()> {
        let RequestRow { latency_ns, bytes_in, bytes_out, sequence, status, .. } = *row;
        let due_ns = self.began_ns + i128::from(row.due_ns);
        let target = self.targets.get(row.target as usize).map_or(",", String::as_str);
        write!(lines, "{due_ns},{status},{latency_ns},{bytes_out},{bytes_in},")?;
        match row.error {
            Some(error) => write!(lines, "{error}")?,
            None if GOOD_STATUSES.contains(&status) => {}
            // vegeta names these by their status line, of which we keep the code.
            None => write!(lines, "{status}")?,
        }
        writeln!(lines, ",,,{sequence},{target},")
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

    fn written(sample: &Sample, rows: &[&[RequestRow]]) -> String {
        let (table, mut lines) = (Table::new(&sample.about), Vec::new());
        rows.iter().for_each(|some| table.rows(some, &mut lines));
        String::from_utf8(lines).unwrap()
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
        let text = written(&sample, &[&[ROW, failed, unhappy]]);
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
        let text = written(&Sample::new(), &[&[ROW], &[], &[ROW, ROW]]);
        assert_eq!(text.lines().count(), 3);
    }
}
