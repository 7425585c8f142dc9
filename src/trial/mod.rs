//! One configuration under one offered load: start, wait until ready, warm up, measure.
//!
//! In: an [`Order`]. Out: a [`TrialRecord`], or why the server never became ready. The server stays
//! up between trials of one configuration; must not judge a result or choose a trial.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::place::{Offer, Place, PlaceError, Started};
use crate::summary::hopeless::Hopeless;
use crate::terms::{BootFailure, Configuration, LiveSecond, TrialRecord, Variant, Warning};

/// One trial to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    pub configuration: Configuration,
    /// Changes to the app.
    pub variant: Variant,
    /// Start the server afresh even when it runs with this configuration.
    pub fresh_start: bool,
    /// What is left after one that takes pods away is no start of the configuration: the next trial
    /// starts afresh.
    pub offer: Offer,
    /// The goal's tightest latency limit (of several goals the mean), for stopping a load early
    /// that is of no use.
    pub latency_limit: Option<Duration>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Recorded(Box<TrialRecord>),
    BootFailed(BootFailure),
}

/// What the runner tells while it works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// A server is being started; starts are counted from 1.
    Starting {
        configuration: Configuration,
        variant: Variant,
        start: u32,
    },
    /// The load begins.
    Loading,
    Second(LiveSecond),
}

#[derive(Debug, Clone, Copy)]
struct Running {
    configuration: Configuration,
    variant: Variant,
    boot: Duration,
}

/// What runs on a place between two runners, and how often a server was started there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Left {
    running: Option<Running>,
    starts: u32,
}

/// Runs trials one after another on one place, and knows what runs there.
pub struct Runner<'a> {
    place: &'a mut dyn Place,
    running: Option<Running>,
    starts: u32,
}

impl<'a> Runner<'a> {
    /// A runner whose first start will be number `starts` + 1 (more than 1 when a session goes on).
    pub fn new(place: &'a mut dyn Place, starts: u32) -> Self {
        Self::on_what_runs(place, Left { running: None, starts })
    }

    /// A runner on a place where another one has left its server running.
    pub fn on_what_runs(place: &'a mut dyn Place, left: Left) -> Self {
        Self { place, running: left.running, starts: left.starts }
    }

    /// Leaves the server running, for another runner on the same place.
    pub fn leave(self) -> Left {
        Left { running: self.running, starts: self.starts }
    }

    /// Does this run, so that it can be asked again without a start?
    pub fn runs(&self, configuration: Configuration, variant: Variant) -> bool {
        let is_it = |it: Running| (it.configuration, it.variant) == (configuration, variant);
        self.running.is_some_and(is_it)
    }

    /// The next start will be number `starts` + 1.
    pub fn count_starts_from(&mut self, starts: u32) {
        self.starts = starts;
    }

    /// Others have worked until this time of the place's clock.
    pub fn catch_up(&mut self, until: Duration) {
        self.place.catch_up(until);
    }

    /// The place's clock.
    pub fn elapsed(&self) -> Duration {
        self.place.elapsed()
    }

    /// What is doubtful by now of the place.
    pub fn noticed(&self) -> Vec<Warning> {
        self.place.noticed()
    }

