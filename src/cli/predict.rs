//! `sweetspot predict`: arguments.

use std::time::Duration;

use super::sessions::StoreArgument;
use super::{Exit, UsageError, print};
use crate::plan::parse_counts;
use crate::report::{document, json, render};
use crate::session::predict::{FleetQuestion, MachineKind, PredictError, Question, predict};
use crate::session::report::Which;
use crate::store::Store;
use crate::terms::{Bytes, Cores, OtherRequests, Rate, Ratio, Slo, Wait, parse_duration};

const EXAMPLES: &str = "\
Examples:
  sweetspot predict last
  sweetspot predict last --cpus 4,8,16 --memory 16GiB
  sweetspot predict last --fleet 5000/s --zones 3 --machine small=4,8GiB,0.17 \\
    --machine large=16,32GiB,0.68 --trough 30%
  sweetspot predict 3 --workers 4..12 --threads 5,10 --wait +2s
  sweetspot predict last --mix 5%:5ms:2s --rate 100/s";

/// Says what a measured session means for other cores, settings and waits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The session's number (see 'sweetspot sessions list'), or 'last'.
    session: Which,
    /// Cores the server would have; a list predicts for each [default: as measured].
    #[arg(long, value_name = "CORES", value_delimiter = ',')]
    cpus: Vec<Cores>,
    /// Memory the server would have [default: as measured].
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Worker processes, such as 1..16 or 2,4,8 [default: 1 to twice the cores].
    #[arg(long, value_name = "COUNTS")]
    workers: Option<String>,
    /// Threads in each worker [default: those of the session].
    #[arg(long, value_name = "COUNTS")]
    threads: Option<String>,
    /// What a request waits for (database, other services): 2s in all, +500ms more, or x2 as long.
    #[arg(long, value_name = "TIME")]
    wait: Option<Wait>,
    /// Requests of another kind besides those that were measured: their share, CPU and waits, such
    /// as 5%:5ms:2s. Repeatable; simulates.
    #[arg(long = "mix", value_name = "SHARE:CPU:WAIT")]
    others: Vec<OtherRequests>,
    /// How long a thread may keep the interpreter's lock while others want it, such as 10ms (Ruby:
    /// RUBY_THREAD_TIMESLICE; Python: sys.setswitchinterval); simulates.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    quantum: Option<Duration>,
    /// Play requests one by one instead of computing: slower, and closer where requests differ
    /// widely.
    #[arg(long)]
    simulate: bool,
    /// The rate at which latency is told [default: 70 % of each capacity].
    #[arg(long)]
    rate: Option<Rate>,
    /// Another goal, such as 'p95<100ms,errors<1%' [default: the session's].
    #[arg(long)]
    slo: Option<Slo>,
    /// How many machines a load needs: its rate, such as 5000/s; with --machine.
    #[arg(long, value_name = "RATE", requires = "machines")]
    fleet: Option<Rate>,
    /// A kind of machine for --fleet, such as large=16,64GiB,0.68: name, cores, memory, and its
    /// price an hour if it is known. Repeatable.
    #[arg(long = "machine", value_name = "NAME=CORES,MEMORY[,PRICE]", requires = "fleet")]
    machines: Vec<MachineKind>,
    /// Zones over which the machines are spread, any one of which may be lost.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fleet",
          value_parser = clap::value_parser!(u16).range(1..=100))]
    zones: u16,
    /// A day of that fleet, scaled with its load: the lowest rate as a share of --fleet's, such as
    /// 30%.
    #[arg(long, value_name = "SHARE", requires = "fleet")]
    trough: Option<Ratio>,
    /// Leave out what the load generator took of the server's cores.
    #[arg(long)]
    without_generator: bool,
    #[command(flatten)]
    store: StoreArgument,
    /// Print JSON: all settings, the fit with its residuals.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print a line for each number of cores.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let question = Question {
        cores: arguments.cpus,
        memory: arguments.memory,
        workers: counts("--workers", arguments.workers.as_deref())?,
        threads: counts("--threads", arguments.threads.as_deref())?,
        wait: arguments.wait.unwrap_or(Wait::Times(1.0)),
        others: arguments.others,
        rate: arguments.rate,
        slo: arguments.slo,
        is_simulated: arguments.simulate,
        quantum: arguments.quantum,
        without_generator: arguments.without_generator,
        fleet: arguments.fleet.map(|rate| FleetQuestion {
            rate,
            zones: arguments.zones,
            trough: arguments.trough,
            machines: arguments.machines,
        }),
    };
    let answer = Store::open_existing(&arguments.store.path)
        .map_err(|error| PredictError::Session(error.into()))
        .and_then(|store| predict(&store, arguments.session, &question));
    let report = answer.map_err(with_exit_code)?;
    match (arguments.json, arguments.quiet) {
        (true, _) => print(json::render(&report))?,
        (_, true) => print(document::predict::in_short(&report))?,
        _ => print(render::plain(&document::predict::document(&report)))?,
    }
    Ok(Exit::Done)
}

fn counts(option: &str, text: Option<&str>) -> Result<Option<Vec<u16>>, UsageError> {
    let read = |text: &str| {
        parse_counts(text).map_err(|error| UsageError::of(format!("{option}: {error}")))
    };
    text.map(read).transpose()
}

/// A session that is not there, or that says nothing, is the user's to correct.
fn with_exit_code(error: PredictError) -> anyhow::Error {
    match error {
        PredictError::Session(error) => super::sessions::with_exit_code(error),
        other => UsageError::of(other).into(),
    }
}
