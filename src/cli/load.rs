//! `sweetspot load`: arguments.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;

use super::{Exit, UsageError, interrupt};
use crate::report::load_text;
use crate::report::terminal::{Channel, ProgressLine, can_redraw};
use crate::session::load::{self, Asked, Conclusion, Length, LogSpec, Speed};
use crate::terms::{
    Arrivals, ConnectionMode, LiveSecond, LoadSummary, Offered, Rate, Slo, Target, parse_duration,
};

const AFTER_HELP: &str = "\
Examples:
  sweetspot load http://127.0.0.1:9292/ --rate 200/s --duration 30s --warmup 5s
  sweetspot load 127.0.0.1:9292 --clients 64 --think 50ms --slo 'p95<200ms,errors<1%'
  sweetspot load 127.0.0.1:9292 --rate 50/s --target 'GET / weight=3' --target 'POST /orders'

A targets file has requests as vegeta writes them, with weights; blank lines and # lines separate:
  GET /orders weight=3
  POST /orders
  Content-Type: application/json
  @order.json
or, if its first character is '{', a JSON object a line, with the body in base64:
  {"method": "POST", "url": "/orders", "header": {"X-A": ["1"]}, "body": "e30=", "weight": 3}

Variables in paths, header values and bodies: {{seq}} is the number of the request, from 0, {{uuid}}
a random UUID, and {{name}} the column of that name of --variables FILE, whose rows are taken in
turn. In paths values are percent-encoded. {{ name }}, with spaces, is sent as it stands.

Exit codes: 0 done (or SLO met); 1 could not measure, or nothing was answered; 2 the command line is
wrong; 3 SLO not met; 4 measured, but the generator was the limit or the SLO is undecided.";

/// Sends load to a URL and says how fast it was answered
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(flatten)]
    options: Box<Options>,
}

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("load").required(true).args(["rate", "clients", "replay"])))]
struct Options {
    /// Where to, such as http://127.0.0.1:9292/ (user:password@ in front of the host is sent as
    /// basic authentication)
    url: String,

    /// Open model: requests due per second whatever the server does, such as 200/s or 90/m
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    rate: Option<Rate>,

    /// Spacing of the open model's requests
    #[arg(long, value_enum, default_value_t = Spacing::Uniform, conflicts_with = "clients")]
    arrivals: Spacing,

    /// Closed model: clients that each wait for their reply before they ask again
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    clients: Option<u32>,

