//! Where a loop's outcomes go: each is counted, and becomes a row where the load keeps rows. What
//! they add up to goes to the coordinator about once a second.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use super::lifecycle::Ended;
use super::recorder::Recorder;
use super::rows::Rows;
use super::setup::{Common, LoopMessage};
use super::shape::Span;

/// Where the outcomes of one loop go.
#[derive(Debug)]
pub struct Sink {
    pub recorder: Recorder,
    pub rows: Rows,
    keeps_rows: bool,
    timeout: Span,
    /// Of the loop.
    index: u16,
    messages: SyncSender<(u16, LoopMessage)>,
    unsent: VecDeque<LoopMessage>,
}

impl Sink {
    /// `index`: of the loop.
    pub fn new(common: &Common, index: u16, messages: SyncSender<(u16, LoopMessage)>) -> Self {
        Self {
            recorder: Recorder::new(common.recorded_targets),
            rows: Rows::default(),
            keeps_rows: common.keeps_rows,
            timeout: common.timeout,
            index,
            messages,
            unsent: VecDeque::new(),
        }
    }

    /// Takes the one outcome of a request.
    #[inline]
    pub fn take(&mut self, ended: &Ended) {
        // What is given up counts with the timeout, however late that is noticed.
        let latency = ended.latency().min(self.timeout);
        self.recorder.ended(ended, latency);
        if self.keeps_rows
            && let Some(piece) = self.rows.add(ended.row(latency))
        {
            self.unsent.push_back(LoopMessage::Rows(piece));
            self.send();
        }
    }

    /// A second of the clock has passed; see [`Recorder::second_over`].
    pub fn second_over(&mut self, in_flight: usize, is_draining: bool) {
        let over = self.recorder.second_over(in_flight as u64, is_draining);
        self.unsent.push_back(LoopMessage::Clock(Box::new(over)));
        while let Some((index, second)) = self.recorder.take_finished() {
            self.unsent.push_back(LoopMessage::Finished(index, Box::new(second)));
        }
        self.unsent.extend(self.rows.take().map(LoopMessage::Rows));
        self.send();
    }

    /// Never waits: what the coordinator has no room for stays here, a few entries a second.
    fn send(&mut self) {
        while let Some(message) = self.unsent.pop_front() {
            let rows = if let LoopMessage::Rows(rows) = &message { rows.len() } else { 0 };
            match self.messages.try_send((self.index, message)) {
                Ok(()) => self.rows.taken(rows),
                Err(TrySendError::Full((_, message))) => {
                    self.unsent.push_front(message);
                    return;
                }
                // The coordinator is gone; that ends with the load.
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    }

    /// The load is over: now the loop may wait for the coordinator.
    pub fn finish(&mut self, is_draining: bool) {
        // The piece of a second that is left is recorded, but is nothing to watch.
        self.recorder.second_over(0, is_draining);
        while let Some((index, second)) = self.recorder.take_front() {
            self.unsent.push_back(LoopMessage::Finished(index, Box::new(second)));
        }
        self.unsent.extend(self.rows.take().map(LoopMessage::Rows));
        self.unsent.push_back(LoopMessage::Ended);
        for message in self.unsent.drain(..) {
            if self.messages.send((self.index, message)).is_err() {
                return;
            }
        }
    }
}
