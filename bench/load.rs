//! The evidence for `sweetspot load`: it beside its peers, in one run, in turn, repeated; CPU,
//! memory, exactness, system calls, and what each makes of a server that stands still.
//!
//! Run by `make bench-load`; the variables that change its size are in load/settings.rs. Every row
//! is appended to a CSV file as it is measured, and what stands there is not measured again: a run
//! that was cut goes on. The report is written at the end, and also when it was interrupted.

#[path = "load/case.rs"]
mod case;
#[path = "load/child.rs"]
mod child;
#[path = "load/counters.rs"]
mod counters;
#[path = "common/environment.rs"]
mod environment;
#[path = "load/figures.rs"]
mod figures;
#[path = "common/interrupt.rs"]
mod interrupt;
#[path = "common/machine.rs"]
mod machine;
#[path = "load/measure.rs"]
mod measure;
#[path = "load/nginx.rs"]
mod nginx;
#[path = "load/parsers.rs"]
mod parsers;
#[path = "load/report.rs"]
mod report;
#[path = "load/rows.rs"]
mod rows;
#[path = "load/settings.rs"]
mod settings;
#[path = "load/stalling.rs"]
mod stalling;
#[path = "load/tool.rs"]
mod tool;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::Command;

use sweetspot::monitor::host;

use case::{Case, MANY, Under};
use measure::Bench;
use nginx::Nginx;
use report::Material;
use rows::{Row, Rows};
use settings::Settings;
use tool::{Found, TOOLS, Tool};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

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

fn main() -> Result<()> {
    let settings = Settings::from_environment()?;
    let mut cases = case::all(&settings);
    let names = |cases: &[Case]| cases.iter().map(|case| case.name).collect::<Vec<_>>();
    settings.check(&names(&cases), &TOOLS.map(Tool::name))?;
    cases.retain(|case| settings.wants_case(case.name));
    fs::create_dir_all(&settings.folder)?;
    let tools = find_tools(&settings, &cases);
    let Some(Ok(ours)) = tools.get(&Tool::Ours) else { return Err("TOOLS lacks sweetspot".into()) };
    let mut rows = Rows::open(&settings.folder.join("rows.csv"), &build(ours)?)?;

    let cores = choose_cores()?;
    interrupt::install();
    child::stay_on(cores.own)?;
    // The tools are to inherit it.
    sweetspot::load::raise_descriptor_limit();
    let bench = Bench { cores, nginx: Nginx::start(cores.server)? };
    let skipped = skipped(&bench, &cases, ours)?;
    let outcome = cases
        .iter()
        .filter(|case| !skipped.contains_key(case.name))
        .try_for_each(|case| run(&bench, case, &tools, &mut rows));

    let mut machine = machine(cores, ours);
    let floor_mb = bench.memory_floor_bytes()? as f64 / 1e6;
    machine.push(format!("the least peak memory that can be seen: {floor_mb:.1} MB"));
    let material =
        Material { machine, cores, cases: &cases, tools: &tools, skipped: &skipped, rows: &rows };
    let text = report::text(&material);
    fs::write(settings.folder.join("report.md"), &text)?;
    println!("{text}");
    outcome
}

/// All rounds of a case; the tools change places from round to round: A B, B A, A B.
fn run(bench: &Bench, case: &Case, tools: &Tools, rows: &mut Rows) -> Result<()> {
    for round in 1..=case.rounds {
        let mut turns: Vec<Tool> = case.tools.to_vec();
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
fn find_tools(settings: &Settings, cases: &[Case]) -> Tools {
    let is_needed = |tool: &Tool| cases.iter().any(|case| case.tools.contains(tool));
    let is_wanted = |tool: &Tool| is_needed(tool) && settings.wants_tool(tool.name());
    let folder = settings.folder.join("tools");
    TOOLS.into_iter().filter(is_wanted).map(|tool| (tool, tool::find(tool, &folder))).collect()
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

/// What makes two runs comparable: the program, the bench itself, and the machine.
fn build(ours: &Found) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(&ours.program)?.hash(&mut hasher);
    fs::read(std::env::current_exe()?)?.hash(&mut hasher);
    let (cpu, kernel) = (host::cpu_model(), host::kernel());
    Ok(format!("{} {:016x} on {cpu}, kernel {kernel}", ours.version, hasher.finish()))
}

fn machine(cores: Cores, ours: &Found) -> Vec<String> {
    let [hardware, kernel] = machine::hardware();
    let mut nginx = Command::new(nginx::program().unwrap_or("nginx"));
    let server = tool::first_line(nginx.arg("-v")).unwrap_or_default();
    let load = host::load_averages().map_or(String::new(), |load| format!("{:.2}", load[0]));
    vec![
        format!("{}, commit {}", ours.version, machine::commit()),
        hardware,
        kernel,
        format!("server: {server}, one process on core {}, replies of 11 bytes", cores.server),
        format!("tools: on core {}; the bench itself on core {}", cores.generator, cores.own),
        format!("load average at the end: {load}"),
    ]
}
