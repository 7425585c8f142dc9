//! What the search's answers owe to each of its figures: sessions at the zoo with one figure of
//! `src/search/constants.rs` halved, then doubled. Run by `make bench-sensitivity`.
//!
//! A figure is changed in a copy of the sources, which is built and plays the same sessions as the
//! rest. `CONSTANTS` names some (default: all), `SESSIONS` is how many each (180), `SEED` their
//! first. Rows go to `target/sensitivity/rows.csv`, where a cut run goes on. It has no bar: it says
//! which figures matter, and which could go.

mod figure;
mod variant;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::common::options::{self, number};
use crate::common::rows::Rows;
use crate::common::table::table;
use crate::common::{Result, interrupt};
use crate::zoo::figures::Totals;
use figure::Figure;
use variant::Tree;

/// A figure as it was changed, and what the sessions came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    name: String,
    /// As the source has it.
    value: String,
    good: f64,
    held: f64,
    low_held: f64,
    covers: f64,
    warned: f64,
}

/// The row that the others are beside.
const AS_IT_IS: &str = "as it is";
const SOURCE: &str = "src/search/constants.rs";

pub fn run() -> Result<()> {
    let sessions: u32 = options::at_least(1, "SESSIONS", 180)?;
    let seed: u64 = number("SEED", 1)?;
    let _stop = interrupt::install();
    let text = std::fs::read_to_string(SOURCE)?;
    let all = Figure::all(&text);
    let names: Vec<&str> = all.iter().map(|it| it.name).collect();
    let wanted = options::names("CONSTANTS", &names.join(","), &names)?;
    let folder = options::folder("target/sensitivity")?;
    let mut rows: Rows<Row> =
        Rows::of_build(&folder.join("rows.csv"), &format!("{sessions} sessions from {seed}"))?;
    let tree = Tree::copied(&folder)?;
    let mut play = |name: &str, value: &str, source: &str| -> Result<()> {
        if rows.iter().any(|row| row.name == name && row.value == value) {
            return Ok(());
        }
        let totals = tree.play(Path::new(SOURCE), source, sessions, seed)?;
        rows.add(row(name, value, &totals))
    };
    play(AS_IT_IS, "", &text)?;
    for figure in all.iter().filter(|it| wanted.iter().any(|name| name == it.name)) {
        for times in [0.5, 2.0] {
            let value = figure.changed(times);
            play(figure.name, &value, &figure.in_source(&text, &value))?;
            interrupt::check()?;
        }
    }
    println!("{}", report(&rows));
    Ok(())
}

fn row(name: &str, value: &str, totals: &Totals) -> Row {
    let Totals { good, held, low_held, covers, warned } = *totals;
    Row { name: name.into(), value: value.into(), good, held, low_held, covers, warned }
}

/// The farthest from what it is without the change first.
fn report(rows: &[Row]) -> String {
    let figures = |row: &Row| [row.good, row.held, row.low_held, row.covers, row.warned];
    let Some(base) = rows.iter().find(|row| row.name == AS_IT_IS).map(figures) else {
        return String::new();
    };
    let away = |row: &Row| {
        let apart = figures(row).into_iter().zip(base).map(|(it, base)| (it - base).abs());
        apart.fold(0.0, f64::max)
    };
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| away(b).total_cmp(&away(a)));
    let head =
        ["figure", "changed to", "good, %", "printed held", "lower end held", "covers", "warned"];
    let line = |row: &&Row| {
        let percents = figures(row).map(|it| format!("{it:.1}"));
        let names = [row.name.clone(), row.value.clone()];
        let cells: Vec<String> = names.into_iter().chain(percents).collect();
        <[String; 7]>::try_from(cells).expect("two names and five figures")
    };
    table(&head, sorted.iter().map(line))
}
