//! The workers x threads map: what each configuration holds, measured or predicted, or why it can't
//! run.
//!
//! In: a [`Story`]. Out: a [`Map`], and its cells as short text. Computes only.

use std::collections::{BTreeMap, BTreeSet};

use super::Story;
use crate::report::figures;
use crate::terms::{BootCause, Configuration, Obstacle, Stated, Verdict};

/// What is known of one configuration. Rates in requests/s within the SLO.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Measured: its capacity, or the highest rate that held where a higher one did not.
    Measured(f64),
    /// Measured: this rate held and none higher was tried.
    AtLeast(f64),
    /// Measured: not even this rate, the lowest tried, held.
    Below(f64),
    /// Expected by the model.
    Predicted(f64),
    /// It can't be run; why.
    RuledOut(Stated<Obstacle>),
    /// The server did not start with it; why.
    NeverReady(Stated<BootCause>),
    Unknown,
}

impl Cell {
    /// What it is called in tables and in the page's data.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Measured(_) => "measured",
            Self::AtLeast(_) => "at_least",
            Self::Below(_) => "below",
            Self::Predicted(_) => "predicted",
            Self::RuledOut(_) => "ruled_out",
            Self::NeverReady(_) => "did_not_start",
            Self::Unknown => "unknown",
        }
    }

    /// Its figure.
    pub fn rps(&self) -> Option<f64> {
        match self {
            Self::Measured(rate)
            | Self::AtLeast(rate)
            | Self::Below(rate)
            | Self::Predicted(rate) => Some(*rate),
            Self::RuledOut(_) | Self::NeverReady(_) | Self::Unknown => None,
        }
    }
}

/// How a cell is marked besides its figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Chosen,
    Today,
    /// As good as the chosen one within 3 %.
    Equivalent,
    None,
}

impl Mark {
    /// What it is called in tables and in the page's data.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Chosen => Some("chosen"),
            Self::Today => Some("today"),
            Self::Equivalent => Some("equivalent"),
            Self::None => None,
        }
    }
}

/// Rows by workers, columns by threads, both ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    pub workers: Vec<u16>,
    pub threads: Vec<u16>,
    cells: BTreeMap<(u16, u16), Cell>,
    marks: BTreeMap<(u16, u16), Mark>,
}

/// The map of a session; empty (no row) when nothing was measured or predicted.
pub fn draw(story: &Story) -> Map {
    let mut cells = BTreeMap::new();
    for prediction in &story.predicted {
        let cell = match &prediction.ruled_out {
            Some(why) => Cell::RuledOut(why.clone()),
            None => Cell::Predicted(prediction.capacity_rps),
        };
        cells.insert((prediction.workers, prediction.threads), cell);
    }
    for (configuration, failure) in &story.boot_failures {
        cells.insert(key(*configuration), Cell::NeverReady(failure.message.clone()));
    }
    let mut probes: BTreeMap<(u16, u16), Vec<(Verdict, f64)>> = BTreeMap::new();
    for (trial, rate) in story.probes() {
        probes.entry(key(trial.configuration)).or_default().push((trial.verdict, rate));
    }
    for (at, probes) in probes {
        if let Some(cell) = from_probes(&probes) {
            cells.insert(at, cell);
        }
    }
    let marks = marks(story, &mut cells);
    let workers: BTreeSet<u16> = cells.keys().map(|at| at.0).collect();
    let threads: BTreeSet<u16> = cells.keys().map(|at| at.1).collect();
    Map {
        workers: workers.into_iter().collect(),
        threads: threads.into_iter().collect(),
        cells,
        marks,
    }
}

/// Puts in the capacities that the session concluded, and says which cells they are.
fn marks(story: &Story, cells: &mut BTreeMap<(u16, u16), Cell>) -> BTreeMap<(u16, u16), Mark> {
    let mut marks = BTreeMap::new();
    if let Some(decision) = &story.decision {
        for other in &decision.equivalent {
            let at = (other.workers, other.threads);
            let capacity = other.ratio * decision.capacity_rps;
            // One that was never loaded is as good only as far as the model says.
            match cells.get(&at) {
                Some(Cell::Predicted(_)) | None => cells.insert(at, Cell::Predicted(capacity)),
                Some(_) => cells.insert(at, Cell::Measured(capacity)),
            };
            marks.insert(at, Mark::Equivalent);
        }
    }
    // One figure a setting: that of the table of those that no other beats.
    for one in story.objective.iter().flat_map(|objective| &objective.front) {
        let cell = cells.get_mut(&(one.workers, one.threads));
        if let Some(cell @ (Cell::Measured(_) | Cell::AtLeast(_))) = cell {
            *cell = Cell::Measured(one.capacity_rps);
        }
    }
    if let Some(current) = &story.current {
        let at = (current.workers, current.threads);
        if let Some(capacity) = current.capacity_rps {
            cells.insert(at, Cell::Measured(capacity));
        }
        cells.entry(at).or_insert(Cell::Unknown);
        marks.insert(at, Mark::Today);
    }
    if let Some(decision) = &story.decision {
        let at = (decision.workers, decision.threads);
        cells.insert(at, Cell::Measured(decision.capacity_rps));
        marks.insert(at, Mark::Chosen);
    }
    marks
}

