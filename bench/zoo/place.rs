//! The zoo as a place that trials can run at, in virtual time: the same seam as a real machine, and
//! nothing behind it that the program's own simulation has.

use std::ops::ControlFlow;
use std::time::Duration;

use sweetspot::place::{Observed, Offer, Place, PlaceError, Started};
use sweetspot::server::{Inspection, MinThreads, Obeys};
use sweetspot::terms::{
    BootAdvice, BootCause, BootFailure, BootFailureKind, Bytes, Configuration, Cores, LiveSecond,
    Machine, Phase, StartAdvice, Variant, Warning,
};

use super::app::{App, Case};
use super::record::Recorder;
use super::simulation::Simulation;

const STOP_S: f64 = 0.2;
/// How finely the end of the last replies is noticed, seconds.
const DRAIN_STEP_S: f64 = 0.02;

/// See the head of this file.
pub struct Zoo {
    app: App,
    current: Configuration,
    machine: Machine,
    simulation: Simulation,
    running: Option<Configuration>,
    starts: u32,
}

impl Zoo {
    pub fn new(case: &Case, seed: u64) -> Self {
        let app = case.app.clone();
        let machine = Machine {
            cpu_model: "zoo".into(),
            cores: Cores::new(app.cores()).expect("a machine of the zoo has cores"),
            memory_bytes: Bytes(app.memory.limit_bytes),
            kernel: "zoo".into(),
        };
        let simulation = Simulation::new(app.clone(), true, seed ^ 0x6d61_6368, seed);
        Self { app, current: case.current, machine, simulation, running: None, starts: 0 }
    }

    fn pass(&mut self, seconds: f64) {
        let until_s = self.simulation.now_s() + seconds;
        self.simulation.run_until(until_s, &mut |_| {});
    }

    fn failure(&self, configuration: Configuration) -> Option<BootFailure> {
        let (needed_bytes, limit_bytes) =
            (self.app.memory.of(configuration), self.app.memory.limit_bytes);
        let setting = configuration;
        (needed_bytes > limit_bytes).then(|| BootFailure {
            kind: BootFailureKind::Exited,
            message: BootCause::KilledForMemory { setting, needed_bytes, limit_bytes }.into(),
            advice: BootAdvice::Start(StartAdvice::MendApp).into(),
            last_lines: Vec::new(),
        })
    }
}

impl Place for Zoo {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.simulation.now_s())
    }

    fn catch_up(&mut self, until: Duration) {
        let more_s = until.as_secs_f64() - self.simulation.now_s();
        self.pass(more_s.max(0.0));
    }

    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        Ok(Inspection {
            server_version: "zoo".into(),
            runtime_version: "zoo".into(),
            obeys: Obeys {
                workers: Some("WEB_CONCURRENCY".into()),
                max_threads: Some("RAILS_MAX_THREADS".into()),
                min_threads: MinThreads::Variable("RAILS_MIN_THREADS".into()),
            },
            ..Inspection::of(self.current)
        })
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        _: Variant,
    ) -> Result<Started, PlaceError> {
        self.stop()?;
        self.starts += 1;
        self.pass(self.app.boot_s);
        if let Some(failure) = self.failure(configuration) {
            return Ok(Started::Failed(failure));
        }
        let slowness = self.simulation.machine.start();
        self.simulation.start(configuration, slowness, false);
        self.running = Some(configuration);
        Ok(Started::Ready { boot: Duration::from_secs_f64(self.app.boot_s) })
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        let configuration = self.running.expect("a load is offered to a server that runs");
        let began_s = self.simulation.now_s();
        let first_pid = 1000 * self.starts;
        let mut recorder = Recorder::new(offer, &self.app, configuration, first_pid, began_s);
        recorder.begin(self.simulation.usage());
        self.simulation.offer(offer.offered, offer.seed);
        let mut run = Run { simulation: &mut self.simulation, recorder, began_s };
        let is_cut_short = run.measure(offer, watch);
        run.drain(watch);
        let (load, monitor) = run.recorder.finish(is_cut_short);
        Ok(Observed { load, monitor, failure: None })
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        if self.running.take().is_some() {
            self.simulation.end();
            self.pass(STOP_S);
        }
        Ok(())
    }
}

/// One offer being run.
struct Run<'a> {
    simulation: &'a mut Simulation,
    recorder: Recorder<'a>,
    /// The simulation's time when the load began.
    began_s: f64,
}

impl Run<'_> {
    /// Offers the load; true when it ended before its time.
    fn measure(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> bool {
        let warm_up_s = offer.warm_up.as_secs_f64();
        let total_s = warm_up_s + offer.duration.as_secs_f64();
        let mut at_s = 0.0;
        let mut is_cut_short = false;
        while at_s < total_s && !is_cut_short {
            at_s = (at_s + 1.0_f64).min(total_s);
            self.recorder.open_second();
            self.run_until(self.began_s + at_s);
            let phase = if at_s <= warm_up_s { Phase::WarmUp } else { Phase::Measure };
            is_cut_short = self.close_second(at_s, phase, watch);
        }
        self.simulation.end();
        self.recorder.was_due_for(at_s);
        is_cut_short
    }

    /// Awaits the last replies, at most until their clients give up.
    fn drain(&mut self, watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>) {
        while self.simulation.in_flight() > 0 {
            let second_ends_s = self.simulation.now_s() + 1.0;
            while self.simulation.in_flight() > 0 && self.simulation.now_s() < second_ends_s {
                self.run_until(self.simulation.now_s() + DRAIN_STEP_S);
            }
            let at_s = self.simulation.now_s() - self.began_s;
            if self.close_second(at_s, Phase::Drain, watch) {
                let recorder = &mut self.recorder;
                self.simulation.give_up(&mut |outcome| recorder.count(outcome));
            }
        }
    }

    /// Whether `watch` ends it.
    fn close_second(
        &mut self,
        at_s: f64,
        phase: Phase,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> bool {
        let live = self.recorder.close_second(self.simulation.usage(), at_s, phase);
        watch(&live).is_break()
    }

    fn run_until(&mut self, until_s: f64) {
        let recorder = &mut self.recorder;
        self.simulation.run_until(until_s, &mut |outcome| recorder.count(outcome));
    }
}
