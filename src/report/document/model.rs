//! The blocks that documents are made of.
//!
//! Plain text that nothing has escaped yet. Computes nothing.

use std::ops::RangeBounds;

use crate::report::story::Outcome;
use crate::report::wording::Language;
use crate::report::wording::planned::PlanRow;

/// A whole report.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub language: Language,
    /// In order.
    pub sections: Vec<Section>,
}

/// Blocks that belong together; one without blocks is not shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Empty: none.
    pub title: String,
    /// What few read: where a format can do so, closed below this until a reader opens it.
    pub folded: Option<String>,
    /// The only medium that shows it; `None`: all do.
    pub only: Option<Medium>,
    pub blocks: Vec<Block>,
}

/// What a format is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Columns of a fixed width.
    Terminal,
    /// A file that is opened in something that lays it out.
    Page,
}

/// One piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The answer, in a sentence.
    Headline(Tone, String),
    Paragraph(String),
    /// What explains the block above it.
    Small(String),
    /// What the marks of the block above it mean; no entry is broken.
    Legend(Vec<String>),
    Bullets(Vec<String>),
    /// What, and a sentence.
    Facts(Vec<(&'static str, String)>),
    /// What (empty: the value says it), its value, and how that is read.
    Values(Vec<(&'static str, String, Kind)>),
    Table(Table),
    Grid(Grid),
    /// Lines to paste: what stands above them, their syntax (empty: none), and they.
    Code {
        above: String,
        syntax: &'static str,
        text: String,
    },
    /// What failed, with the last lines of its log.
    Logs(Vec<(String, Vec<String>)>),
    Plan(Vec<PlanRow>),
    Trials(Vec<TrialLine>),
}

/// Whether an answer is one to be glad of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Doubtful,
    Bad,
}

/// Rows below a head, each as long as it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub head: Vec<Column>,
    pub rows: Vec<Vec<String>>,
    /// The rows as sentences, for where columns do not suffice; empty where they do.
    pub sentences: Vec<String>,
}

/// The head of a column, and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub head: String,
    pub kind: Kind,
}

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Read from its end.
    Figure,
    /// As it was given, for a fixed-width face.
    Code,
}

impl Table {
    /// The columns at `figures` are figures, the others are text.
    pub fn new(head: &[&str], figures: impl RangeBounds<usize>, rows: Vec<Vec<String>>) -> Self {
        let column = |(at, head): (usize, &&str)| {
            let kind = if figures.contains(&at) { Kind::Figure } else { Kind::Text };
            Column { head: head.to_string(), kind }
        };
        Self { head: head.iter().enumerate().map(column).collect(), rows, sentences: Vec::new() }
    }
}

/// Figures by two counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Above the counts of the rows.
    pub corner: &'static str,
    pub columns: Vec<String>,
    /// The count, and a cell a column.
    pub rows: Vec<(String, Vec<GridCell>)>,
}

/// One cell of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GridCell {
    /// Figure and mark, such as `[412]`.
    pub text: String,
    pub face: Face,
    /// How much it holds, from 0 (least of the grid) to 1 (most); `None`: not known, or no two
    /// differ.
    pub shade: Option<f64>,
}

/// How a cell stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Chosen,
    Today,
    Plain,
    /// Not measured.
    Faint,
    Failed,
}

/// One trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialLine {
    pub id: u32,
    pub configuration: String,
    /// Its server's workers have threads to choose.
    pub has_threads: bool,
    /// What was changed beside it.
    pub changes: Option<String>,
    pub purpose: &'static str,
    pub load: String,
    pub outcome: Outcome,
    /// Rate; p50, p95 and p99. `None` without a reply.
    pub answered: Option<(String, [String; 3])>,
    pub limit: &'static str,
    /// Of its measured seconds, oldest first: p95 and replies.
    pub seconds: [Vec<f64>; 2],
    /// Why it could not be decided.
    pub doubt: Option<String>,
}

impl Document {
    /// The sections that a medium shows.
    pub fn on(&self, medium: Medium) -> impl Iterator<Item = &Section> {
        let is_shown = move |section: &&Section| {
            section.only.is_none_or(|only| only == medium)
                && section.blocks.iter().any(|block| !block.is_empty())
        };
        self.sections.iter().filter(is_shown)
    }
}

impl Section {
    /// Blocks below a title.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), blocks, ..Self::default() }
    }

    /// A list below its title.
    pub fn bullets(title: impl Into<String>, items: Vec<String>) -> Self {
        Self::new(title, vec![Block::Bullets(items)])
    }

    /// On one medium alone.
    #[must_use]
    pub fn only(self, medium: Medium) -> Self {
        Self { only: Some(medium), ..self }
    }

    /// Closed below `summary`, where that can be.
    #[must_use]
    pub fn folded(self, summary: impl Into<String>) -> Self {
        Self { folded: Some(summary.into()), ..self }
    }
}

impl Block {
    /// Nothing would be shown.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Headline(_, text) | Self::Paragraph(text) | Self::Small(text) => text.is_empty(),
            Self::Legend(entries) => entries.is_empty(),
            Self::Bullets(items) => items.is_empty(),
            Self::Facts(facts) => facts.is_empty(),
            Self::Values(values) => values.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::Grid(grid) => grid.rows.is_empty(),
            Self::Code { text, .. } => text.trim().is_empty(),
            Self::Logs(logs) => logs.is_empty(),
            Self::Plan(rows) => rows.is_empty(),
            Self::Trials(trials) => trials.is_empty(),
        }
    }
}
