//! What is asked of two revisions, and how far it is.
//!
//! Values alone.

use std::time::Duration;

use super::git::Range;
use crate::plan::{Surroundings, Typed};
use crate::terms::{CompareNote, ComparedFigure, StopSignal};

/// What is asked.
pub struct Question<'a> {
    pub range: &'a Range,
    /// Of a plan; the setting only where it is not today's.
    pub typed: &'a Typed,
    pub surroundings: &'a Surroundings,
    /// Run by a shell in each revision's folder before it is started.
    pub prepare: Option<&'a str>,
    pub stop: StopSignal,
}

/// How far a comparison is.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    CheckingOut {
        name: &'a str,
    },
    Preparing {
        name: &'a str,
    },
    /// `name` has its turn. `left`: of the budget; `so_far`: the figure that is known best.
    Measuring {
        name: &'a str,
        left: Duration,
        blocks: u32,
        so_far: Option<ComparedFigure>,
    },
    /// What to know while it is measured.
    Noted {
        note: CompareNote,
    },
}