    /// Runs one trial.
    ///
    /// # Errors
    /// Only what is not the server's doing.
    pub fn run(
        &mut self,
        order: &Order,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, PlaceError> {
        let boot = match self.ensure_running(order, tell)? {
            Ok(boot) => boot,
            Err(failure) => return Ok(Outcome::BootFailed(failure)),
        };
        tell(Progress::Loading);
        let mut hopeless = hopeless(order);
        let observed = self.place.offer(&order.offer, &mut |second| {
            tell(Progress::Second(*second));
            match hopeless.look(second) {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        })?;
        if observed.failure.is_some() || order.offer.pods_away > 0 {
            self.running = None;
        }
        Ok(Outcome::Recorded(Box::new(TrialRecord {
            configuration: order.configuration,
            start: self.starts,
            load: observed.load,
            monitor: observed.monitor,
            boot,
            failure: observed.failure,
        })))
    }

    /// Stops whatever runs.
    ///
    /// # Errors
    /// A process could not be ended.
    pub fn finish(&mut self) -> Result<(), PlaceError> {
        self.running = None;
        self.place.stop()
    }

    fn ensure_running(
        &mut self,
        order: &Order,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Result<Duration, BootFailure>, PlaceError> {
        let is_asked = self.runs(order.configuration, order.variant) && !order.fresh_start;
        if let Some(running) = self.running.filter(|_| is_asked) {
            return Ok(Ok(running.boot));
        }
        self.running = None;
        self.starts += 1;
        let Order { configuration, variant, .. } = *order;
        tell(Progress::Starting { configuration, variant, start: self.starts });
        match self.place.start_variant(configuration, variant)? {
            Started::Ready { boot } => {
                self.running = Some(Running { configuration, variant, boot });
                Ok(Ok(boot))
            }
            Started::Failed(failure) => Ok(Err(failure)),
        }
    }
}

/// Ends a load that is of no use. Its server may well have as many in flight as come within the
/// latency limit, and twice as many as it can work on at a time. Where pods were taken away, what
/// too much load comes to is asked for, however many are in flight.
fn hopeless(order: &Order) -> Hopeless {
    let limit = order.latency_limit.filter(|_| order.offer.pods_away == 0);
    let most_in_flight = order.offer.offered.rate().zip(limit).map(|(rate, limit)| {
        let by_latency = rate.as_per_second() * limit.as_secs_f64();
        by_latency.max(2.0 * f64::from(order.configuration.slots()))
    });
    Hopeless::new(most_in_flight, order.latency_limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::hopeless::NoUse;
    use crate::terms::{Arrivals, Offered, Rate};

    /// 2 workers x 4 threads within 200 ms.
    fn order(rate: f64) -> Order {
        let rate = Rate::per_second(rate).unwrap();
        Order {
            configuration: Configuration::new(2, 4).unwrap(),
            variant: Variant::AS_IT_IS,
            fresh_start: false,
            offer: Offer {
                offered: Offered::Open { rate, arrivals: Arrivals::Poisson },
                warm_up: Duration::ZERO,
                duration: Duration::from_secs(5),
                seed: 1,
                connection: None,
                pods_away: 0,
            },
            latency_limit: Some(Duration::from_millis(200)),
        }
    }

    /// How many in flight are too many, if any are.
    fn line(order: Order) -> Option<f64> {
        let is_too_many = |least: &f64| {
            let mut hopeless = hopeless(&order);
            let rising = [0.0, 0.1, 0.2]
                .map(|more| hopeless.look(&LiveSecond::with_in_flight(least + more)));
            rising[2] == Some(NoUse::Overload)
        };
        (1..200).map(f64::from).find(is_too_many)
    }

    #[test]
    fn too_many_in_flight_are_more_than_come_within_the_limit_or_twice_the_slots() {
        assert_eq!(line(order(200.0)), Some(41.0), "200/s x 200 ms");
        assert_eq!(line(order(10.0)), Some(17.0), "2 x 2 x 4");
    }

    #[test]
    fn without_a_pod_none_are_too_many_and_a_generator_that_is_late_is_of_no_use_all_the_same() {
        let mut order = order(200.0);
        order.offer.pods_away = 1;
        assert_eq!(line(order), None);
        let late = LiveSecond {
            send_lag_p99: Some(Duration::from_millis(11)),
            p95: Some(Duration::from_secs(2)),
            ..LiveSecond::with_in_flight(400.0)
        };
        let mut hopeless = hopeless(&order);
        let seen = [(); 3].map(|()| hopeless.look(&late));
        assert_eq!(seen, [None, None, Some(NoUse::Late)], "later than a twentieth of 200 ms");
    }
}
