//! A queueing simulation behind the same seam as a real machine: whole sessions in virtual time,
//! with a known answer.
//!
//! In: a [`SimulatedApp`] and a seed. Out: the same records as from a real server. Deterministic by
//! seed. Computes only: no clock, process or socket.

mod app;
mod record;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use app::{Bump, ChangeEffect, Drift, SimulatedApp, SimulatedMemory};

use super::{Observed, Offer, Place, PlaceError, Started};
use crate::model::simulator::Simulator;
use crate::server::{Inspection, MinThreads, Obeys};
use crate::stats::normal;
use crate::terms::{
    BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, Bytes, Configuration, Cores,
    LiveSecond, Machine, Phase, ProcessEnd, ServerEnd, StartAdvice, TrialFailure, Variant, Warning,
};
use record::Recorder;

/// How long a server takes to stop, seconds.
const STOP_S: f64 = 0.1;
/// While the last replies are awaited, how finely their end is noticed; seconds.
const DRAIN_STEP_S: f64 = 0.01;

/// A place made of numbers.
pub struct Simulated {
    app: SimulatedApp,
    machine: Machine,
    random: Xoshiro256PlusPlus,
    /// Where in its wander the machine was at the beginning, 0..1.
    phase: f64,
    /// Virtual time since the place was made, as far as no running server is ahead of it; seconds.
    now_s: f64,
    starts: u32,
    running: Option<Running>,
    has_died: bool,
}

/// A server that was started.
struct Running {
    /// With the changes made to it.
    app: SimulatedApp,
    configuration: Configuration,
    simulator: Simulator,
    /// The place's time at the simulator's zero, seconds.
    ready_s: f64,
    /// How much slower than the app's description this start is.
    slowness: f64,
    first_pid: u32,
}

impl Running {
    /// The pods that are left hold what they held of all: everything takes so much longer in them
    /// that all together hold as much less.
    fn take_away(&mut self, pods_away: u16) {
        let left = self.app.pods.saturating_sub(pods_away).max(1);
        self.slowness *= f64::from(self.app.pods) / f64::from(left);
        self.app.pods = left;
    }
}

impl Simulated {
    /// A place with nothing running, at time zero.
    ///
    /// # Panics
    /// When the app's cores are not above zero: no machine has that few.
    pub fn new(app: SimulatedApp, seed: u64) -> Self {
        let machine = Machine {
            cpu_model: "simulated".into(),
            cores: Cores::new(app.cores).expect("a simulated machine has cores"),
            memory_bytes: Bytes(app.memory.limit_bytes),
            kernel: "simulated".into(),
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let wanders = app.drift.wander > 0.0;
        let phase = if wanders { random.random() } else { 0.0 };
        Self { app, machine, random, phase, now_s: 0.0, starts: 0, running: None, has_died: false }
    }

    /// What is simulated.
    pub fn app(&self) -> &SimulatedApp {
        &self.app
    }

    /// A factor around 1 whose logarithm is normal with this standard deviation.
    fn drift(&mut self, sd_log: f64) -> f64 {
        (sd_log * normal::quantile(self.random.random_range(1e-9..1.0))).exp()
    }

    fn failure(&self, configuration: Configuration, variant: Variant) -> Option<BootFailure> {
        let bytes = self.app.variant(variant).memory.of(configuration);
        let limit_bytes = self.app.memory.limit_bytes;
        let is_broken = variant.of_list(&self.app.changes).any(|effect| !effect.boots)
            || self.app.boot_failure.is_some_and(|fails| fails(configuration));
        let cause = if is_broken {
            let how = ServerEnd::ProcessEnded { how: ProcessEnd::ExitStatus(1) };
            let end = BootEnd::EndedEarly { how };
            BootCause::NotReady { seen: None, end, connections_for: None }
        } else if bytes > limit_bytes {
            let (setting, needed_bytes) = (configuration, bytes);
            BootCause::KilledForMemory { setting, needed_bytes, limit_bytes }
        } else {
            return None;
        };
        Some(BootFailure {
            kind: BootFailureKind::Exited,
            message: cause.into(),
            advice: BootAdvice::Start(StartAdvice::MendApp).into(),
            last_lines: Vec::new(),
        })
    }
}

impl Place for Simulated {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn catch_up(&mut self, until: Duration) {
        let idle_s = until.saturating_sub(self.elapsed()).as_secs_f64();
        self.now_s += idle_s;
        if let Some(running) = &mut self.running {
            running.ready_s += idle_s;
        }
    }

