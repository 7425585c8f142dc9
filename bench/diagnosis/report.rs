//! What was named against what was true: a table, and its sums.
//!
//! In: rows. Out: text, and whether it is good enough. Computes only; tests/it/bench_diagnosis.rs
//! tests it. (A bench without a harness runs no tests of its own.)

use std::collections::BTreeMap;

use serde::Serialize;
use sweetspot::terms::LimitKind;

use crate::common::table::table;

/// How many situations may go unnamed, or be named wrong without being sure.
const MISSES: usize = 2;

/// Above this confidence a wrong name misleads.
const SURE: f64 = 0.5;

/// One size of a situation.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub situation: String,
    pub size: String,
    pub is_control: bool,
    pub expected: LimitKind,
    /// `None`: it could not be measured, and the note says why.
    pub named: Option<LimitKind>,
    /// 0..=1.
    pub confidence: f64,
    pub evidence: String,
    /// Median latency with one client.
    pub unloaded_s: Option<f64>,
    /// Under the load that is to show the limit.
    pub latency_s_p50: Option<f64>,
    pub throughput_rps: Option<f64>,
    pub is_valid: Option<bool>,
    /// What the trial says of its load, in a sentence.
    pub verdict: String,
    /// By what it was measured.
    pub build: String,
    pub note: String,
}

impl Row {
    /// It names the truth. A control may also say that it doesn't know.
    pub fn is_right(&self) -> bool {
        match self.named {
            Some(LimitKind::Unknown) if self.is_control => true,
            named => named == Some(self.expected),
        }
    }

    /// It names something else, and is sure of it.
    pub fn misleads(&self) -> bool {
        self.named.is_some() && !self.is_right() && self.confidence > SURE
    }

    /// A row of the table.
    pub fn cells(&self) -> [String; 7] {
        let Self { situation, size, confidence, .. } = self;
        let named = self.named.map_or("not measured".to_string(), name);
        let right = match (self.is_right(), self.misleads()) {
            (true, _) => "yes",
            (false, true) => "**no, and sure**",
            (false, false) => "**no**",
        };
        let expected = match (self.is_control, self.expected) {
            (true, kind) if kind != LimitKind::Unknown => format!("{} or unknown", name(kind)),
            (_, kind) => name(kind),
        };
        // A row is a line, and its evidence one cell.
        let evidence = if self.named.is_some() { &self.evidence } else { &self.note };
        let evidence = evidence.replace(['|', '\n', '\r'], " ");
        let confidence = format!("{confidence:.2}");
        let [situation, size] = [situation, size].map(String::clone);
        [situation, size, expected, named, confidence, right.to_string(), evidence]
    }
}

/// As it is called in JSON: every kind is one word.
fn name(kind: LimitKind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// How many of which.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub situations: usize,
    /// At all of their sizes.
    pub right: usize,
    pub controls: usize,
    pub controls_right: usize,
    /// Rows that name something else and are sure of it, controls among them.
    pub misleading: usize,
}

impl Sums {
    /// Counts.
    pub fn of(rows: &[Row]) -> Self {
        let mut whole: BTreeMap<(&str, bool), bool> = BTreeMap::new();
        for row in rows {
            let key = (row.situation.as_str(), row.is_control);
            *whole.entry(key).or_insert(true) &= row.is_right();
        }
        let of = |is_control: bool| -> Vec<bool> {
            let these = whole.iter().filter(|(key, _)| key.1 == is_control);
            these.map(|(_, is_right)| *is_right).collect()
        };
        let right = |all: &[bool]| all.iter().filter(|is_right| **is_right).count();
        let (situations, controls) = (of(false), of(true));
        Self {
            situations: situations.len(),
            right: right(&situations),
            controls: controls.len(),
            controls_right: right(&controls),
            misleading: rows.iter().filter(|row| row.misleads()).count(),
        }
    }

    /// # Errors
    /// What is not good enough.
    pub fn check(&self) -> Result<(), String> {
        let mut faults = Vec::new();
        let needed = self.situations.saturating_sub(MISSES);
        if self.right < needed {
            let (right, all) = (self.right, self.situations);
            faults.push(format!("{right} of {all} situations are named right, not {needed}"));
        }
        if self.controls_right < self.controls {
            let (right, all) = (self.controls_right, self.controls);
            faults.push(format!("{right} of {all} controls are right"));
        }
        if self.misleading > 0 {
            faults.push(format!("{} rows are wrong and sure", self.misleading));
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }
}

const HEAD: [&str; 7] =
    ["situation", "size", "expected", "named", "confidence", "right", "evidence"];

/// The page: what it was measured on, the table, and the sums.
pub fn text(machine: &[String], rows: &[Row]) -> String {
    let mut text = String::from("# What the diagnosis names on real servers\n\n");
    machine.iter().for_each(|line| text += &format!("- {line}\n"));
    for (title, is_control) in [("Situations", false), ("Controls", true)] {
        let rows = rows.iter().filter(|row| row.is_control == is_control).map(Row::cells);
        text += &format!("\n## {title}\n\n{}", table(&HEAD, rows));
    }
    let sums = Sums::of(rows);
    text += &format!(
        "\nNamed right at every size: {} of {} situations. Controls right: {} of {}. Wrong with a \
         confidence above {SURE}: {}.\n",
        sums.right, sums.situations, sums.controls_right, sums.controls, sums.misleading
    );
    text
}
