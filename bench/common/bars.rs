//! What a bench's figures are held against: each with its limit, as a table, and an error when one
//! is missed.

use super::Result;
use super::table::table;

/// A figure and its limit.
pub struct Bar {
    what: String,
    /// `None`: it was not measured.
    figure: Option<f64>,
    /// The figure for people.
    text: String,
    limit: Limit,
}

#[derive(Clone, Copy)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Bar {
    pub fn new(what: impl Into<String>, figure: Option<f64>, limit: Limit) -> Self {
        let text = figure.map_or("-".to_string(), |figure| format!("{figure:.3}"));
        Self { what: what.into(), figure, text, limit }
    }

    /// With other words for the figure.
    pub fn shown(self, text: String) -> Self {
        Self { text, ..self }
    }

    fn is_met(&self) -> Option<bool> {
        self.figure.map(|figure| match self.limit {
            Limit::AtMost(limit) => figure <= limit,
            Limit::AtLeast(limit) => figure >= limit,
        })
    }

    fn limit(&self) -> String {
        match self.limit {
            Limit::AtMost(limit) => format!("at most {limit}"),
            Limit::AtLeast(limit) => format!("at least {limit}"),
        }
    }
}

/// A bar a row.
pub fn bars_table(bars: &[Bar]) -> String {
    let row = |bar: &Bar| {
        let verdict = match bar.is_met() {
            Some(true) => "met",
            Some(false) => "**not met**",
            None => "not measured",
        };
        [bar.what.clone(), bar.text.clone(), bar.limit(), verdict.to_string()]
    };
    table(&["held against a limit", "figure", "limit", ""], bars.iter().map(row))
}

/// # Errors
/// Those that are missed.
pub fn check<'a>(bars: impl IntoIterator<Item = &'a Bar>) -> Result<()> {
    let missed = bars.into_iter().filter(|bar| bar.is_met() == Some(false));
    let missed: Vec<String> =
        missed.map(|bar| format!("{}: {}, not {}", bar.what, bar.text, bar.limit())).collect();
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ").into()) }
}

/// Prints the table, and checks.
///
/// # Errors
/// As [`check`].
pub fn hold(bars: &[Bar]) -> Result<()> {
    println!("\n{}", bars_table(bars));
    check(bars)
}