    fn elapsed(&self) -> Duration {
        let now_s = match &self.running {
            Some(running) => running.ready_s + running.simulator.now(),
            None => self.now_s,
        };
        Duration::from_secs_f64(now_s)
    }

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        Ok(Inspection {
            server_version: "simulated".into(),
            runtime_version: "simulated".into(),
            obeys: Obeys {
                workers: Some("WEB_CONCURRENCY".into()),
                max_threads: Some("PUMA_MAX_THREADS".into()),
                min_threads: MinThreads::Variable("PUMA_MIN_THREADS".into()),
            },
            ..Inspection::of(self.app.current)
        })
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.stop()?;
        self.starts += 1;
        self.now_s += self.app.boot.as_secs_f64();
        if let Some(failure) = self.failure(configuration, variant) {
            return Ok(Started::Failed(failure));
        }
        let slowness = self.drift(self.app.drift.start);
        let app = self.app.variant(variant);
        let simulator = app.simulator(configuration, self.random.random());
        self.running = Some(Running {
            app,
            configuration,
            simulator,
            ready_s: self.now_s,
            slowness,
            first_pid: 1000 * self.starts,
        });
        Ok(Started::Ready { boot: self.app.boot })
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        let drift = self.app.drift;
        let is_disturbed = drift.outliers > 0.0 && self.random.random::<f64>() < drift.outliers;
        let outlier = if is_disturbed { 1.0 + drift.outlier } else { 1.0 };
        let window = self.drift(drift.window) * outlier;
        let running = self.running.as_mut().expect("a load is offered to a server that runs");
        running.take_away(offer.pods_away);
        let dies_s = match self.app.dies_at {
            Some(at) if !self.has_died => at.as_secs_f64() - running.ready_s,
            _ => f64::INFINITY,
        };
        let mut run = Run {
            recorder: Recorder::new(offer, &running.app, running.configuration, running.first_pid),
            app: &running.app,
            began_s: running.simulator.now(),
            ready_s: running.ready_s,
            phase: self.phase,
            slowness: running.slowness * window,
            simulator: &mut running.simulator,
            dies_s,
            has_died: false,
        };
        run.recorder.begin(run.simulator.usage());
        run.simulator.begin(offer.offered, offer.seed);
        let is_cut_short = run.measure(offer, watch);
        run.drain(watch);
        let has_died = run.has_died;
        self.has_died |= has_died;
        let (load, monitor) = run.recorder.finish(is_cut_short, run.simulator.now());
        let failure = has_died.then(|| TrialFailure::Died {
            status: ServerEnd::ProcessEnded { how: ProcessEnd::Signal(libc::SIGKILL) }.into(),
            last_lines: Vec::new(),
        });
        Ok(Observed { load, monitor, failure })
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        if let Some(running) = self.running.take() {
            self.now_s = running.ready_s + running.simulator.now() + STOP_S;
        }
        Ok(())
    }
}

/// One offer being run.
struct Run<'a> {
    recorder: Recorder<'a>,
    app: &'a SimulatedApp,
    simulator: &'a mut Simulator,
    /// The simulator's time when the load began.
    began_s: f64,
    /// The place's time at the simulator's zero, seconds.
    ready_s: f64,
    phase: f64,
    slowness: f64,
    /// The simulator's time when the server dies.
    dies_s: f64,
    has_died: bool,
}

impl Run<'_> {
    /// Offers the load; true when it ended before its time.
    fn measure(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> bool {
        let (warm_up_s, total_s) =
            (offer.warm_up.as_secs_f64(), (offer.warm_up + offer.duration).as_secs_f64());
        let mut at_s = 0.0;
        while at_s < total_s {
            at_s = (at_s + 1.0_f64).min(total_s);
            self.recorder.open_second();
            self.set_slowness();
            self.run_until(self.began_s + at_s);
            let at_s = self.simulator.now() - self.began_s;
            let phase = if at_s <= warm_up_s { Phase::WarmUp } else { Phase::Measure };
            let live = self.recorder.close_second(self.simulator.usage(), at_s, phase);
            if watch(&live).is_break() || self.has_died {
                self.simulator.end();
                self.recorder.was_due_for(at_s);
                return true;
            }
        }
        self.simulator.end();
        self.recorder.was_due_for(total_s);
        false
    }

    /// Awaits the last replies, at most until their timeouts. `watch` may end that too.
    fn drain(&mut self, watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>) {
        while self.simulator.in_flight() > 0 {
            let second_ends_s = self.simulator.now() + 1.0;
            while self.simulator.in_flight() > 0 && self.simulator.now() < second_ends_s {
                let step_ends_s = (self.simulator.now() + DRAIN_STEP_S).min(second_ends_s);
                self.run_until(step_ends_s);
            }
            let at_s = self.simulator.now() - self.began_s;
            let live = self.recorder.close_second(self.simulator.usage(), at_s, Phase::Drain);
            if watch(&live).is_break() {
                let (recorder, began_s) = (&mut self.recorder, self.began_s);
                self.simulator.give_up(&mut |outcome| recorder.count(outcome, began_s));
            }
        }
    }

    /// Lets time pass; the server dies on the way when its time has come, and time stops there.
    fn run_until(&mut self, until_s: f64) {
        let (recorder, began_s) = (&mut self.recorder, self.began_s);
        let see = &mut |outcome| recorder.count(outcome, began_s);
        let dies = !self.has_died && self.dies_s <= until_s;
        self.simulator.run_until(if dies { self.dies_s } else { until_s }, see);
        if dies {
            self.has_died = true;
            self.simulator.kill(see);
        }
    }

    fn set_slowness(&mut self) {
        let age_s = self.simulator.now();
        let drift = &self.app.drift;
        let now = drift.at_age(age_s) * drift.at_time(self.ready_s + age_s, self.phase);
        self.simulator.set_slowness(self.slowness * now);
    }
}
