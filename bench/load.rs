//! The evidence for `sweetspot load`: it beside its peers, in one run, in turn, repeated; CPU,
//! memory, exactness, system calls, and what each makes of a server that stands still.
//!
//! Run by `make bench-load`; the variables that change its size are those of [`Settings`], `CASES`
//! and `TOOLS`. Every row is appended to a CSV file as it is measured, and what stands there is not
//! measured again: a run that was cut goes on. The report is written at the end, and also when it
//! was interrupted. `OTHER=PROGRAM TOOLS='sweetspot other'` sets another build of ours beside this
//! one, in turn: what a change costs.

mod case;
mod child;
mod counters;
mod measure;
mod nginx;
mod parsers;
mod report;
mod rows;
mod stalling;
mod tool;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use sweetspot::monitor::host;

use case::{Case, MANY, Under};
use measure::Bench;
use nginx::Nginx;
use report::Material;
use rows::Row;
use tool::{Found, TOOLS, Tool};

use crate::common::bonds::stay_on;
use crate::common::rows::Rows;
use crate::common::{Result, bars, interrupt, machine, options};

/// How long, how often and what; small figures try the bench out, the defaults are the evidence.
pub struct Settings {
    /// Rounds in which every tool has its turn (`PAIRS`).
    pairs: u32,
    /// Length of a turn (`SECONDS`).
    seconds: u64,
    /// Length of the short memory runs (`SHORT`).
    short: u64,
    /// Length of the long ones (`LONG`).
    long: u64,
    /// Whether instructions are counted, which takes a minute and valgrind (`CALLGRIND=1`).
    counts_instructions: bool,
    /// Where the report, the rows and built tools go (`FOLDER`).
    folder: PathBuf,
}

impl Settings {
    fn from_environment() -> Result<Self> {
        Ok(Self {
            pairs: options::at_least(1, "PAIRS", 7)?,
            seconds: options::at_least(1, "SECONDS", 5)?,
            short: options::at_least(1, "SHORT", 10)?,
            long: options::at_least(1, "LONG", 60)?,
            counts_instructions: options::is_on("CALLGRIND")?,
            folder: options::folder("target/bench-load")?,
        })
    }
}

/// The tools that were asked for, or why one can't be had.
type Tools = BTreeMap<Tool, std::result::Result<Found, String>>;

/// Who runs where.
#[derive(Clone, Copy)]
pub struct Cores {
    server: u16,
    generator: u16,
    /// The bench's own, which is the server's where there is no third.
    own: u16,
}

pub fn run() -> Result<()> {
    let settings = Settings::from_environment()?;
    let cases = cases(&settings)?;
    let tools = find_tools(&settings, &cases)?;
    let Some(Ok(ours)) = tools.get(&Tool::Ours) else { return Err("TOOLS lacks sweetspot".into()) };
    let build = machine::build(&ours.version, ours.program.as_ref())?;
    let mut rows = Rows::of_build(&settings.folder.join("rows.csv"), &build)?;

    let cores = choose_cores()?;
    interrupt::install();
    stay_on(&[cores.own])?;
    // The tools are to inherit it.
    sweetspot::load::raise_descriptor_limit();
    let bench = Bench { cores, nginx: Nginx::start(cores.server)? };
    let skipped = skipped(&bench, &cases, ours)?;
    let outcome = cases
        .iter()
        .filter(|case| !skipped.contains_key(case.name))
        .try_for_each(|case| rounds(&bench, case, &tools, &mut rows));

    let mut machine = machine(cores, ours);
    let floor_mb = bench.memory_floor_bytes()? as f64 / 1e6;
    machine.push(format!("the least peak memory that can be seen: {floor_mb:.1} MB"));
    let material =
        Material { machine, cores, cases: &cases, tools: &tools, skipped: &skipped, rows: &rows };
    let text = report::text(&material);
    fs::write(settings.folder.join("report.md"), &text)?;
    println!("{text}");
    outcome?;
    let held: Vec<bars::Bar> =
        cases.iter().flat_map(|case| report::held(&material, case)).collect();
    bars::check(&held)
}

