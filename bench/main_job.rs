//! The evidence for the main job: a full grid of capacities on the demo app, then `tune` three
//! times, then the grid's best and tune's choices measured again, interleaved, on fresh starts.
//!
//! Run by `make bench-main-job`. Every row is appended to a CSV file as it is measured, and a row
//! that is there already is not measured again: a run that was cut off goes on where it stopped.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::place::Place;
use sweetspot::place::local::{Local, LocalSettings};
use sweetspot::plan::{self, Plan};
use sweetspot::search::CapacitySearch;
use sweetspot::session::here;
use sweetspot::session::order::order;
use sweetspot::stats;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{Configuration, Goals, StopSignal};
use sweetspot::trial::{Outcome, Runner};

const SLO: &str = "p95<200ms,errors<0.1%";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long and how often; small figures try the program out, the defaults are the evidence.
struct Sizes {
    seconds_per_cell: u64,
    replicates: u32,
    tunes: u32,
    blocks: u32,
    tune_budget: String,
    folder: PathBuf,
    workers: Vec<u16>,
    threads: Vec<u16>,
}

fn main() -> Result<()> {
    let sizes = sizes()?;
    fs::create_dir_all(&sizes.folder)?;
    let mut rows = Rows::open(&sizes.folder.join("rows.csv"))?;
    measure_grid(&sizes, &mut rows)?;
    let choices = run_tunes(&sizes, &mut rows)?;
    let best = best_of_grid(&rows).ok_or("no cell could be measured")?;
    measure_blocks(&sizes, &mut rows, best, &choices)?;
    let report = report(&sizes, &rows, best, &choices);
    fs::write(sizes.folder.join("report.md"), &report)?;
    println!("{report}");
    Ok(())
}

fn sizes() -> Result<Sizes> {
    let number = |name: &str, default: u64| -> Result<u64> {
        std::env::var(name).map_or(Ok(default), |text| Ok(text.parse()?))
    };
    let list = |name: &str, default: &str| -> Result<Vec<u16>> {
        let text = std::env::var(name).unwrap_or_else(|_| default.to_string());
        text.split(',').map(|one| Ok(one.parse()?)).collect()
    };
    Ok(Sizes {
        seconds_per_cell: number("SECONDS_PER_CELL", 60)?,
        replicates: number("REPLICATES", 3)? as u32,
        tunes: number("TUNES", 3)? as u32,
        blocks: number("BLOCKS", 6)? as u32,
        tune_budget: std::env::var("TUNE_BUDGET").unwrap_or_else(|_| "3m30s".to_string()),
        folder: std::env::var_os("FOLDER").map_or("target/main-job".into(), PathBuf::from),
        workers: list("WORKERS", "1,2,3,4")?,
        threads: list("THREADS", "1,2,4,8")?,
    })
}

/// What was measured, by phase: `grid` and `blocks` hold capacities, `tune` decisions.
struct Rows {
    path: PathBuf,
    all: Vec<Row>,
}

#[derive(Clone)]
struct Row {
    phase: String,
    round: u32,
    configuration: Configuration,
    capacity_rps: f64,
    low_rps: f64,
    high_rps: f64,
    seconds: f64,
}

impl Rows {
    fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let all = text.lines().filter_map(Row::read).collect();
        Ok(Self { path: path.to_path_buf(), all })
    }

    fn find(&self, phase: &'static str, round: u32, cell: Configuration) -> Option<&Row> {
        self.of(phase).find(|row| row.round == round && row.configuration == cell)
    }

    fn of(&self, phase: &'static str) -> impl Iterator<Item = &Row> {
        self.all.iter().filter(move |row| row.phase == phase)
    }

    fn add(&mut self, row: Row) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", row.write())?;
        eprintln!("{}", row.write());
        self.all.push(row);
        Ok(())
    }
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let phase = fields.next()?.to_string();
        let round = fields.next()?.parse().ok()?;
        let workers = fields.next()?.parse().ok()?;
        let threads = fields.next()?.parse().ok()?;
        let mut number = || fields.next()?.parse().ok();
        Some(Self {
            phase,
            round,
            configuration: Configuration::new(workers, threads).ok()?,
            capacity_rps: number()?,
            low_rps: number()?,
            high_rps: number()?,
            seconds: number()?,
        })
    }

    fn write(&self) -> String {
        let c = self.configuration;
        format!(
            "{},{},{},{},{:.2},{:.2},{:.2},{:.1}",
            self.phase,
            self.round,
            c.workers,
            c.threads,
            self.capacity_rps,
            self.low_rps,
            self.high_rps,
            self.seconds
        )
    }
}

