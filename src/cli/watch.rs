//! `sweetspot watch`: arguments.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use super::{Exit, say};
use crate::report::Language;
use crate::report::facts::with_sentences;
use crate::report::terminal::watch::{self as shown, LiveTable, Style};
use crate::report::terminal::{self, Channel};
use crate::session::watch::{self, Ended, ListenAddress, Subject, WatchError, WatchSettings};
use crate::terms::{WatchSecond, parse_duration};

const EXAMPLES: &str = "\
Examples:
  sweetspot watch --listen :3000
  sweetspot watch --pid 4711 --count 60 --csv > minute.csv
  sweetspot watch --listen /run/app.sock --json";

/// Shows what a running server's processes use.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["pid", "listen", "cgroup"]))]
pub struct Arguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// Length of one interval.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// End after so many intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after so much time.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "count")]
    duration: Option<Duration>,
    /// One JSON object a line for each interval.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// A CSV row for each process in each interval.
    #[arg(long)]
    csv: bool,
    /// Do not say what cannot be seen, nor that the processes have ended.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub struct SubjectArguments {
    /// This process and all below it.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// The server that listens there: `:3000`, `127.0.0.1:3000` or the path of a unix socket.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<ListenAddress>,
    /// The processes of this control group's folder.
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
}

/// Shorter than this, reading would be a large part of what is read.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).map_err(|error| error.to_string())?;
    if interval < SHORTEST_INTERVAL {
        return Err(format!("'{text}' is too short; the shortest interval is 100ms"));
    }
    Ok(interval)
}

fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() {
        return Err(format!("'{text}' is no time to watch for; write for example 1m"));
    }
    Ok(time)
}

impl SubjectArguments {
    /// The one that was named.
    pub fn subject(self) -> Subject {
        match (self.pid, self.listen, self.cgroup) {
            (Some(pid), _, _) => Subject::Pid(pid),
            (_, Some(address), _) => Subject::Listen(address),
            (_, _, Some(folder)) => Subject::Cgroup(folder),
            (None, None, None) => unreachable!("clap asks for one of the three"),
        }
    }
}

fn describe(subject: &Subject) -> String {
    match subject {
        Subject::Pid(pid) => format!("process {pid}"),
        Subject::Listen(address) => format!("the server on {address}"),
        Subject::Cgroup(folder) => format!("control group {}", folder.display()),
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let stop = super::interrupt::install();
    let subject = arguments.subject.subject();
    let what = describe(&subject);
    let format = match () {
        () if arguments.json => Format::Json,
        () if arguments.csv => Format::Csv,
        () if io::stdout().is_terminal() => Format::Live(LiveTable::default()),
        () => Format::Lines,
    };
    let settings = WatchSettings {
        subject,
        interval: arguments.interval,
        count: arguments.count,
        duration: arguments.duration,
    };
    let is_quiet = arguments.quiet;
    let mut shower = Shower { what, format, is_quiet, is_first: true, blind_spots_told: 0 };
    match watch::run(&settings, &stop, &mut |second| shower.show(second)) {
        Ok(Ended::Complete | Ended::Stopped) => Ok(Exit::Done),
        Ok(Ended::NoneLeft) => {
            if !is_quiet {
                say(format!("sweetspot: {} has ended", shower.what));
            }
            Ok(Exit::Done)
        }
        // Who reads no further has seen enough.
        Err(WatchError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Exit::Done)
        }
        Err(WatchError::Output(error)) => Err(error).context("could not write"),
        Err(error) => Err(error.into()),
    }
}

enum Format {
    Json,
    Csv,
    Lines,
    Live(LiveTable),
}

struct Shower {
    what: String,
    format: Format,
    is_quiet: bool,
    is_first: bool,
    blind_spots_told: usize,
}

impl Shower {
    fn show(&mut self, second: &WatchSecond) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let is_first = std::mem::take(&mut self.is_first);
        match &mut self.format {
            Format::Live(table) => return table.draw(&mut out, &self.what, second, style()),
            // In JSON they stand in every line.
            Format::Json => {
                serde_json::to_writer(&mut out, &with_sentences(second))?;
                out.write_all(b"\n")?;
                return out.flush();
            }
            Format::Csv if is_first => out.write_all(shown::CSV_HEADING.as_bytes())?,
            Format::Lines if is_first => out.write_all(shown::lines_heading().as_bytes())?,
            Format::Csv | Format::Lines => {}
        }
        let text = match self.format {
            Format::Csv => shown::csv(second),
            _ => shown::lines(second),
        };
        if !self.is_quiet {
            for spot in second.blind_spots.iter().skip(self.blind_spots_told) {
                say(format!("sweetspot: not seen: {}", Language::DATA.say(spot)));
            }
            self.blind_spots_told = second.blind_spots.len();
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

fn style() -> Style {
    let (columns, lines) = terminal::standard_output_size();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // The first of these that is set decides, as in setlocale(3).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    Style {
        columns: columns.into(),
        lines: lines.into(),
        has_colour: Channel::standard_output().style.colour,
        has_blocks: locale.contains("utf-8") || locale.contains("utf8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit_and_very_short_intervals_are_refused() {
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        assert!(time("0s").is_err());
        for text in ["", "1", "fast", "-1s", "0s", "10ms"] {
            assert!(interval(text).is_err(), "{text} must be refused");
        }
    }
}
