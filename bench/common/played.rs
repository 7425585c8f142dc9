//! A whole search, or verification, on a place that needs no clock.

use std::time::Duration;

use sweetspot::model::Form;
use sweetspot::place::Place;
use sweetspot::report::Language;
use sweetspot::search::{
    PRECISION, Search, SearchPlan, Told, TrialRequest, Verify, VerifyAnswer, VerifyPlan,
};
use sweetspot::session::crew::Crew;
use sweetspot::session::order::Measured;
use sweetspot::summary::trial::Context;
use sweetspot::terms::{Arrivals, Configuration, Goals, Objective, Slo, TrialSummary};

use super::Result;
use super::trial::context;

/// A search that has ended.
pub struct Played {
    pub search: Search,
    pub trials: Vec<TrialSummary>,
    /// Of the place's clock.
    pub elapsed_s: f64,
}

impl Played {
    /// Seconds of load in all.
    pub fn load_s(&self) -> f64 {
        self.trials.iter().map(|trial| trial.load_s).sum()
    }
}

/// What asks for trials.
trait Asks {
    /// At once, each on a place of its own; empty: it is done.
    fn ask(&mut self) -> Vec<TrialRequest>;
    fn tell(&mut self, told: Told);
    /// The goal, once it is settled.
    fn slo(&self) -> Option<&Slo>;
    fn unloaded_s(&self) -> Option<f64>;
}

impl Asks for Search {
    fn ask(&mut self) -> Vec<TrialRequest> {
        self.ask()
    }

    fn tell(&mut self, told: Told) {
        self.tell(told);
    }

    fn slo(&self) -> Option<&Slo> {
        self.slo()
    }

    fn unloaded_s(&self) -> Option<f64> {
        self.unloaded_s()
    }
}

/// A verification with what the session before it knew.
struct Recheck<'a> {
    verify: Verify,
    slo: &'a Slo,
    unloaded_s: Option<f64>,
}

impl Asks for Recheck<'_> {
    fn ask(&mut self) -> Vec<TrialRequest> {
        self.verify.ask()
    }

    fn tell(&mut self, told: Told) {
        self.verify.tell(told);
    }

    fn slo(&self) -> Option<&Slo> {
        Some(self.slo)
    }

    fn unloaded_s(&self) -> Option<f64> {
        self.unloaded_s
    }
}

/// Of a server with threads, on one place with one core, where nothing else is known or asked for.
pub fn plan(
    grid: Vec<Configuration>,
    current: Configuration,
    budget: Duration,
    seed: u64,
) -> SearchPlan {
    SearchPlan {
        grid,
        current,
        slo: None,
        cores: 1.0,
        form: Form::Threads,
        generator_shares_cores: false,
        memory: None,
        db_connections: None,
        arrivals: Arrivals::Poisson,
        other_connection: None,
        objective: Objective::default(),
        changes: Vec::new(),
        places: 1,
        compares_latency: false,
        pods: 1,
        budget,
        soak: None,
        precision: PRECISION,
        seed,
    }
}

/// Runs what the search asks for until it asks for nothing more, on as many places as the plan
/// says; `seen` is shown the search after each step, with the seconds of the places' clock. With
/// `TRACE` set, prints a line for each trial.
///
/// # Errors
/// A place fails us.
pub fn play(
    places: Vec<&mut dyn Place>,
    plan: SearchPlan,
    seen: &mut dyn FnMut(&Search, f64),
) -> Result<Played> {
    let (seed, cores) = (plan.seed, plan.cores);
    let goals = plan.slo.clone().map(Goals::one).unwrap_or_default();
    let mut search = Search::new(plan);
    let (trials, elapsed_s) = run(places, &mut search, &goals, seed, cores, seen)?;
    Ok(Played { search, trials, elapsed_s })
}

/// Runs a verification of `before`, whose goal is `slo`.
///
/// # Errors
/// The place fails us.
pub fn verify(
    place: &mut dyn Place,
    plan: VerifyPlan,
    before: &Played,
    slo: &Slo,
    cores: f64,
) -> Result<VerifyAnswer> {
    let seed = plan.seed;
    let unloaded_s = before.search.unloaded_s();
    let mut recheck = Recheck { verify: Verify::new(plan), slo, unloaded_s };
    run(vec![place], &mut recheck, &Goals::one(slo.clone()), seed, cores, &mut |_, _| {})?;
    Ok(recheck.verify.answer())
}

/// The trials, and the seconds of the places' clock at the end.
fn run<T: Asks>(
    places: Vec<&mut dyn Place>,
    asks: &mut T,
    goals: &Goals,
    seed: u64,
    cores: f64,
    seen: &mut dyn FnMut(&T, f64),
) -> Result<(Vec<TrialSummary>, f64)> {
    let mut crew = Crew::new(places, 0);
    let mut trials: Vec<TrialSummary> = Vec::new();
    loop {
        let requests = asks.ask();
        if requests.is_empty() {
            break;
        }
        let (goals, unloaded_s) = (goals.with_common(asks.slo()), asks.unloaded_s());
        let ids = trials.len() as u32 + 1..;
        let wanted = requests.iter().zip(ids).map(|(request, id)| {
            let purpose = request.purpose;
            (*request, Context { id, purpose, unloaded_s, ..context(&goals, cores) })
        });
        let measured = crew.run(&wanted.collect::<Vec<_>>(), seed, &mut |_, _| {});
        let ended_s = crew.elapsed().as_secs_f64();
        for (request, measured) in requests.iter().zip(measured) {
            asks.tell(match measured? {
                Measured::BootFailed(failure) => Told::BootFailed {
                    configuration: request.configuration,
                    reason: failure.message,
                    ended_s,
                },
                Measured::Trial(summary, _) => {
                    trials.push(*summary.clone());
                    Told::Trial(summary)
                }
            });
        }
        seen(asks, ended_s);
    }
    crew.finish()?;
    if std::env::var_os("TRACE").is_some() {
        trials.iter().for_each(trace);
    }
    Ok((trials, crew.elapsed().as_secs_f64()))
}

/// A line for one trial: to see what a session did, with `TRACE=1 SESSIONS=1 SEED=...`.
fn trace(trial: &TrialSummary) {
    println!(
        "{:6.1} s start {:2} {:7} {:9} {:10} {:28} {:9} {:6.1} rps resolution {:.3} {}",
        trial.ended_s,
        trial.start,
        trial.configuration.to_string(),
        format!("{:?}", trial.purpose),
        format!("{:?}", trial.warm_up.kind),
        trial.offered.rate().map_or(String::new(), |rate| format!("{:.1}/s", rate.as_per_second())),
        format!("{:?}", trial.verdict),
        trial.summary.throughput_rps,
        trial.resolution,
        Language::DATA.say(&trial.reason)
    );
}