fn grid(sizes: &Sizes) -> Vec<Configuration> {
    let all = sizes.workers.iter().flat_map(|&w| sizes.threads.iter().map(move |&t| (w, t)));
    all.filter_map(|(w, t)| Configuration::new(w, t).ok()).collect()
}

fn measure_grid(sizes: &Sizes, rows: &mut Rows) -> Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for round in 1..=sizes.replicates {
        let mut order = grid(sizes);
        order.shuffle(&mut random);
        for configuration in order {
            measure(sizes, rows, "grid", round, configuration)?;
        }
    }
    Ok(())
}

fn measure_blocks(
    sizes: &Sizes,
    rows: &mut Rows,
    best: Configuration,
    choices: &[Configuration],
) -> Result<()> {
    let mut contenders: Vec<Configuration> = choices.to_vec();
    contenders.push(best);
    contenders.sort();
    contenders.dedup();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for round in 1..=sizes.blocks {
        let mut order = contenders.clone();
        order.shuffle(&mut random);
        for configuration in order {
            measure(sizes, rows, "blocks", round, configuration)?;
        }
    }
    Ok(())
}

/// One capacity on one fresh start, unless the row is there already.
fn measure(
    sizes: &Sizes,
    rows: &mut Rows,
    phase: &'static str,
    round: u32,
    configuration: Configuration,
) -> Result<()> {
    if rows.find(phase, round, configuration).is_some() {
        return Ok(());
    }
    let goals = Goals::one(SLO.parse()?);
    let plan = demo_plan()?;
    let settings = LocalSettings { guardian: program(), ..here::settings(&plan)? };
    let mut place = Local::new(settings, StopSignal::default())?;
    let cores = place.machine().cores.get();
    let mut search = CapacitySearch::new(
        configuration,
        plan.arrivals,
        Duration::from_secs(sizes.seconds_per_cell),
    );
    let mut runner = Runner::new(&mut place, 0);
    let mut id = 0;
    while let Some(request) = search.next() {
        id += 1;
        let seed = u64::from(round) * 1000 + u64::from(id);
        let order = order(&request, seed, &goals);
        match runner.run(&order, &mut |_| {})? {
            Outcome::BootFailed(failure) => return Err(failure.message.into()),
            Outcome::Recorded(record) => {
                let ended_s = runner.elapsed().as_secs_f64();
                let purpose = request.purpose;
                let context = Context {
                    id,
                    purpose,
                    goals: &goals,
                    cores,
                    unloaded_s: None,
                    has_proxy: false,
                    has_threads: true,
                    ended_s,
                };
                search.tell(&summarise(&record, &context));
            }
        }
    }
    runner.finish()?;
    let seconds = runner.elapsed().as_secs_f64();
    let rps = search.capacity_rps().ok_or("no window was valid")?;
    rows.add(Row {
        phase: phase.to_string(),
        round,
        configuration,
        capacity_rps: rps.value,
        low_rps: rps.low,
        high_rps: rps.high,
        seconds,
    })
}

fn demo_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")
}

fn demo_plan() -> Result<Plan> {
    let typed = plan::Typed { slo: Some(SLO.to_string()), ..plan::Typed::default() };
    let surroundings = plan::Surroundings { folder: demo_folder(), ..here::surroundings()? };
    Ok(plan::resolve(&typed, &surroundings)?)
}

/// The command as users run it.
fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sweetspot"))
}

