//! What was measured, one row of a CSV file each.
//!
//! In: rows as they are measured, appended. Out: rows, by workload and phase.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sweetspot::terms::Configuration;

use crate::Result;

const HEADER: &str = "workload,phase,round,workers,threads,capacity_rps,low_rps,high_rps,seconds,\
                      load_s,asked_s";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A capacity of a cell.
    Grid,
    /// What the command chose.
    Tune,
    /// A capacity of a contender, measured again.
    Blocks,
}

const PHASES: [(Phase, &str); 3] =
    [(Phase::Grid, "grid"), (Phase::Tune, "tune"), (Phase::Blocks, "blocks")];

#[derive(Debug, Clone)]
pub struct Row {
    pub workload: String,
    pub phase: Phase,
    /// From 1.
    pub round: u32,
    /// `None`, `0,0` in the file: a tune that chose nothing.
    pub configuration: Option<Configuration>,
    /// Requests/s with the 95 % interval; 0: there is none, or it could not be measured.
    pub capacity_rps: f64,
    pub low_rps: f64,
    pub high_rps: f64,
    /// By the clock, starts included.
    pub seconds: f64,
    /// Under load.
    pub load_s: f64,
    /// The load that it was given, or the tune's budget.
    pub asked_s: f64,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(',');
        let workload = fields.next()?.to_string();
        let name = fields.next()?;
        let (phase, _) = PHASES.into_iter().find(|(_, one)| *one == name)?;
        let round = fields.next()?.parse().ok()?;
        let (workers, threads) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let mut number = || fields.next()?.parse().ok();
        Some(Self {
            workload,
            phase,
            round,
            configuration: Configuration::new(workers, threads).ok(),
            capacity_rps: number()?,
            low_rps: number()?,
            high_rps: number()?,
            seconds: number()?,
            load_s: number()?,
            asked_s: number()?,
        })
    }

    fn write(&self) -> String {
        let phase = PHASES.iter().find(|(one, _)| *one == self.phase).map_or("", |(_, name)| name);
        let counts = self.configuration.map(|c| (c.workers.get(), c.threads.get()));
        let (workers, threads) = counts.unwrap_or_default();
        format!(
            "{},{phase},{},{workers},{threads},{:.2},{:.2},{:.2},{:.1},{:.1},{:.0}",
            self.workload,
            self.round,
            self.capacity_rps,
            self.low_rps,
            self.high_rps,
            self.seconds,
            self.load_s,
            self.asked_s
        )
    }
}

pub struct Rows {
    path: PathBuf,
    all: Vec<Row>,
}

impl Rows {
    /// # Errors
    /// A line of the file is no row: it would be measured again without a word.
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let read = |(index, line)| {
            let wrong = || format!("{}, line {}: '{line}' is no row", path.display(), index + 1);
            Row::read(line).ok_or_else(wrong)
        };
        let lines = text.lines().enumerate().filter(|(_, line)| *line != HEADER);
        let all = lines.map(read).collect::<std::result::Result<_, _>>()?;
        Ok(Self { path: path.to_path_buf(), all })
    }

    pub fn of(&self, workload: &str, phase: Phase) -> impl Iterator<Item = &Row> {
        self.all.iter().filter(move |row| row.workload == workload && row.phase == phase)
    }

    pub fn find(
        &self,
        workload: &str,
        phase: Phase,
        round: u32,
        cell: Configuration,
    ) -> Option<&Row> {
        self.of(workload, phase).find(|row| row.round == round && row.configuration == Some(cell))
    }

    /// # Errors
    /// Capacities of this phase were measured with another load: they are not to be mixed.
    pub fn check_asked(&self, workload: &str, phase: Phase, asked_s: u64) -> Result<()> {
        let other = self.of(workload, phase).find(|row| row.asked_s != asked_s as f64);
        other.map_or(Ok(()), |row| {
            let there = format!("{workload} has capacities of {} s a cell", row.asked_s);
            let here = self.path.display();
            Err(format!("{here}: {there}, not {asked_s}; go on with these, or in another FOLDER")
                .into())
        })
    }

    /// Appended in one piece, so that no cut leaves half a row.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let is_new = !self.path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let line = row.write();
        let head = if is_new { format!("{HEADER}\n") } else { String::new() };
        file.write_all(format!("{head}{line}\n").as_bytes())?;
        eprintln!("{line}");
        self.all.push(row);
        Ok(())
    }
}
