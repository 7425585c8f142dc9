//! `sweetspot advise`: arguments.

use std::path::PathBuf;
use std::time::Duration;

use super::progress::Progress;
use super::watch::SubjectArguments;
use super::{Exit, UsageError, print};
use crate::report::{document, figures, json, outside, render};
use crate::session::advise::{Meanwhile, PROBE_SOCKET, Question, Source, advise, write_probe};
use crate::terms::{Bytes, Cores, Slo, parse_duration};

const EXAMPLES: &str = "\
Examples:
  sweetspot advise --write-probe /etc/sweetspot    # once; then start the server with what it says
  sweetspot advise --listen :3000 --probe /etc/sweetspot
  sweetspot advise --listen :3000 --probe /etc/sweetspot --for 1h --slo 'p95<200ms' --json
  sweetspot advise --perfm metrics.csv --workers 4 --threads 5 --cpus 2

It sends nothing and changes nothing. What it says is expected, not measured.

Exit codes: 0 advised; 4 not enough seen to advise; 1 nothing seen.";

/// Says which setting a running server should have, by watching it at its own traffic: no load is
/// sent.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").required(true)
          .args(["pid", "listen", "cgroup", "perfm", "write_probe"]))]
pub struct Arguments {
    #[command(flatten)]
    subject: SubjectArguments,
    /// The folder of the probe that the server has loaded, as --write-probe wrote it.
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["perfm", "write_probe"])]
    probe: Option<PathBuf>,
    /// How long to watch: minutes at a busy time, or days.
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = length)]
    length: Duration,
    /// The rows that perfm recorded, as CSV with a header or as a JSON array, instead of a server.
    #[arg(long, value_name = "FILE", requires_all = ["workers", "cpus"])]
    perfm: Option<PathBuf>,
    /// With --perfm: how many instances recorded them.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "perfm",
          value_parser = clap::value_parser!(u32).range(1..))]
    instances: u32,
    /// Write the probe into this folder, say how a server loads it, and end.
    #[arg(long, value_name = "FOLDER")]
    write_probe: Option<PathBuf>,
    /// Worker processes that it runs [default: as many as are seen].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// Threads of each worker; perfm knows them only of a server without workers [default: as many
    /// as are seen].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Cores that it may use [default: as the kernel says].
    #[arg(long, value_name = "CORES")]
    cpus: Option<Cores>,
    /// Memory that it may use [default: as the kernel says].
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// What capacity is within, such as 'p95<200ms' [default: what suits the times of single
    /// requests].
    #[arg(long)]
    slo: Option<Slo>,
    /// Print JSON: all settings, all parts of the app.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print the advice alone, and no progress.
    #[arg(short, long)]
    quiet: bool,
}

/// The first requests of a server say little.
const SHORTEST: Duration = Duration::from_secs(10);

fn length(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|error| error.to_string())?;
    match length >= SHORTEST {
        true => Ok(length),
        false => Err("that is too short to see anything; the shortest time is 10s".to_string()),
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    if let Some(folder) = &arguments.write_probe {
        let file = write_probe(folder)?;
        let (file, folder) = (file.display().to_string(), folder.display().to_string());
        print(how_to_load(&file, &folder) + "\n")?;
        return Ok(Exit::Done);
    }
    let stop = super::interrupt::install();
    let mut progress = Progress::new(arguments.quiet);
    let (is_json, is_quiet) = (arguments.json, arguments.quiet);
    let question = arguments.question();
    let report = advise(&question, &stop, &mut |what| show(&mut progress, what));
    let report = report.map_err(|it| UsageError::only_if(it.is_usage(), it))?;
    progress.draw("");
    match (is_json, is_quiet) {
        (true, _) => print(json::render(&report))?,
        (_, true) => print(outside::paragraph(&document::advise::in_short(&report)))?,
        _ => print(render::plain(&document::advise::document(&report)))?,
    }
    Ok(if report.refused.is_empty() { Exit::Done } else { Exit::Invalid })
}

fn how_to_load(file: &str, folder: &str) -> String {
    format!(
        "wrote {file}\n\n\
         Start the server with it: set\n\n  RUBYOPT=-r{file}\n\n\
         in its environment (before what stands in there already). It counts while somebody \
         listens, and changes nothing. The server's user has to be able to read {folder}. \
         Then:\n\n  sweetspot advise --listen :3000 --probe {folder}"
    )
}

impl Arguments {
    fn question(self) -> Question {
        let source = match (self.perfm, self.probe) {
            (Some(file), _) => Source::Perfm { file, instances: self.instances },
            (None, probe) => Source::Server {
                subject: self.subject.subject(),
                socket: probe.unwrap_or_default().join(PROBE_SOCKET),
                length: self.length,
            },
        };
        let Self { workers, threads, cpus, memory, slo, .. } = self;
        Question { source, workers, threads, cores: cpus, memory, slo }
    }
}

fn show(progress: &mut Progress, what: Meanwhile) {
    match what {
        Meanwhile::Silent { for_s, has_others } => {
            let why = match has_others {
                true => {
                    "other processes than those that are watched told of theirs: is it the app \
                     server itself, and not something in front of it?"
                }
                false => "does the server have the probe, and get requests?",
            };
            let span = figures::span(for_s);
            let nothing = format!("nothing was told of any request in {span}");
            progress.say(&format!("{nothing}: {why} Still listening"));
        }
        Meanwhile::Seen { for_s, requests } => {
            let requests = figures::count(requests, "request", "requests");
            progress.draw(&format!("{}: {requests}", figures::span(for_s)));
        }
    }
}