/// Runs the command itself, as a user would; its choice goes into a row.
fn run_tunes(sizes: &Sizes, rows: &mut Rows) -> Result<Vec<Configuration>> {
    for round in 1..=sizes.tunes {
        if rows.of("tune").any(|row| row.round == round) {
            continue;
        }
        let store = sizes.folder.join(format!("tune-{round}.db"));
        let output = Command::new(program())
            .args(["tune", "--yes", "--json"])
            .args(["--workers", &comma_list(&sizes.workers)])
            .args(["--threads", &comma_list(&sizes.threads)])
            .args(["--slo", SLO, "--budget", &sizes.tune_budget, "--seed", &round.to_string()])
            .arg("--app")
            .arg(demo_folder())
            .arg("--store")
            .arg(&store)
            .output()?;
        let result: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("tune: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
        fs::write(sizes.folder.join(format!("tune-{round}.json")), &output.stdout)?;
        let decision = &result["decision"];
        let number = |value: &serde_json::Value| value.as_f64().ok_or("no decision");
        rows.add(Row {
            phase: "tune".to_string(),
            round,
            configuration: Configuration::new(
                number(&decision["workers"])? as u16,
                number(&decision["threads"])? as u16,
            )?,
            capacity_rps: number(&decision["capacity_rps"])?,
            low_rps: number(&decision["capacity_rps_interval"][0])?,
            high_rps: number(&decision["capacity_rps_interval"][1])?,
            seconds: number(&result["elapsed_s"])?,
        })?;
    }
    Ok(rows.of("tune").map(|row| row.configuration).collect())
}

fn comma_list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

fn capacities(rows: &Rows, phase: &'static str) -> BTreeMap<Configuration, Vec<f64>> {
    let mut cells: BTreeMap<Configuration, Vec<f64>> = BTreeMap::new();
    for row in rows.of(phase) {
        cells.entry(row.configuration).or_default().push(row.capacity_rps);
    }
    cells
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

fn best_of_grid(rows: &Rows) -> Option<Configuration> {
    let cells = capacities(rows, "grid");
    cells.iter().max_by(|a, b| median(a.1).total_cmp(&median(b.1))).map(|(c, _)| *c)
}

fn report(sizes: &Sizes, rows: &Rows, best: Configuration, choices: &[Configuration]) -> String {
    let mut text = String::new();
    let cells = capacities(rows, "grid");
    let best_rps = cells.get(&best).map_or(0.0, |values| median(values));
    let below = cells.values().filter(|values| median(values) < 0.8 * best_rps).count();
    text += "| workers \\ threads |";
    sizes.threads.iter().for_each(|t| text += &format!(" {t} |"));
    text += &format!("\n|---|{}\n", "---|".repeat(sizes.threads.len()));
    for &w in &sizes.workers {
        text += &format!("| {w} |");
        for &t in &sizes.threads {
            let values = Configuration::new(w, t).ok().and_then(|c| cells.get(&c));
            let cell = values.map_or("-".to_string(), |v| cell_text(v));
            text += &format!(" {cell} |");
        }
        text += "\n";
    }
    text += &format!(
        "\nBest of the grid: {best}, {best_rps:.0}/s; {below} of {} cells are under 80 % of \
         it.\n\n",
        cells.len()
    );
    text += "| tune | choice | its capacity | seconds |\n|---|---|---|---|\n";
    for row in rows.of("tune") {
        text += &format!(
            "| {} | {} | {:.0} [{:.0}, {:.0}] | {:.0} |\n",
            row.round, row.configuration, row.capacity_rps, row.low_rps, row.high_rps, row.seconds
        );
    }
    text += "\n| choice | ratio to the grid's best, blocks | 95 % t-interval of the log-ratios |\n";
    text += "|---|---|---|\n";
    choices.iter().for_each(|&choice| text += &ratio_line(rows, choice, best));
    text
}

fn cell_text(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.0} ({low:.0}..{high:.0})", median(values))
}

fn ratio_line(rows: &Rows, choice: Configuration, best: Configuration) -> String {
    if choice == best {
        return format!("| {choice} | the grid's best itself | |\n");
    }
    let pairs: Vec<(f64, f64)> = rows
        .of("blocks")
        .filter(|row| row.configuration == choice)
        .filter_map(|row| {
            let other = rows.find("blocks", row.round, best)?;
            Some((row.capacity_rps, other.capacity_rps))
        })
        .collect();
    match stats::log_ratio_interval(&pairs, 0.95) {
        Some(r) => format!(
            "| {choice} | {:.3}, {} blocks | {:.3} to {:.3} |\n",
            r.value, r.count, r.low, r.high
        ),
        None => format!("| {choice} | too few blocks | |\n"),
    }
}
