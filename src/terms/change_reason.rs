//! Why a comparison or a verification came out as it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::comparison_note::Side;
use super::configuration::Configuration;
use super::figure_kind::FigureKind;
use super::obstacle::Obstacle;
use super::reason::Reason;
use super::stated::Stated;

/// Why one of two compared results is better, or why that cannot be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ChangeReason {
    /// See what refuses it.
    NotComparable,
    /// Whatever the figures say.
    MoreRequestsFail,
    FewerRequestsFail,
    /// Of two revisions: whether as many requests fail is open. The share of all requests that
    /// failed, and the largest share of a start, of A and of B.
    FailuresUndecided {
        failed_ratio: [f64; 2],
        failed_ratio_max: [f64; 2],
    },
    /// Of a revision: its servers died under load, or did not start once both had run, again and
    /// again, and those of the other did not.
    ServerDies {
        side: Side,
    },
    /// Of a revision: nothing came back from it when many asked, again and again.
    AnswersNothing {
        side: Side,
    },
    /// Of two revisions: servers of both died under load, answered nothing, or did not start.
    BothBreakDown,
    /// Too many trials said nothing of the server.
    TrialsNotValid {
        why: Stated<Reason>,
    },
    /// The user or the time ended it before there was anything to say.
    TooFewBlocks,
    /// The figure has no interval on one side.
    FigureNotKnown {
        figure: FigureKind,
    },
    FigureChanged {
        figure: FigureKind,
    },
    /// Its ratio's interval lies within so much of one.
    FigureSame {
        figure: FigureKind,
        band_ratio: f64,
    },
    /// Its ratio's interval is wider. So many measurements of A and of B would decide in place of
    /// those that were made; null: too many.
    FigureWithinNoise {
        figure: FigureKind,
        band_ratio: f64,
        measured: [u64; 2],
        needed: Option<[u64; 2]>,
    },
    /// It changed between two times, and so did the traffic, in the direction that may be why: B's
    /// divided by A's.
    TrafficExplains {
        figure: FigureKind,
        traffic_ratio: f64,
    },
    /// It changed between two times, and within each it changed by so much a day, as a ratio, which
    /// may be why.
    TrendExplains {
        figure: FigureKind,
        daily_ratio: f64,
    },
}

impl ChangeReason {
    /// The figure that the verdict went by.
    pub fn figure(&self) -> Option<FigureKind> {
        match self {
            Self::NotComparable
            | Self::MoreRequestsFail
            | Self::FewerRequestsFail
            | Self::FailuresUndecided { .. }
            | Self::ServerDies { .. }
            | Self::AnswersNothing { .. }
            | Self::BothBreakDown
            | Self::TrialsNotValid { .. }
            | Self::TooFewBlocks => None,
            Self::FigureNotKnown { figure }
            | Self::FigureChanged { figure }
            | Self::FigureSame { figure, .. }
            | Self::FigureWithinNoise { figure, .. }
            | Self::TrafficExplains { figure, .. }
            | Self::TrendExplains { figure, .. } => Some(*figure),
        }
    }
}

/// Why a recommendation is still right, or is not, or why that cannot be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RecheckReason {
    /// The recommended setting does not run any more.
    NoLongerRuns {
        setting: Configuration,
        why: Obstacle,
    },
    /// No start was measured to its end.
    NoWholeStart,
    /// Two fresh starts of the recommended setting missed the rate that was printed.
    PrintedRateMissed {
        rate_rps: f64,
    },
    /// What ran before holds more than the recommended setting.
    FormerHoldsMore,
    /// A fresh start of the recommended setting held the rate that was printed, for so long.
    PrintedRateHeld {
        rate_rps: f64,
        duration_s: f64,
    },
    TooLittleMeasured,
}
