//! Where a loop's outcomes go: each is counted, and becomes a row where the load keeps rows. What
//! they add up to goes to the coordinator about once a second.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use super::lifecycle::Ended;
use super::recorder::Recorder;
use super::rows::Rows;
use super::setup::{Common, LoopMessage};

/// Where the outcomes of one loop go.
#[derive(Debug)]
pub struct Sink {
    pub recorder: Recorder,
    pub rows: Rows,
    keeps_rows: bool,
    /// Of the loop.
    index: u16,
    messages: SyncSender<(u16, LoopMessage)>,
    unsent: VecDeque<LoopMessage>,
}

impl Sink {
    /// `index`: of the loop.
    pub fn new(common: &Common, index: u16, messages: SyncSender<(u16, LoopMessage)>) -> Self {
        Self {
            recorder: Recorder::new(common.recorded_targets, common.timeout),
            rows: Rows::default(),
            keeps_rows: common.keeps_rows,
            index,
            messages,
            unsent: VecDeque::new(),
        }
    }

    /// Takes the one outcome of a request.
    #[inline]
    pub fn take(&mut self, ended: &Ended) {
        self.recorder.ended(ended);
        if self.keeps_rows {
            // A copy, so that without rows the original can stay in registers.
            self.add_row(*ended);
        }
    }