    /// How long a client waits between a reply and its next request
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "rate")]
    think: Option<Duration>,

    /// How long to measure [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "requests")]
    duration: Option<Duration>,

    /// Measure this many requests instead of a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// The same load before measuring, left out of the result; whole seconds
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0s")]
    warmup: Duration,

    /// A request of the mix, such as 'GET /orders' or 'POST /orders weight=3'; may be repeated
    #[arg(long = "target", value_name = "TARGET")]
    target: Vec<Target>,

    /// A file of requests (see below)
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,

    /// An access log whose requests are the mix, as often as they are in it: of nginx or Apache, in
    /// the combined or common format or as JSON lines; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "targets"])]
    access_log: Option<PathBuf>,

    /// Take requests of the log that may change something too, without their bodies, which no log
    /// has
    #[arg(long, requires = "access_log")]
    unsafe_methods: bool,

    /// Ask in the log's own rhythm instead of at a rate
    #[arg(long, requires = "access_log", conflicts_with_all = ["duration", "requests", "think"])]
    replay: bool,

    /// Replay the log faster or slower, such as 2x or 0.5x [default: 1x]
    #[arg(long, value_name = "SPEED", requires = "replay", allow_negative_numbers = true)]
    speed: Option<Speed>,

    /// A CSV file of variables (see below); its first line names them
    #[arg(long, value_name = "FILE")]
    variables: Option<PathBuf>,

    /// Method of the URL's own request [default: GET, or POST with -d]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,

    /// A header of every request, 'Name: value'; may be repeated
    #[arg(short = 'H', long, value_name = "HEADER")]
    header: Vec<String>,

    /// Body of the URL's own request; @FILE reads a file, @- standard input
    #[arg(short = 'd', long, value_name = "DATA")]
    data: Option<String>,

    /// Basic authentication, user:password
    #[arg(long, value_name = "USER:PASSWORD")]
    user: Option<String>,

    /// Connect to this unix socket; the URL still gives host and path
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,

    /// Use connections again, or open a fresh one for every request
    #[arg(long, value_enum, default_value_t = Connection::KeepAlive)]
    connection: Connection,

    /// Each client keeps the cookies that it is given, and sends them from then on
    #[arg(long, requires = "clients")]
    cookies: bool,

    /// Give a request up this long after it was due
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    timeout: Duration,

    /// Most requests in flight in the open model; more wait, and are dropped at their timeout
    /// [default: what the limit on open files leaves room for]
    #[arg(long, value_name = "N", conflicts_with = "clients")]
    max_in_flight: Option<u32>,

    /// Threads that generate load; one sends tens of thousands of requests a second
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    loops: u16,

    /// Latency goal to judge by, such as 'p95<200ms,errors<1%'
    #[arg(long, value_name = "SLO")]
    slo: Option<Slo>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Send load to an address that is neither this machine nor on a private network
    #[arg(long)]
    allow_public: bool,

    /// FORMAT or FORMAT=FILE, with formats text and json; may be repeated [default: text]
    #[arg(short = 'o', long, value_name = "FORMAT[=FILE]", value_parser = parse_output)]
    output: Vec<Output>,

    /// The same as -o json
    #[arg(long)]
    json: bool,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Spacing {
    /// At equal distances
    Uniform,
    /// As independent users arrive
    Poisson,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Connection {
    Fresh,
    KeepAlive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A format and where it goes; to standard output without a file.
#[derive(Debug, Clone)]
struct Output {
    format: Format,
    file: Option<PathBuf>,
}

fn parse_output(text: &str) -> Result<Output, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("no file after '='; write for example json=result.json".into()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let format = Format::from_str(name, false)
        .map_err(|_| format!("'{name}' is no format; write text or json"))?;
    Ok(Output { format, file })
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let options = *arguments.options;
    let outputs = outputs(&options);
    let is_quiet = options.quiet;
    let prepared = load::prepare(asked(options)).map_err(usage_or_other)?;
    outputs.iter().try_for_each(check_writable)?;
    let stop = interrupt::install();
    let mut progress = Progress::new(is_quiet);
    let mut is_told = false;
    let mut watch = |second: &LiveSecond| {
        progress.show(second);
        if stop.is_raised() && second.in_flight > 0 && !std::mem::replace(&mut is_told, true) {
            progress.say("ending: awaits the last replies; Ctrl-C once more gives them up");
        }
        ControlFlow::Continue(())
    };
    let summary = load::run(&prepared, &stop, &mut watch).map_err(usage_or_other)?;
    drop(progress);
    // One that fails must not keep the others from being written.
    let written: Vec<_> =
        outputs.iter().map(|output| write(output, &prepared.description, &summary)).collect();
    written.into_iter().collect::<anyhow::Result<()>>()?;
    let conclusion = load::conclude(&summary);
    if conclusion == Conclusion::NothingAnswered {
        eprintln!("sweetspot: {}", load::why_nothing_was_answered(&summary));
    }
    Ok(match conclusion {
        Conclusion::Done => Exit::Done,
        Conclusion::NotMet => Exit::NotMet,
        Conclusion::Invalid => Exit::Invalid,
        Conclusion::NothingAnswered => Exit::CouldNotMeasure,
    })
}

fn usage_or_other(error: load::LoadVerbError) -> anyhow::Error {
    match error.is_usage() {
        true => UsageError { message: error.to_string() }.into(),
        false => error.into(),
    }
}

fn outputs(options: &Options) -> Vec<Output> {
    let mut outputs = options.output.clone();
    if options.json {
        outputs.push(Output { format: Format::Json, file: None });
    }
    if outputs.is_empty() {
        outputs.push(Output { format: Format::Text, file: None });
    }
    outputs
}

fn asked(options: Options) -> Asked {
    let offered = match (options.rate, options.clients) {
        (Some(rate), _) => {
            let arrivals = match options.arrivals {
                Spacing::Uniform => Arrivals::Uniform,
                Spacing::Poisson => Arrivals::Poisson,
            };
            Offered::Open { rate, arrivals }
        }
        // clap lets nobody through with neither unless a log is replayed; no clients at all are
        // refused further on.
        (None, clients) => Offered::Closed {
            clients: clients.unwrap_or(0),
            think: options.think.unwrap_or_default(),
        },
    };
    let length = match options.requests {
        Some(count) => Length::Requests(count),
        None => Length::Duration(options.duration.unwrap_or(Duration::from_secs(10))),
    };
    let replay = options.replay.then(|| options.speed.unwrap_or(Speed::SAME));
    let access_log = options.access_log.map(|file| LogSpec {
        file,
        allows_unsafe_methods: options.unsafe_methods,
        replay,
    });
    Asked {
        url: options.url,
        unix: options.unix,
        targets: options.target,
        targets_file: options.targets,
        access_log,
        variables_file: options.variables,
        method: options.method,
        data: options.data,
        headers: options.header,
        user: options.user,
        offered,
        warm_up: options.warmup,
        length,
        connection: match options.connection {
            Connection::Fresh => ConnectionMode::Fresh,
            Connection::KeepAlive => ConnectionMode::KeepAlive,
        },
        keeps_cookies: options.cookies,
        timeout: options.timeout,
        max_in_flight: options.max_in_flight,
        loops: options.loops,
        seed: options.seed,
        slo: options.slo,
        allows_public: options.allow_public,
    }
}

/// The running load on standard error: one line that is redrawn on a terminal, a line a second
/// elsewhere.
enum Progress {
    Nothing,
    Line(ProgressLine),
    Lines,
}

impl Progress {
    fn new(is_quiet: bool) -> Self {
        match () {
            () if is_quiet => Self::Nothing,
            () if can_redraw() => Self::Line(ProgressLine::on(Channel::standard_error())),
            () => Self::Lines,
        }
    }

    /// A closed standard error must not end the load.
    fn show(&mut self, second: &LiveSecond) {
        let text = load_text::progress(second);
        drop(match self {
            Self::Nothing => Ok(()),
            Self::Line(line) => line.show(&text),
            Self::Lines => writeln!(io::stderr(), "{text}"),
        });
    }

    /// Once, whatever else is shown; a line in progress is drawn again a second later.
    fn say(&self, text: &str) {
        if !matches!(self, Self::Nothing) {
            // As in `show`.
            drop(writeln!(io::stderr(), "\n{text}"));
        }
    }
}

/// A load may take long, and its result must not be lost for a mistyped folder: looks before it
/// begins. What a file holds stays there until there is a new result.
fn check_writable(output: &Output) -> anyhow::Result<()> {
    let Some(file) = &output.file else { return Ok(()) };
    // The reader of a pipe would take the first closing for the end.
    if file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map(drop).with_context(|| {
        format!("could not open {} for the result; no load was sent", file.display())
    })
}

fn write(output: &Output, description: &[String], summary: &LoadSummary) -> anyhow::Result<()> {
    let text = match output.format {
        Format::Text => load_text::result(description, summary),
        Format::Json => load_text::json(summary),
    };
    match &output.file {
        None => io::stdout().write_all(text.as_bytes()).context("could not print the result"),
        Some(file) => std::fs::write(file, text)
            .with_context(|| format!("could not write the result to {}", file.display())),
    }
}
