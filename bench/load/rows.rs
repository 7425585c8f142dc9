//! What was measured, a line a run, in a file that is appended to: what stands there is not
//! measured again, so that a bench that was cut goes on.
//!
//! In: figures by name. Out: the same, later. A file of another build is put aside, so that the
//! figures of two programs are never mixed.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The figures a row may have, in the file's order. Seconds, bytes, requests per second.
const FIGURES: &[&str] = &[
    "requests",
    "server_requests",
    "errors",
    "throughput_rps",
    "cpu_user_s",
    "cpu_system_s",
    "cpu_s_per_request",
    "cpu_user_s_per_request",
    "rss_bytes_max",
    "connections",
    "latency_s_p50",
    "latency_s_p99",
    "latency_s_max",
    "send_lag_s_p50",
    "send_lag_s_p99",
    "clean_seconds",
    "exact_share",
    "exact_share_planned",
    "stolen_s",
    "wall_s",
    "system_calls_per_request",
    "instructions_per_request",
];

/// One run of one tool.
#[derive(Debug, Clone)]
pub struct Row {
    pub case: String,
    pub tool: String,
    pub round: u32,
    /// How long it was asked to run.
    pub seconds: u64,
    /// By the names of [`FIGURES`].
    figures: BTreeMap<String, f64>,
    /// What was wrong with the run or stands beside it; empty when nothing.
    pub note: String,
    /// No figures but what it used: it failed, or its output could not be read.
    pub is_error: bool,
}

impl Row {
    pub fn new(case: &str, tool: &str, round: u32, seconds: u64) -> Self {
        let (case, tool) = (case.to_string(), tool.to_string());
        let (figures, note) = (BTreeMap::new(), String::new());
        Self { case, tool, round, seconds, figures, note, is_error: false }
    }

    /// Sets a figure of [`FIGURES`].
    pub fn set(&mut self, name: &str, value: f64) {
        assert!(FIGURES.contains(&name), "{name} has no column");
        self.figures.insert(name.to_string(), value);
    }

    pub fn set_if(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }

    /// Adds a sentence.
    pub fn remark(&mut self, text: &str) {
        let separator = if self.note.is_empty() { "" } else { "; " };
        // A row is a line, and its note one field.
        self.note += &format!("{separator}{text}").replace([',', '\n', '\r'], " ");
    }

    fn head() -> String {
        format!("case,tool,round,seconds,state,{},note", FIGURES.join(","))
    }

    fn line(&self) -> String {
        let state = if self.is_error { "error" } else { "ok" };
        let text = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let figures: Vec<String> = FIGURES.iter().map(|name| text(self.get(name))).collect();
        let Self { case, tool, round, seconds, note, .. } = self;
        format!("{case},{tool},{round},{seconds},{state},{},{note}", figures.join(","))
    }

    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != FIGURES.len() + 6 {
            return None;
        }
        let (round, seconds) = (fields[2].parse().ok()?, fields[3].parse().ok()?);
        let mut row = Self::new(fields[0], fields[1], round, seconds);
        row.is_error = fields[4] == "error";
        for (name, text) in FIGURES.iter().zip(&fields[5..]) {
            row.set_if(name, text.parse().ok());
        }
        row.note = fields[fields.len() - 1].to_string();
        Some(row)
    }
}

/// All rows of this build, in the file too.
pub struct Rows {
    path: PathBuf,
    all: Vec<Row>,
}

impl Rows {
    /// Reads the rows there if they are of this build; otherwise begins anew.
    pub fn open(path: &Path, build: &str) -> io::Result<Self> {
        let opening = format!("# {build}");
        let text = fs::read_to_string(path).unwrap_or_default();
        let is_ours = text.lines().next() == Some(opening.as_str());
        if !is_ours {
            if !text.is_empty() {
                put_aside(path)?;
            }
            fs::write(path, format!("{opening}\n{}\n", Row::head()))?;
        }
        let all = text.lines().filter(|_| is_ours).filter_map(Row::read).collect();
        Ok(Self { path: path.to_path_buf(), all })
    }

    /// Appends a row; one that failed before gives way to it in the report.
    pub fn add(&mut self, row: Row) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        writeln!(file, "{}", row.line())?;
        self.all.push(row);
        Ok(())
    }

    /// Was this run made, for so long, and did it succeed?
    pub fn has(&self, wanted: &Row) -> bool {
        let is_same = |row: &&Row| {
            (&row.case, &row.tool, row.round, row.seconds)
                == (&wanted.case, &wanted.tool, wanted.round, wanted.seconds)
        };
        self.all.iter().filter(is_same).any(|row| !row.is_error)
    }

    /// The rows of a case as it is now, with the last word on each run.
    pub fn of(&self, case: &str, seconds: u64) -> Vec<&Row> {
        let mut last: BTreeMap<(&str, u32), &Row> = BTreeMap::new();
        for row in self.all.iter().filter(|row| row.case == case && row.seconds == seconds) {
            last.insert((row.tool.as_str(), row.round), row);
        }
        last.into_values().collect()
    }
}

/// Keeps an older file under the first free name.
fn put_aside(path: &Path) -> io::Result<()> {
    let mut names = (1..u32::MAX).map(|number| path.with_file_name(format!("rows-{number}.csv")));
    let aside = names.find(|name| !name.exists());
    let aside = aside.ok_or_else(|| io::Error::other("no name is left for the older rows"))?;
    eprintln!("bench: the rows there are of another build; they are now in {}", aside.display());
    fs::rename(path, &aside)
}
