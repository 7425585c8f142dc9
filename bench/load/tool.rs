//! The tools that are compared: how each is told to put a load, where it is found, and how its
//! output is read.
//!
//! In: a load. Out: a command, as it is printed in the report. A new peer is a variant here and a
//! parser in parsers.rs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::parsers::{self, Reading};
use crate::common::process::last_line;
use crate::common::{Result, program};

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    Ours,
    /// Another build of ours, the program that `OTHER` names.
    Other,
    Wrk,
    Ab,
    H2load,
    Hey,
    Oha,
    Vegeta,
    K6,
    Wrk2,
}

use Tool::{Ab, H2load, Hey, K6, Oha, Other, Ours, Vegeta, Wrk, Wrk2};

pub const TOOLS: [Tool; 10] = [Ours, Other, Wrk, Ab, H2load, Hey, Oha, Vegeta, K6, Wrk2];

/// What a tool is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Clients of the closed model; in the open one, connections for the tools that want a number.
    pub connections: u32,
    /// Requests due per second; `None`: closed.
    pub rate: Option<u32>,
    /// How long each client waits after a reply, ms; ours alone can.
    pub think_ms: u32,
    /// Ours: loops, each with a thread of its own.
    pub loops: u32,
    /// Ours: it says how it goes, a line a second.
    pub shows_progress: bool,
    pub is_fresh: bool,
    /// HTTP/2, with so many requests under way on a connection; the connections are as many fewer.
    pub streams: Option<u32>,
    pub path: &'static str,
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Ours => "sweetspot",
            Other => "other",
            Wrk => "wrk",
            Ab => "ab",
            H2load => "h2load",
            Hey => "hey",
            Oha => "oha",
            Vegeta => "vegeta",
            K6 => "k6",
            Wrk2 => "wrk2",
        }
    }

    /// The command for this load, to be run where [`Tool::prepare`] wrote what it needs.
    pub fn command(self, program: &str, load: &Load, url: &str, seconds: u64) -> Vec<String> {
        let words = match self {
            Ours | Other => return ours(program, load, url, &format!("--duration {seconds}s")),
            Wrk => "-t 1 -c CONNECTIONS -d SECONDSs --latency URL",
            Wrk2 => "-t 1 -c CONNECTIONS -d SECONDSs --latency -R RATE URL",
            // With `-t` alone ab ends at 50,000 requests; 200,000 a second it can't reach.
            Ab if load.is_fresh => "-q -c CONNECTIONS -t SECONDS -n REQUESTS URL",
            Ab => "-q -k -c CONNECTIONS -t SECONDS -n REQUESTS URL",
            H2load if load.streams.is_some() => "-t1 -c CONNECTIONS -m STREAMS -D SECONDS URL",
            H2load => "--h1 -t1 -c CONNECTIONS -D SECONDS URL",
            Hey => "-z SECONDSs -c CONNECTIONS URL",
            Oha if load.rate.is_some() => {
                "--no-tui --output-format json -z SECONDSs -c CONNECTIONS -q RATE \
                 --latency-correction URL"
            }
            Oha => "--no-tui --output-format json -z SECONDSs -c CONNECTIONS URL",
            Vegeta => {
                "attack -rate=RATE/s -duration=SECONDSs -targets=targets.txt -output=results.bin"
            }
            K6 => "run --quiet --summary-export summary.json script.js",
        };
        let rate = load.rate.map(|rate| rate.to_string()).unwrap_or_default();
        let streams = load.streams.unwrap_or(1);
        let words = words
            .replace("CONNECTIONS", &(load.connections / streams).to_string())
            .replace("STREAMS", &streams.to_string())
            .replace("SECONDS", &seconds.to_string())
            .replace("REQUESTS", &(200_000 * seconds).to_string())
            .replace("RATE", &rate)
            .replace("URL", url);
        [program].into_iter().chain(words.split(' ')).map(str::to_string).collect()
    }

    /// Writes the files that its command names into `folder`.
    pub fn prepare(self, load: &Load, url: &str, seconds: u64, folder: &Path) -> Result<()> {
        match self {
            Vegeta => fs::write(folder.join("targets.txt"), format!("GET {url}\n"))?,
            K6 => fs::write(folder.join("script.js"), k6_script(load, url, seconds))?,
            _ => {}
        }
        Ok(())
    }

    /// What it says of the run that has just ended in `folder`.
    pub fn read(self, program: &str, folder: &Path) -> std::result::Result<Reading, String> {
        let text = |name: &str| {
            let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
            Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
        };
        match self {
            Ours | Other => parsers::sweetspot(&text("stdout")?),
            Wrk | Wrk2 => parsers::wrk(&text("stdout")?),
            Ab => parsers::ab(&text("stdout")?),
            H2load => parsers::h2load(&text("stdout")?),
            Hey => parsers::hey(&text("stdout")?),
            Oha => parsers::oha(&text("stdout")?),
            K6 => parsers::k6(&text("summary.json")?),
            Vegeta => {
                let report = Command::new(program)
                    .args(["report", "-type=json", "results.bin"])
                    .current_dir(folder)
                    .output()
                    .map_err(|error| format!("vegeta report: {error}"))?;
                parsers::vegeta(&String::from_utf8_lossy(&report.stdout))
            }
        }
    }

    /// What it says of itself.
    fn version_arguments(self) -> &'static [&'static str] {
        match self {
            Ours | Other | H2load | Oha => &["--version"],
            Wrk | Wrk2 => &["-v"],
            Ab => &["-V"],
            Vegeta => &["-version"],
            K6 => &["version"],
            // It has no such option.
            Hey => &[],
        }
    }
}

