//! HdrHistogram's interval log (`.hlog`): one histogram a second, which readers merge over any span
//! of time.
//!
//! Latency has no tag, which is what readers take that are not asked for one; exchange time has
//! `Tag=exchange`. Timestamps are seconds since the `StartTime` of the head. There is no
//! `BaseTime`, which not every reader understands. The last interval may be shorter than the second
//! it says.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use hdrhistogram::serialization::{V2DeflateSerializeError, V2DeflateSerializer};

use super::About;
use crate::terms::LoadSecond;

const COMMENTS: [&str; 3] = [
    "[Values in microseconds: latency from the moment a request was due to the last byte]",
    "[Tag=exchange: from the moment it was sent to the last byte, answered requests only]",
    "[Histogram log format version 1.3]",
];

const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                      \"Interval_Compressed_Histogram\"\n";

const SECOND: Duration = Duration::from_secs(1);

/// A log that is being written.
pub struct Log(V2DeflateSerializer);

impl Log {
    /// Adds the head to `lines`.
    ///
    /// # Errors
    /// It can't be encoded.
    pub fn new(about: &About, lines: &mut Vec<u8>) -> io::Result<Self> {
        let mut serializer = V2DeflateSerializer::new();
        let mut head = IntervalLogWriterBuilder::new();
        for comment in COMMENTS {
            head.add_comment(comment);
        }
        head.with_start_time(SystemTime::from(about.began));
        head.begin_log_with(lines, &mut serializer)?;
        lines.extend_from_slice(LEGEND.as_bytes());
        Ok(Self(serializer))
    }

    /// Adds a finished second to `lines`. `index`: whole seconds since the load began, warm-up
    /// included.
    ///
    /// # Errors
    /// It can't be encoded.
    pub fn second(
        &mut self,
        index: u64,
        second: &LoadSecond,
        lines: &mut Vec<u8>,
    ) -> io::Result<()> {
        // A log without a head of its own: that of the file is written.
        let mut log = IntervalLogWriterBuilder::new().begin_log_with(lines, &mut self.0)?;
        let start = Duration::from_secs(index);
        let latency = second.latency.histogram();
        log.write_histogram(latency, start, SECOND, None).map_err(io_error)?;
        let exchange = second.exchange_time.histogram();
        log.write_histogram(exchange, start, SECOND, Tag::new("exchange")).map_err(io_error)
    }
}

fn io_error(error: IntervalLogWriterError<V2DeflateSerializeError>) -> io::Error {
    match error {
        IntervalLogWriterError::IoError(error) => error,
        IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::super::tests::Sample;
    use super::*;

    fn log(sample: &Sample, seconds: &[(u64, &LoadSecond)]) -> String {
        let mut lines = Vec::new();
        let mut log = Log::new(&sample.about, &mut lines).unwrap();
        for (index, second) in seconds {
            log.second(*index, second, &mut lines).unwrap();
        }
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn the_head_says_the_version_the_units_and_the_start() {
        let sample = Sample::new();
        let text = log(&sample, &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].starts_with("#[Values in microseconds"), "{text}");
        assert_eq!(lines[2], "#[Histogram log format version 1.3]");
        assert_eq!(lines[3], "#[StartTime: 1700000000.250 (seconds since epoch)]");
        assert!(lines[4].starts_with("\"StartTimestamp\",\"Interval_Length\""), "{text}");
    }

    #[test]
    fn every_second_has_its_latency_without_a_tag_and_its_exchange_time_with_one() {
        let sample = Sample::new();
        let empty = LoadSecond::default();
        let text = log(&sample, &[(2, &sample.all), (3, &empty)]);
        let entries: Vec<LogEntry<'_>> =
            IntervalLogIterator::new(text.as_bytes()).map(Result::unwrap).collect();
        let intervals: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => {
                    let tag = interval.tag().map(|tag| tag.as_str());
                    Some((tag, interval.start_timestamp().as_secs(), interval.duration()))
                }
                _ => None,
            })
            .collect();
        let expected = [(None, 2), (Some("exchange"), 2), (None, 3), (Some("exchange"), 3)];
        assert_eq!(intervals, expected.map(|(tag, start)| (tag, start, SECOND)));
        assert!(text.lines().nth(5).unwrap().contains(",HISTFAAAA"), "V2, compressed, base64");
    }
}