/// Those that `CASES` names, by their names or by their groups': `memory` names all that begin with
/// `memory-`.
fn cases(settings: &Settings) -> Result<Vec<Case>> {
    let mut cases = case::all(settings);
    let group = |name: &'static str| name.split('-').next().unwrap_or(name);
    let there: Vec<&str> = cases.iter().flat_map(|case| [case.name, group(case.name)]).collect();
    let wanted = options::names("CASES", "", &there)?;
    cases.retain(|case| {
        wanted.is_empty() || wanted.iter().any(|it| it == case.name || it == group(case.name))
    });
    if std::env::var_os("OTHER").is_some() {
        cases.iter_mut().for_each(|case| case.tools.insert(1, Tool::Other));
    }
    Ok(cases)
}

/// All rounds of a case; the tools change places from round to round: A B, B A, A B.
fn rounds(bench: &Bench, case: &Case, tools: &Tools, rows: &mut Rows<Row>) -> Result<()> {
    for round in 1..=case.rounds {
        let mut turns = case.tools.clone();
        if round % 2 == 0 {
            turns.reverse();
        }
        for tool in turns {
            let Some(Ok(found)) = tools.get(&tool) else { continue };
            if rows.has(&Row::new(case.name, tool.name(), round, case.seconds)) {
                continue;
            }
            interrupt::check()?;
            eprintln!("bench: {} {round}/{} {}", case.name, case.rounds, tool.name());
            rows.add(bench.run(case, tool, found, round)?)?;
        }
    }
    Ok(())
}

/// Finds what the cases need; what has to be built is built now, before anything is measured.
fn find_tools(settings: &Settings, cases: &[Case]) -> Result<Tools> {
    let wanted = options::names("TOOLS", "", &TOOLS.map(Tool::name))?;
    if wanted.iter().any(|name| name == Tool::Other.name()) && std::env::var_os("OTHER").is_none() {
        return Err("TOOLS has other: name its program with OTHER".into());
    }
    let is_needed = |tool: &Tool| {
        let is_wanted = wanted.is_empty() || wanted.iter().any(|name| name == tool.name());
        is_wanted && cases.iter().any(|case| case.tools.contains(tool))
    };
    let folder = settings.folder.join("tools");
    Ok(TOOLS.into_iter().filter(is_needed).map(|it| (it, tool::find(it, &folder))).collect())
}

/// Why some cases can't be measured here, by their names.
fn skipped(bench: &Bench, cases: &[Case], ours: &Found) -> Result<BTreeMap<&'static str, String>> {
    let mut skipped = BTreeMap::new();
    for case in cases {
        let why = match (case.server, case.under) {
            _ if case.load.connections >= MANY => too_few_descriptors(),
            (case::Server::NginxTls, _) => bench
                .https_refusal(ours)?
                .map(|said| format!("this build of sweetspot refuses https ({said})")),
            (_, Under::Strace) => missing("strace"),
            (_, Under::Callgrind) => missing("valgrind"),
            _ => None,
        };
        if let Some(why) = why {
            eprintln!("bench: {} is left out: {why}", case.name);
            skipped.insert(case.name, why);
        }
    }
    Ok(skipped)
}

fn missing(program: &str) -> Option<String> {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    (!is_there).then(|| format!("{program} is not on the PATH"))
}

fn too_few_descriptors() -> Option<String> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives through the call, and a refusal leaves it as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let needed = u64::from(MANY) + 500;
    (limit.rlim_cur < needed)
        .then(|| format!("the limit on open files is {}, and it takes {needed}", limit.rlim_cur))
}

fn choose_cores() -> Result<Cores> {
    match host::allowed_cores(0)[..] {
        [server, generator] => Ok(Cores { server, generator, own: server }),
        [server, generator, own, ..] => Ok(Cores { server, generator, own }),
        _ => Err("this takes two cores: one for the server and one for the tool".into()),
    }
}

fn machine(cores: Cores, ours: &Found) -> Vec<String> {
    let [hardware, kernel] = machine::hardware();
    let mut nginx = Command::new(nginx::program().unwrap_or("nginx"));
    let server = tool::first_line(nginx.arg("-v")).unwrap_or_default();
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = averages.split(' ').next().unwrap_or_default();
    vec![
        format!("{}, commit {}", ours.version, machine::commit()),
        hardware,
        kernel,
        format!("server: {server}, one process on core {}, replies of 11 bytes", cores.server),
        format!("tools: on core {}; the bench itself on core {}", cores.generator, cores.own),
        format!("load average at the end: {load}"),
    ]
}