/// Our own command; `length`: its options for a time or a number of requests.
pub fn ours(program: &str, load: &Load, url: &str, length: &str) -> Vec<String> {
    let shape = match (load.rate, load.think_ms) {
        (Some(rate), _) => format!("--rate {rate}/s"),
        (None, 0) => format!("--clients {}", load.connections),
        (None, think_ms) => format!("--clients {} --think {think_ms}ms", load.connections),
    };
    let loops = if load.loops == 1 { String::new() } else { format!(" --loops {}", load.loops) };
    let fresh = if load.is_fresh { " --connection fresh" } else { "" };
    let http2 = load.streams.map(|most| format!(" --http 2 --streams {most}")).unwrap_or_default();
    let quiet = if load.shows_progress { "" } else { " --quiet" };
    let insecure = if url.starts_with("https:") { " --insecure" } else { "" };
    let words = format!("load {url} {shape} {length}{fresh}{http2}{insecure}{loops} --json{quiet}");
    [program].into_iter().chain(words.split(' ')).map(str::to_string).collect()
}

fn k6_script(load: &Load, url: &str, seconds: u64) -> String {
    let (clients, rate) = (load.connections, load.rate.unwrap_or_default());
    format!(
        r#"import http from 'k6/http';
export const options = {{
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(99)', 'max'],
  scenarios: {{
    open: {{
      executor: 'constant-arrival-rate',
      rate: {rate},
      timeUnit: '1s',
      duration: '{seconds}s',
      preAllocatedVUs: {clients},
      maxVUs: {},
    }},
  }},
}};
export default function () {{ http.get('{url}'); }}
"#,
        4 * clients
    )
}

/// A tool as it is on this machine.
#[derive(Debug, Clone)]
pub struct Found {
    pub program: String,
    pub version: String,
}

/// Finds a tool, building it into `folder` when it is one of those that Debian doesn't have.
///
/// # Errors
/// Why it can't be had, in a sentence for the report.
pub fn find(tool: Tool, folder: &Path) -> std::result::Result<Found, String> {
    let found = match tool {
        Ours => Some(program()),
        Other => std::env::var_os("OTHER").map(PathBuf::from),
        _ => on_the_path(tool.name()),
    };
    let program = match (found, tool) {
        (Some(program), _) => program,
        (None, Oha | K6) => built(tool, folder)?,
        (None, Other | Wrk2 | Vegeta) => return Err("not on the PATH".to_string()),
        (None, _) => {
            return Err("not on the PATH; scripts/bootstrap bench-load installs it".to_string());
        }
    };
    let version = version(tool, &program);
    Ok(Found { program: program.display().to_string(), version })
}

fn on_the_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Builds it from its registry unless it was built before.
fn built(tool: Tool, folder: &Path) -> std::result::Result<PathBuf, String> {
    // A tool is run in another folder than ours.
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let programs = folder.join("bin");
    let program = programs.join(tool.name());
    if program.is_file() {
        return Ok(program);
    }
    let mut command = match tool {
        Oha => {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(cargo);
            command.args(["install", "oha", "--locked", "--quiet", "--root"]).arg(&folder);
            command.arg("--target-dir").arg(folder.join("build"));
            command
        }
        _ => {
            let mut command = Command::new("go");
            command.args(["install", "go.k6.io/k6@latest"]).env("GOBIN", &programs);
            command
        }
    };
    eprintln!("bench: building {} into {}", tool.name(), programs.display());
    let what = format!("could not be built with {}", command.get_program().to_string_lossy());
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() && program.is_file() {
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{what}: {}", last_line(&said).unwrap_or_default()))
}

/// The first line that it prints when asked; for one that can't be asked, its package's version.
fn version(tool: Tool, program: &Path) -> String {
    let mut command = Command::new(program);
    command.args(tool.version_arguments());
    if tool.version_arguments().is_empty() {
        command = Command::new("dpkg-query");
        command.args(["-W", "-f", "${Package} ${Version}", tool.name()]);
    }
    first_line(&mut command).unwrap_or_else(|| "unknown".to_string())
}

/// The first line of what a command prints, whatever its exit code.
pub fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_string())
}
