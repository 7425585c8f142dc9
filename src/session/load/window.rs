//! One load of a search for the capacity: sent, and ended early where going on would only fill the
//! server's queues.
//!
//! In: an [`Offer`]. Out: what was recorded. Judges nothing.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::LoadVerbError;
use crate::load::{self, Length, LoadSpec};
use crate::summary::hopeless::{Hopeless, NoUse};
use crate::terms::{Goals, LiveSecond, LoadRecord, Offered, Phase, Rate, Slo, StopSignal};

/// What is to be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    pub offered: Offered,
    /// Before what counts; whole seconds.
    pub settle: Duration,
    pub duration: Duration,
    /// How long the last replies are awaited; then for two seconds more, and no longer.
    pub patience: Duration,
    /// More in flight than this mean that it is no use; `None` in the closed model.
    pub most_in_flight: Option<f64>,
    /// The shortest limit of all goals.
    pub tightest: Option<Duration>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Cut short only where the server could not carry it.
    pub record: LoadRecord,
    pub took: Duration,
    /// The user wanted it to end: it decides nothing.
    pub is_stopped: bool,
}

/// Fewer in flight are no overload, however low the rate.
const IN_FLIGHT_LEAST: f64 = 16.0;

/// With this many times more in flight, the first second decides.
const HOPELESS: f64 = 10.0;

/// Places that the generator has at least, however low the rate.
const PLACES_LEAST: f64 = 128.0;

impl Offer {
    /// Clients that don't think.
    pub fn burst(clients: u32, duration: Duration) -> Self {
        Self {
            offered: Offered::Closed { clients, think: Duration::ZERO },
            settle: Duration::ZERO,
            duration,
            patience: Duration::ZERO,
            most_in_flight: None,
            tightest: None,
        }
    }

    /// A rate. By Little's law no more are in flight than come within the SLO's longest limit, as
    /// long as the mean latency stays below that; of several goals, within the mean of these.
    pub fn window(offered: (Rate, Offered), lengths: (Duration, Duration), goals: &Goals) -> Self {
        let ((rate, offered), (settle, duration)) = (offered, lengths);
        let mean = goals.mean_limit(Slo::longest_limit);
        let within = mean.map(|limit| rate.as_per_second() * limit.as_secs_f64());
        Self {
            offered,
            settle,
            duration,
            // Where only errors count, a slow reply is none.
            patience: mean.and(goals.longest_limit()).unwrap_or(Duration::MAX),
            most_in_flight: within.map(|within| within.max(IN_FLIGHT_LEAST)),
            tightest: goals.tightest_limit(),
        }
    }

    /// Whatever is beyond waits with the generator, and is dropped with the window: the server need
    /// not work off what no client waits for any more.
    fn places(&self) -> Option<u32> {
        self.most_in_flight.map(|most| (HOPELESS * most).max(PLACES_LEAST).ceil() as u32)
    }
}

/// Sends one offer after another.
pub struct Sender<'a> {
    spec: LoadSpec,
    stop: &'a StopSignal,
    count: u64,
}

impl<'a> Sender<'a> {
    /// `spec`: what all offers have in common.
    pub fn new(spec: LoadSpec, stop: &'a StopSignal) -> Self {
        Self { spec, stop, count: 0 }
    }

    /// Sends one, and passes every second of it to `tell`.
    ///
    /// # Errors
    /// The generator cannot work.
    pub fn send(
        &mut self,
        offer: &Offer,
        tell: &mut dyn FnMut(&LiveSecond),
    ) -> Result<Sent, LoadVerbError> {
        self.count += 1;
        let places = [self.spec.max_in_flight, offer.places()].into_iter().flatten().min();
        let spec = LoadSpec {
            shape: offer.offered.into(),
            warm_up: offer.settle,
            length: Length::Duration(offer.duration),
            // Far enough apart for the loops, which count on from it.
            seed: self.spec.seed.wrapping_add(self.count << 16),
            max_in_flight: places,
            ..self.spec.clone()
        };
        let mut watch = Watch::new(offer);
        let began = Instant::now();
        let mut record = load::run(&spec, self.stop, &mut |second| {
            tell(second);
            if self.stop.is_raised() { ControlFlow::Break(()) } else { watch.look(second) }
        })?;
        // To wait no longer for the last replies cuts nothing short.
        record.run.is_cut_short = watch.is_overloaded();
        Ok(Sent { record, took: began.elapsed(), is_stopped: self.stop.is_raised() })
    }
}

