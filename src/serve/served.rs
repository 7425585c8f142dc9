//! What is served to whom.
//!
//! In and out: a value.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::reading::Readings;
use crate::report::Story;
use crate::store::SessionId;
use crate::terms::PredictTable;

/// What is served to whom.
#[derive(Debug)]
pub struct Served {
    pub(super) store: PathBuf,
    pub(super) token: String,
    /// The session that was asked for last.
    pub(super) kept: Mutex<Option<Arc<Kept>>>,
    /// Those that pages follow.
    pub(super) readings: Readings,
}

/// A session up to an event, and what its sliders move over.
#[derive(Debug)]
pub struct Kept {
    pub session: SessionId,
    pub last_event: i64,
    pub story: Story,
    pub predict: Option<PredictTable>,
}

impl Served {
    /// The sessions of a store. `token`: a part of every address; who does not know it gets
    /// nothing.
    pub fn new(store: PathBuf, token: String) -> Self {
        Self { store, token, kept: Mutex::new(None), readings: Readings::default() }
    }
}
