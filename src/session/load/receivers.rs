//! Who is told what happens while a load runs.
//!
//! In: seconds as they come. Out: each handed on, and all folded.

use std::ops::ControlFlow;
use std::time::Duration;

use super::prepared::Prepared;
use crate::summary::load::Fold;
use crate::terms::{LiveSecond, LoadSecond, RequestRow};

/// Takes requests that have ended.
pub type RowSink<'a> = &'a mut dyn FnMut(&[RequestRow]);

/// Receivers of what happens while a load runs.
pub struct Receivers<'a> {
    /// Once, before all else: the load began so long ago; breaking ends it.
    pub begin: &'a mut dyn FnMut(Duration) -> ControlFlow<()>,
    /// About once a second; breaking ends the load.
    pub watch: &'a mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    /// Each measured second, in order, with the whole seconds since the load began.
    pub second: &'a mut dyn FnMut(u64, &LoadSecond),
    /// The measured requests as they end, in no order; `None`: they are not collected.
    pub rows: Option<RowSink<'a>>,
}

/// The seconds of a load as they come: all are folded, and those that are measured handed on.
pub(super) struct Seconds<'a> {
    pub(super) fold: Fold<'a>,
    count: u64,
    warm_up_s: u64,
    hand_on: &'a mut dyn FnMut(u64, &LoadSecond),
}

impl<'a> Seconds<'a> {
    pub(super) fn new(
        prepared: &'a Prepared,
        hand_on: &'a mut dyn FnMut(u64, &LoadSecond),
    ) -> Self {
        let warm_up = prepared.spec.warm_up;
        let fold = Fold::new(warm_up, &prepared.goals);
        Self { fold, count: 0, warm_up_s: warm_up.as_secs(), hand_on }
    }

    pub(super) fn take(&mut self, second: &LoadSecond) {
        self.fold.take(second);
        if self.count >= self.warm_up_s {
            (self.hand_on)(self.count, second);
        }
        self.count += 1;
    }
}