fn key(configuration: Configuration) -> (u16, u16) {
    (configuration.workers.get(), configuration.threads.get())
}

/// Where the trials of one configuration turn from holding to not holding: the rate that agrees
/// with most of them, the lowest such where several do. `None` when no trial said yes or no.
fn from_probes(probes: &[(Verdict, f64)]) -> Option<Cell> {
    let decided: Vec<(f64, bool)> = probes
        .iter()
        .filter(|(verdict, _)| *verdict != Verdict::Undecided)
        .map(|(verdict, rate)| (*rate, *verdict == Verdict::Yes))
        .collect();
    let lowest = decided.iter().map(|(rate, _)| *rate).min_by(f64::total_cmp)?;
    let disagreeing =
        |capacity: f64| decided.iter().filter(|(rate, held)| *held != (*rate <= capacity)).count();
    let mut best = (disagreeing(0.0), None);
    let mut held: Vec<f64> = decided.iter().filter(|d| d.1).map(|d| d.0).collect();
    held.sort_by(f64::total_cmp);
    for rate in held {
        if disagreeing(rate) < best.0 {
            best = (disagreeing(rate), Some(rate));
        }
    }
    Some(match best.1 {
        None => Cell::Below(lowest),
        Some(rate) if decided.iter().any(|(other, _)| *other > rate) => Cell::Measured(rate),
        Some(rate) => Cell::AtLeast(rate),
    })
}

impl Map {
    /// What is known of workers x threads.
    pub fn cell(&self, workers: u16, threads: u16) -> &Cell {
        self.cells.get(&(workers, threads)).unwrap_or(&Cell::Unknown)
    }

    /// How it is marked.
    pub fn mark(&self, workers: u16, threads: u16) -> Mark {
        self.marks.get(&(workers, threads)).copied().unwrap_or(Mark::None)
    }

    /// The cell in a few columns: `[412]` chosen, `(270)` today, `~245` predicted, `x` ruled out.
    pub fn text(&self, workers: u16, threads: u16) -> String {
        let figure = figure(self.cell(workers, threads));
        match self.mark(workers, threads) {
            Mark::Chosen => format!("[{figure}]"),
            Mark::Today => format!("({figure})"),
            Mark::Equivalent => format!("{figure}="),
            Mark::None => figure,
        }
    }

    /// Of every configuration that something is known of, with its workers and threads.
    pub fn cells(&self) -> impl Iterator<Item = ((u16, u16), &Cell)> {
        self.cells.iter().map(|(at, cell)| (*at, cell))
    }

    /// Does any cell have this mark?
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.values().any(|known| *known == mark)
    }
}

fn figure(cell: &Cell) -> String {
    match cell {
        Cell::Measured(rate) => whole(*rate),
        Cell::AtLeast(rate) => format!("{}+", whole(*rate)),
        Cell::Below(rate) => format!("<{}", whole(*rate)),
        Cell::Predicted(rate) => format!("~{}", whole(*rate)),
        Cell::RuledOut(_) => "x".to_string(),
        Cell::NeverReady(_) => "!".to_string(),
        Cell::Unknown => "-".to_string(),
    }
}

/// Decimals are left out where a column of figures is easier to read without.
fn whole(rate: f64) -> String {
    if rate >= 10.0 { format!("{rate:.0}") } else { figures::number(rate) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(rate: f64, verdict: Verdict) -> (Verdict, f64) {
        (verdict, rate)
    }

    #[test]
    fn a_cell_shows_where_its_trials_turn_from_holding_to_not_holding() {
        use Verdict::{No, Undecided, Yes};
        type Case<'a> = (&'a [(Verdict, f64)], Option<Cell>);
        let cases: [Case<'_>; 7] = [
            (&[], None),
            (&[probe(300.0, Undecided)], None),
            (&[probe(300.0, Yes)], Some(Cell::AtLeast(300.0))),
            (&[probe(300.0, No), probe(200.0, No)], Some(Cell::Below(200.0))),
            (&[probe(300.0, Yes), probe(350.0, No)], Some(Cell::Measured(300.0))),
            // One lucky trial does not outvote two.
            (
                &[probe(300.0, Yes), probe(340.0, No), probe(350.0, No), probe(360.0, Yes)],
                Some(Cell::Measured(300.0)),
            ),
            // One unlucky one neither.
            (&[probe(280.0, No), probe(300.0, Yes), probe(310.0, Yes)], Some(Cell::AtLeast(310.0))),
        ];
        for (probes, expected) in cases {
            assert_eq!(from_probes(probes), expected, "{probes:?}");
        }
    }
}
