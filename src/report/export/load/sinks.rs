//! The outputs that are written while the load runs.
//!
//! In: each finished second and each request, as they come. Out: lines in files. A file that can't
//! be written to any more must not end the load, nor keep the other files from being written: it is
//! left alone from then on, and reported at the end.

use std::io::{self, Write};

use thiserror::Error;

use super::{About, Stream, csv, hlog};
use crate::terms::{LoadSecond, RequestRow};

type Out = Box<dyn Write + Send>;

/// All of a load's streams.
#[derive(Default)]
pub struct Sinks(Vec<Sink>);

struct Sink {
    name: String,
    out: Out,
    form: Form,
    /// What is written at once: whole lines, so that a file that is cut off can be read.
    lines: Vec<u8>,
    failure: Option<io::Error>,
}

enum Form {
    Hlog(hlog::Log),
    Csv(csv::Table),
}

/// An output that could not be written to its end.
#[derive(Debug, Error)]
#[error("could not write the result to {name}")]
pub struct SinkFailure {
    /// Which output.
    pub name: String,
    #[source]
    pub source: io::Error,
}

impl Sinks {
    /// Adds a stream and writes its head. `name`: where `out` goes, for messages.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn add(
        &mut self,
        stream: Stream,
        about: &About,
        name: String,
        mut out: Out,
    ) -> Result<(), SinkFailure> {
        let mut lines = Vec::new();
        let form = match stream {
            Stream::Hlog => hlog::Log::new(about, &mut lines).map(Form::Hlog),
            Stream::Csv => Ok(Form::Csv(csv::Table::new(about))),
        };
        match form.and_then(|form| out.write_all(&lines).map(|()| form)) {
            Ok(form) => self.0.push(Sink { name, out, form, lines, failure: None }),
            Err(source) => return Err(SinkFailure { name, source }),
        }
        Ok(())
    }

    /// A measured second is finished. `index`: whole seconds since the load began, and so since its
    /// warm-up did.
    pub fn second(&mut self, index: u64, second: &LoadSecond) {
        self.write(|form, lines| match form {
            Form::Hlog(log) => log.second(index, second, lines),
            Form::Csv(_) => Ok(()),
        });
    }

    /// Requests have ended.
    pub fn rows(&mut self, rows: &[RequestRow]) {
        self.write(|form, lines| match form {
            Form::Hlog(_) => Ok(()),
            Form::Csv(table) => {
                table.rows(rows, lines);
                Ok(())
            }
        });
    }

    fn write(&mut self, mut add: impl FnMut(&mut Form, &mut Vec<u8>) -> io::Result<()>) {
        for sink in self.0.iter_mut().filter(|sink| sink.failure.is_none()) {
            sink.lines.clear();
            let added = add(&mut sink.form, &mut sink.lines);
            sink.failure = added.and_then(|()| sink.out.write_all(&sink.lines)).err();
        }
    }

    /// The load is over; what is still in a buffer is written.
    pub fn finish(self) -> Vec<SinkFailure> {
        let finish = |Sink { name, mut out, failure, .. }: Sink| {
            let failure = failure.or_else(|| out.flush().err());
            failure.map(|source| SinkFailure { name, source })
        };
        self.0.into_iter().filter_map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::tests::Sample;
    use super::*;

    /// Memory that is read after it was given away.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes a head and nothing more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn row() -> RequestRow {
        RequestRow {
            due_ns: 0,
            latency_ns: 1,
            bytes_in: 1,
            bytes_out: 1,
            sequence: 0,
            target: 0,
            status: 200,
            error: None,
        }
    }

    #[test]
    fn each_stream_gets_what_it_is_made_of() {
        let sample = Sample::new();
        let (log, table) = (Shared::default(), Shared::default());
        let mut sinks = Sinks::default();
        let out = |shared: &Shared| -> Out { Box::new(shared.clone()) };
        sinks.add(Stream::Hlog, &sample.about, "a".into(), out(&log)).unwrap();
        sinks.add(Stream::Csv, &sample.about, "b".into(), out(&table)).unwrap();
        sinks.second(0, &sample.all);
        sinks.rows(&[row(), row()]);
        assert!(sinks.finish().is_empty());
        assert_eq!((log.text().lines().count(), table.text().lines().count()), (5 + 2, 2));
    }

    #[test]
    fn an_output_that_fails_is_told_at_the_end_and_does_not_cost_the_others() {
        let sample = Sample::new();
        let table = Shared::default();
        let mut sinks = Sinks::default();
        let full = Box::new(Full(600));
        sinks.add(Stream::Hlog, &sample.about, "full.hlog".into(), full).unwrap();
        sinks.add(Stream::Csv, &sample.about, "b".into(), Box::new(table.clone())).unwrap();
        (0..9).for_each(|index| sinks.second(index, &sample.all));
        sinks.rows(&[row()]);
        let failures = sinks.finish();
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].to_string(), "could not write the result to full.hlog");
        assert_eq!(table.text().lines().count(), 1);
        let refused = Sinks::default().add(
            Stream::Hlog,
            &sample.about,
            "none.hlog".into(),
            Box::new(Full(0)),
        );
        assert_eq!(refused.unwrap_err().name, "none.hlog");
    }
}