    // Cold: few loads keep rows, and the path of every request would carry its code along.
    #[cold]
    fn add_row(&mut self, ended: Ended) {
        let latency = self.recorder.latency(ended.request.due, ended.at);
        if let Some(piece) = self.rows.add(ended.row(latency)) {
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

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::mpsc::sync_channel;

    use proptest::prelude::*;

    use super::*;
    use crate::load::lifecycle::Pending;
    use crate::load::reply::Marks;
    use crate::load::setup::ShutdownFlag;
    use crate::load::shape::{Nanos, Span};
    use crate::load::spec::Closing;
    use crate::terms::{ConnectionMode, RequestError};

    const TARGETS: u32 = 2;

    const RESULTS: [Result<u16, RequestError>; 6] =
        [Ok(200), Ok(200), Ok(304), Ok(503), Err(RequestError::Reset), Err(RequestError::Timeout)];

    fn common() -> Common {
        Common {
            clock: OnceLock::new(),
            shutdown: ShutdownFlag::default(),
            requests: Vec::new(),
            weights: Vec::new(),
            connection: ConnectionMode::KeepAlive,
            closing: Closing::default(),
            http2: None,
            recorded_targets: TARGETS as usize,
            keeps_rows: true,
            keeps_cookies: false,
            timeout: Span::millis(300),
        }
    }

    /// What happens in a loop.
    #[derive(Debug, Clone)]
    enum Event {
        /// A request is due, and sent.
        Due { target: u32 },
        /// One that is under way ends, `ago` before that is noticed.
        End { which: usize, result: Result<u16, RequestError>, ago: Span },
        /// The number under way is sampled.
        Sample,
        /// Nothing is due any more.
        Cut,
    }

    /// Events, each with the time that passes before it. Mostly more end between two samples or
    /// ends of seconds than are held.
    fn any_events() -> impl Strategy<Value = Vec<(Span, Event)>> {
        let end = (any::<usize>(), prop::sample::select(RESULTS.to_vec()), 0u64..400);
        let event = prop_oneof![
            600 => (0..TARGETS).prop_map(|target| Event::Due { target }),
            600 => end.prop_map(|(which, result, ago_ms)| {
                Event::End { which, result, ago: Span::millis(ago_ms) }
            }),
            8 => Just(Event::Sample),
            1 => Just(Event::Cut),
        ];
        let passed = prop_oneof![60 => Just(50u64), 1 => 1_000u64..500_000].prop_map(Span::micros);
        prop::collection::vec((passed, event), 0..900)
    }

    /// A loop that does what events say.
    struct Loop {
        sink: Sink,
        now: Nanos,
        /// When the second of the clock that still runs is over.
        second: Nanos,
        under_way: Vec<Pending>,
        next_number: u64,
        over_at: Option<Nanos>,
    }

    impl Loop {
        fn was_over_in_this_second(&self) -> bool {
            self.over_at.is_some_and(|at| at <= self.second.before(Span::SECOND))
        }

        fn pass(&mut self, span: Span) {
            self.now = self.now + span;
            while self.now >= self.second {
                let is_draining = self.was_over_in_this_second();
                self.sink.second_over(self.under_way.len(), is_draining);
                self.second = self.second + Span::SECOND;
            }
        }

        fn due(&mut self, target: u32) {
            let number = self.next_number;
            let is_retry = number.is_multiple_of(7);
            let sent = Some(self.now);
            let due = Pending::new(self.now, self.now);
            let request = Pending { sent, target, number, is_retry, ..due };
            self.sink.recorder.due(self.now);
            self.sink.recorder.sent(&request, 100);
            self.under_way.push(request);
            self.next_number += 1;
        }

        fn end(&mut self, request: Pending, result: Result<u16, RequestError>, ago: Span) {
            let marks = Marks { is_cached: result == Ok(304), has_via: request.number > 9 };
            let at = self.now.before(ago).max(request.due);
            let bytes_in = request.number + 1;
            self.sink.take(&Ended { request, at, result, bytes_out: 100, bytes_in, marks });
        }

        fn sample(&mut self) {
            self.sink.recorder.sample(self.under_way.len() as u64);
            self.sink.recorder.sample_at(self.now + Span::micros(500));
        }
    }

    /// What a sink hands over when these things happen, and when its last reply came and its last
    /// request was due. At the end, everything that is under way is given up.
    fn played(
        events: &[(Span, Event)],
        after_end: impl Fn(&mut Recorder),
    ) -> (Vec<LoopMessage>, [Nanos; 2]) {
        let (sender, receiver) = sync_channel(4096);
        let sink = Sink::new(&common(), 0, sender);
        let (now, second) = (Nanos::START, Nanos::START + Span::SECOND);
        let mut one =
            Loop { sink, now, second, under_way: Vec::new(), next_number: 0, over_at: None };
        for (passed, event) in events {
            one.pass(*passed);
            match event {
                Event::Due { target } if one.over_at.is_none() => one.due(*target),
                Event::End { which, result, ago } if !one.under_way.is_empty() => {
                    let request = one.under_way.swap_remove(*which % one.under_way.len());
                    one.end(request, *result, *ago);
                    after_end(&mut one.sink.recorder);
                }
                Event::Sample => one.sample(),
                Event::Cut => one.over_at = one.over_at.or(Some(one.now)),
                Event::Due { .. } | Event::End { .. } => {}
            }
        }
        for request in std::mem::take(&mut one.under_way) {
            one.end(request, Err(RequestError::Timeout), Span::ZERO);
            after_end(&mut one.sink.recorder);
        }
        let is_draining = one.was_over_in_this_second();
        one.sink.finish(is_draining);
        let last = [one.sink.recorder.last_reply(), one.sink.recorder.last_due];
        (receiver.try_iter().map(|(_, message)| message).collect(), last)
    }

    #[test]
    fn a_second_that_ends_while_outcomes_are_held_has_them() {
        let end = |ago| Event::End { which: 0, result: Ok(200), ago };
        let mut events = vec![(Span::ZERO, Event::Due { target: 0 }); 3];
        events.extend([(Span::millis(5), end(Span::ZERO)), (Span::millis(5), end(Span::ZERO))]);
        events.push((Span::SECOND, Event::Cut));
        let (messages, _) = played(&events, |_| {});
        let [LoopMessage::Clock(over), ..] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!((over.due, over.latency.count(), over.in_flight), (3, 2, 1));
        let finished = messages.iter().find_map(|message| match message {
            LoopMessage::Finished(0, second) => Some((second.completed(), second.replies)),
            _ => None,
        });
        assert_eq!(finished, Some((2, 2)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn outcomes_that_are_held_come_to_the_same_as_those_recorded_one_by_one(
            events in any_events()
        ) {
            let held = played(&events, |_| {});
            let one_by_one = played(&events, Recorder::record_held);
            prop_assert_eq!(held, one_by_one);
        }
    }
}
