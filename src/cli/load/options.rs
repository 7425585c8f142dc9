//! `sweetspot load`: its options, and the load that they ask for.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::fleet::FleetArguments;
use super::outputs::Output;
use super::pods::PodArguments;
use super::tls::TlsArguments;
use crate::cli::UsageError;
use crate::cli::options::one_of;
use crate::cli::push::PushArgument;
use crate::cli::turn::TurnArgument;
use crate::plan::{ARRIVALS, CONNECTIONS};
use crate::session::load::{Asked, Closing, Length, LogSpec, Protocol, Shape, Speed, Stages};
use crate::terms::{Arrivals, ConnectionMode, Rate, Slo, Target, parse_duration};

const WHICH_LOAD: &str = "\
which load? Choose one of
  --rate 200/s                  requests due at a rate, whatever the server does
  --steps 50/s:10s,100/s:10s    one rate after the other
  --ramp 0..500/s:60s           a rate that rises or falls
  --clients 64                  clients that each wait for their reply before they ask again
  --access-log FILE --replay    as the requests of a log came
for example: sweetspot load http://127.0.0.1:9292/ --rate 200/s --duration 30s";

const AFTER_HELP: &str = r#"Examples:
  sweetspot load http://127.0.0.1:9292/ --rate 200/s --duration 30s --warmup 5s
  sweetspot load 127.0.0.1:9292 --clients 64 --think 50ms --slo 'p95<200ms,errors<1%'
  sweetspot load 127.0.0.1:9292 --rate 50/s --target 'GET / weight=3' --target 'POST /orders'
  sweetspot load 127.0.0.1:9292 --steps 50/s:10s,100/s:10s,200/s:10s --warmup 5s
  sweetspot load 127.0.0.1:9292 --ramp 0..500/s:60s --arrivals poisson
  sweetspot load 127.0.0.1:9292 --find-capacity --slo 'p95<200ms,errors<1%'

A targets file has requests as vegeta writes them, with weights; blank lines and # lines separate:
  GET /orders weight=3 slo=p95<2s
  POST /orders
  Content-Type: application/json
  @order.json
or, if its first character is '{', a JSON object a line, with the body in base64:
  {"method": "POST", "url": "/orders", "header": {"X-A": ["1"]}, "body": "e30=", "weight": 3}

Variables in paths, header values and bodies: {{seq}} is the number of the request, from 0, {{uuid}}
a random UUID, and {{name}} the column of that name of --variables FILE, whose rows are taken in
turn. In paths values are percent-encoded. {{ name }}, with spaces, is sent as it stands.

Exit codes: 0 done (or SLO met); 1 could not measure, or nothing was answered; 2 the command line is
wrong; 3 SLO not met (by any rate tried); 4 measured, but the generator was the limit or the SLO is
undecided."#;

/// Sends load to a URL and says how fast it was answered
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[command(group(
    clap::ArgGroup::new("load").args(["rate", "clients", "steps", "ramp", "replay"])
))]
pub struct Options {
    /// Where to, such as http://127.0.0.1:9292/ (user:password@ in front of the host is sent as
    /// basic authentication); not needed where --targets has whole URLs
    #[arg(required_unless_present = "targets")]
    url: Option<String>,

