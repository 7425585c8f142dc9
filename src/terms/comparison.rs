//! What `compare`, `observe` and `verify` answer, in the shape that their `--json` prints.
//!
//! Names and units are a promise to scripts: add, never rename. Seconds, bytes, requests/s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_reason::{ChangeReason, RecheckReason};
use super::comparison_note::{CompareNote, CompareRefusal, Difference, FigureLeftOut};
use super::decision::HeldRate;
use super::figure_kind::FigureKind;
use super::goals::GoalList;
use super::machine::Machine;
use super::note::Note;
use super::stated::Stated;
use super::trial::Verdict;
use super::warning::Warning;

/// How B does beside A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Beyond doubt, and by more than 3 % as far as is known.
    Better,
    /// Beyond doubt, and by more than 3 % as far as is known.
    Worse,
    /// The ratio's 90 % interval lies within 3 % of one.
    Equivalent,
    /// Neither.
    Undecided,
}

impl Standing {
    /// Better or worse.
    pub const fn is_changed(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }
}

/// One figure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    pub figure: FigureKind,
    /// Of A, in base units.
    pub a: f64,
    /// Of B.
    pub b: f64,
    /// B divided by A; null where A is 0.
    pub ratio: Option<f64>,
    /// Of 95 %; null where the spread is not known. Of revisions: so wide that those of all figures
    /// together are right in 95 % of comparisons.
    pub ratio_interval: Option<[f64; 2]>,
    /// Null without an interval.
    pub change: Option<Standing>,
    /// Starts that it rests on, of A and of B; of a load stretches of time, of what was observed
    /// blocks or days.
    pub observations: [u64; 2],
    /// Compared within blocks: both were measured one after the other, in random order, or at once.
    pub within_blocks: bool,
}

/// What is compared, of either side.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// As it was typed.
    pub name: String,
    /// The commit, of a revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Null for a file.
    pub session: Option<i64>,
    /// RFC 3339, UTC; null where it is not known.
    pub started_at: Option<String>,
    /// When what was observed ends; RFC 3339, UTC; null for anything else.
    pub ended_at: Option<String>,
    /// Null for a load's result; so are the next three.
    pub app: Option<String>,
    pub server: Option<String>,
    /// Such as the version of Ruby.
    pub runtime: Option<String>,
    /// Null where there is no setting.
    pub workers: Option<u16>,
    pub threads: Option<u16>,
    /// Null where none was given.
    pub slo: Option<GoalList>,
    /// Null where it is not known.
    pub machine: Option<Machine>,
}

/// How two revisions were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionsMeasured {
    /// In each a fresh start of both, loaded in turn.
    pub blocks: u32,
    /// Requests/s that both were sent for their p95; null where it did not come to that.
    pub rate_rps: Option<f64>,
    /// Seconds that the measuring took.
    pub elapsed_s: f64,
    /// What to bear in mind.
    pub warnings: Vec<Warning>,
}

/// What `compare --json` and `observe --json` print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareReport {
    /// What B is judged against.
    pub a: ComparedSide,
    pub b: ComparedSide,
    /// The verdict; null when it is refused.
    pub change: Option<Standing>,
    /// Why.
    pub reason: Stated<ChangeReason>,
    /// Why these two cannot be compared, with the way out; empty when they can.
    pub refused: Vec<Stated<CompareRefusal>>,
    /// Empty when it is refused.
    pub figures: Vec<ComparedFigure>,
    /// Figures that could not be compared, with why.
    pub left_out: Vec<Stated<FigureLeftOut>>,
    /// What else differs, such as a version.
    pub differences: Vec<Stated<Difference>>,
    /// How far to trust it, and what would tell more.
    pub notes: Vec<Stated<CompareNote>>,
    /// Of two revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<RevisionsMeasured>,
}

/// One setting that was measured again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedSetting {
    pub workers: u16,
    pub threads: u16,
    /// In the session that is verified.
    pub capacity_rps_then: f64,
    /// Null where nothing was measured; so is the next.
    pub capacity_rps: Option<f64>,
    pub capacity_rps_interval: Option<[f64; 2]>,
    /// How often its server was started for it.
    pub starts: u64,
}

/// What `verify --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The session whose recommendation it is.
    pub session: i64,
    /// The session that this was stored as.
    pub stored_as: i64,
    /// Is it still right?
    pub verdict: Verdict,
    /// Why.
    pub reason: Stated<RecheckReason>,
    pub recommended: VerifiedSetting,
    /// Null when that is the recommended one, or held nothing.
    pub current: Option<VerifiedSetting>,
    /// What the recommended setting holds now, divided by what it held then; null where nothing was
    /// measured.
    pub ratio: Option<f64>,
    /// Of 95 %.
    pub ratio_interval: Option<[f64; 2]>,
    /// The rate that was printed then, as a fresh start held it now; null where it was missed, or
    /// not tried.
    pub held: Option<HeldRate>,
    /// Now: recommended divided by current, within blocks; null without a current one.
    pub gain_ratio: Option<f64>,
    /// Of 95 %.
    pub gain_ratio_interval: Option<[f64; 2]>,
    pub slo: GoalList,
    pub machine: Machine,
    /// What differs from then, such as a version.
    pub differences: Vec<Stated<Difference>>,
    /// What more minutes would buy.
    pub notes: Vec<Stated<Note>>,
    /// Seconds from start to end.
    pub elapsed_s: f64,
}