/// Ends a load that is of no use, also one with far more in flight than the offer's line, and waits
/// for the last replies only as long as they could matter.
pub struct Watch {
    most_in_flight: Option<f64>,
    /// Replies are awaited until then.
    until: Duration,
    hopeless: Hopeless,
    is_overloaded: bool,
}

impl Watch {
    pub fn new(offer: &Offer) -> Self {
        Self {
            most_in_flight: offer.most_in_flight,
            until: (offer.settle + offer.duration).saturating_add(offer.patience),
            hopeless: Hopeless::new(offer.most_in_flight, offer.tightest),
            is_overloaded: false,
        }
    }

    /// It was ended because the server could not carry it.
    pub fn is_overloaded(&self) -> bool {
        self.is_overloaded
    }

    /// Looks at a second that has passed, and breaks where the load should end.
    pub fn look(&mut self, second: &LiveSecond) -> ControlFlow<()> {
        let goes_on = match (second.phase, self.hopeless.look(second)) {
            (Phase::Drain, _) => second.at < self.until,
            (_, no_use) => {
                let is_far_above = |most: f64| second.in_flight_mean > HOPELESS * most;
                self.is_overloaded = no_use == Some(NoUse::Overload)
                    || self.most_in_flight.is_some_and(is_far_above);
                no_use.is_none() && !self.is_overloaded
            }
        };
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Arrivals;

    fn offer(per_second: f64, slo: &str) -> Offer {
        let rate = Rate::per_second(per_second).unwrap();
        let offered = Offered::Open { rate, arrivals: Arrivals::Poisson };
        let lengths = (Duration::from_secs(2), Duration::from_secs(8));
        Offer::window((rate, offered), lengths, &Goals::one(slo.parse().unwrap()))
    }

    fn second(at: u64, in_flight_mean: f64, phase: Phase) -> LiveSecond {
        let at = Duration::from_secs(at);
        LiveSecond { at, phase, ..LiveSecond::with_in_flight(in_flight_mean) }
    }

    /// The second after which the load ends.
    fn ends(watch: &mut Watch, in_flight: &[f64]) -> Option<usize> {
        let mut seconds = (1..).zip(in_flight);
        let found =
            seconds.find(|(at, mean)| watch.look(&second(*at, **mean, Phase::Measure)).is_break());
        found.map(|(at, _)| at as usize)
    }

    #[test]
    fn three_rising_seconds_above_the_line_or_one_far_above_end_the_load() {
        let offer = offer(200.0, "p50<100ms,p99<200ms");
        assert_eq!(offer.most_in_flight, Some(40.0));
        assert_eq!(ends(&mut Watch::new(&offer), &[30.0, 41.0, 60.0, 80.0, 99.0]), Some(4));
        assert_eq!(ends(&mut Watch::new(&offer), &[30.0, 401.0]), Some(2));
        assert_eq!(ends(&mut Watch::new(&offer), &[41.0, 60.0, 50.0, 60.0, 39.0, 41.0]), None);
    }

    #[test]
    fn a_low_rate_and_a_goal_without_a_latency_are_not_ended_by_a_few_in_flight() {
        let in_flight = [10.0, 12.0, 14.0, 15.0];
        assert_eq!(ends(&mut Watch::new(&offer(1.0, "p95<200ms")), &in_flight), None);
        assert_eq!(ends(&mut Watch::new(&offer(1.0, "errors<1%")), &[1e3, 1e4, 1e5]), None);
    }

    #[test]
    fn replies_are_awaited_as_long_as_they_could_matter() {
        let mut watch = Watch::new(&offer(10.0, "p95<2s"));
        for (at, ends) in [(11, false), (12, true)] {
            assert_eq!(watch.look(&second(at, 5.0, Phase::Drain)).is_break(), ends, "{at}");
        }
        assert!(!watch.is_overloaded());
    }
}