    /// Open model: requests due per second whatever the server does, such as 200/s or 90/m
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, conflicts_with = "clients")]
    pub rate: Option<Rate>,

    /// Find the highest rate at which the SLO is met: rates one after another, near the answer
    /// [with --rate: where to begin; with --duration: the time in all, default 90s]
    #[arg(long)]
    #[arg(conflicts_with_all = ["clients", "requests", "think", "steps", "ramp", "replay"])]
    pub find_capacity: bool,

    /// Spacing of the open model's requests: uniform, at equal distances, or poisson, as
    /// independent users arrive [poisson with --find-capacity]
    #[arg(long, value_parser = one_of(&ARRIVALS), default_value = "uniform")]
    #[arg(conflicts_with_all = ["clients", "replay"])]
    #[arg(default_value_if("find_capacity", "true", "poisson"))]
    arrivals: Arrivals,

    /// Open model in steps, RATE:TIME each, such as 50/s:10s,100/s:10s
    #[arg(long, value_name = "STAGES")]
    steps: Option<Stages>,

    /// Open model whose rate rises or falls evenly, RATE..RATE:TIME, such as 0..500/s:60s; ramps
    /// and steps may be mixed, as in 0..100/s:30s,100/s:2m,100..0/s:30s
    #[arg(long, value_name = "STAGES")]
    ramp: Option<Stages>,

    /// Closed model: clients that each wait for their reply before they ask again
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    clients: Option<u32>,

    /// How long a client waits between a reply and its next request
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    #[arg(conflicts_with_all = ["rate", "steps", "ramp"])]
    think: Option<Duration>,

    /// How long to measure [default: 10s; steps and ramps say it themselves]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    #[arg(conflicts_with_all = ["requests", "steps", "ramp"])]
    pub duration: Option<Duration>,

    /// Measure this many requests instead of a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with_all = ["steps", "ramp"])]
    requests: Option<u64>,

    /// Send the load for so long before measuring, whole seconds, left out of the result. Before
    /// steps and ramps: at the rate that they begin with [2s before each window of --find-capacity]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0s")]
    #[arg(default_value_if("find_capacity", "true", "2s"))]
    warmup: Duration,

    /// A request of the mix, such as 'GET /orders' or 'POST /orders weight=3 slo=p95<2s', which is
    /// then judged by its own goal; may be repeated
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
    // Said twice, because clap does not ask for what something else that is given forbids.
    #[arg(long, value_name = "SPEED", requires = "replay", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["rate", "clients", "steps", "ramp"])]
    speed: Option<Speed>,

    /// A CSV file of variables (see below); its first line names them
    #[arg(long, value_name = "FILE")]
    variables: Option<PathBuf>,

    /// Method of the URL's own request [default: GET, or POST with -d]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,

    /// A header of every request, 'Name: value', or @FILE with one a line; may be repeated
    #[arg(short = 'H', long, value_name = "HEADER")]
    header: Vec<String>,

    /// Body of the URL's own request; @FILE reads a file, @- standard input
    #[arg(short = 'd', long, value_name = "DATA")]
    data: Option<String>,

    /// Basic authentication, user:password, or @FILE with that
    #[arg(long, value_name = "USER:PASSWORD")]
    user: Option<String>,

    /// Connect to this unix socket; the URL still gives host and path
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,

    /// Use connections again, or open a fresh one for every request, as most proxies in front do
    /// [fresh with --find-capacity]
    #[arg(long, value_parser = one_of(&CONNECTIONS), default_value = "keep-alive")]
    #[arg(default_value_if("find_capacity", "true", "fresh"))]
    connection: ConnectionMode,

    /// What to speak: 1.1, or 2 (with an http:// URL from the first byte on)
    #[arg(long, value_enum, default_value_t = Http::One)]
    http: Http,

    /// HTTP/2: most requests under way on a connection at once [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    streams: Option<u16>,

    /// Who ends a connection that is used up; that side keeps its port for a minute. server: as it
    /// was asked to; a second later we do. client: we do; at most some 28000 connections a minute
    /// and loopback address. reset: we do, with a reset: any number of connections, but servers may
    /// log it
    #[arg(long, value_parser = one_of(&CLOSING), default_value = "server")]
    close: Closing,

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

    /// Threads that generate load; one sends tens of thousands of requests a second [default: one
    /// for each 20000/s or 32 clients, at most one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    loops: Option<u16>,

    /// Latency goal to judge by, such as 'p95<200ms,errors<1%': of all targets without one of their
    /// own
    #[arg(long, value_name = "SLO")]
    slo: Option<Slo>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    tls: TlsArguments,

    #[command(flatten)]
    pub fleet: FleetArguments,

    #[command(flatten)]
    pub pods: PodArguments,

    /// Send load to an address that is neither this machine nor on a private network
    #[arg(long)]
    pub allow_public: bool,

    /// FORMAT or FORMAT=FILE; may be repeated [default: text]. Ours: text, json; a histogram: hgrm,
    /// or hlog a second; a row a request: csv (vegeta's); as other tools print it: vegeta,
    /// vegeta-json, wrk, ab, k6; for CI and dashboards: junit, prometheus
    #[arg(short = 'o', long, value_name = "FORMAT[=FILE]")]
    pub output: Vec<Output>,

    /// The same as -o json
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub push: PushArgument,

    #[command(flatten)]
    pub turn: TurnArgument,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Http {
    #[value(name = "1.1")]
    One,
    #[value(name = "2")]
    Two,
}

const CLOSING: [(&str, Closing); 3] =
    [("server", Closing::Server), ("client", Closing::Client), ("reset", Closing::Reset)];

/// `None`: as an access log tells. clap refuses two of them.
fn shape(options: &Options) -> Result<Option<Shape>, UsageError> {
    if options.replay {
        return Ok(None);
    }
    let arrivals = options.arrivals;
    let stages = options.steps.as_ref().or(options.ramp.as_ref());
    match (options.rate, options.clients, stages) {
        (Some(rate), ..) => Ok(Some(Shape::Constant { rate, arrivals })),
        (_, _, Some(Stages(stages))) => {
            Ok(Some(Shape::Stages { stages: stages.clone(), arrivals }))
        }
        (_, Some(clients), _) => {
            Ok(Some(Shape::Clients { clients, think: options.think.unwrap_or_default() }))
        }
        (None, None, None) => Err(UsageError::of(WHICH_LOAD)),
    }
}

fn protocol(http: Http, streams: Option<u16>) -> Result<Protocol, UsageError> {
    match (http, streams) {
        (Http::One, None) => Ok(Protocol::Http1),
        (Http::One, Some(_)) => Err(UsageError::of("--streams is for HTTP/2; add --http 2")),
        (Http::Two, streams) => Ok(Protocol::Http2 { streams: streams.unwrap_or(STREAMS) }),
    }
}

/// Requests under way on a connection at once, unless another number was typed.
const STREAMS: u16 = 100;

pub fn asked(options: Options) -> Result<Asked, UsageError> {
    let shape = shape(&options)?;
    let protocol = protocol(options.http, options.streams)?;
    let length = match options.requests {
        Some(count) => Length::Requests(count),
        None => Length::Duration(options.duration.unwrap_or(Duration::from_secs(10))),
    };
    // What was typed, as pods and hosts get it.
    let words = std::env::args_os().skip(2);
    let typed: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let pods = options.pods.asked(&typed)?;
    let replay = options.replay.then(|| options.speed.unwrap_or(Speed::SAME));
    let access_log = options.access_log.map(|file| LogSpec {
        file,
        allows_unsafe_methods: options.unsafe_methods,
        replay,
    });
    Ok(Asked {
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
        shape,
        warm_up: options.warmup,
        length,
        connection: options.connection,
        protocol,
        closing: options.close,
        keeps_cookies: options.cookies,
        timeout: options.timeout,
        max_in_flight: options.max_in_flight,
        loops: options.loops,
        seed: options.seed,
        slo: options.slo,
        allows_public: options.allow_public,
        tls: options.tls.into(),
        fleet: options.fleet.asked(pods, &typed)?,
        placement: Default::default(),
    })
}
