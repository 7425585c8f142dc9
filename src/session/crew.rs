//! Places on which trials run at once, one on each.
//!
//! In: places, and what a search asks for. Out: what each trial came to. Must not choose a trial.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::order::{Measured, measure};
use crate::place::{Place, PlaceError};
use crate::search::TrialRequest;
use crate::summary::trial::Context;
use crate::terms::{Configuration, Variant, Warning};
use crate::trial::{Progress, Runner};

/// A runner for each place.
pub struct Crew<'a> {
    runners: Vec<Runner<'a>>,
    /// How often each setting was started on each place: settings that are compared take turns on
    /// them, so that no place is one setting's.
    begun: BTreeMap<(Configuration, Variant, usize), u32>,
    /// Of all places together.
    starts: u32,
}

impl<'a> Crew<'a> {
    /// At least one place. The first start will be number `starts` + 1.
    pub fn new(places: Vec<&'a mut dyn Place>, starts: u32) -> Self {
        let runners = places.into_iter().map(|place| Runner::new(place, starts)).collect();
        Self { runners, begun: BTreeMap::new(), starts }
    }

    /// The clock of the place that is furthest.
    pub fn elapsed(&self) -> Duration {
        self.runners.iter().map(Runner::elapsed).max().unwrap_or_default()
    }

    /// What is doubtful by now of the places.
    pub fn noticed(&self) -> Vec<Warning> {
        self.runners.iter().flat_map(Runner::noticed).collect()
    }

    /// Stops whatever runs.
    ///
    /// # Errors
    /// Of the first place where something could not be ended; the others are stopped all the same.
    pub fn finish(&mut self) -> Result<(), PlaceError> {
        let ended: Vec<_> = self.runners.iter_mut().map(Runner::finish).collect();
        ended.into_iter().collect()
    }

    /// Runs each on a place of its own, all at once; what they came to, in this order. There are no
    /// more of them than places. `seed`: the session's; `tell` also gets whose progress it is.
    pub fn run(
        &mut self,
        trials: &[(TrialRequest, Context<'_>)],
        seed: u64,
        tell: &mut dyn FnMut(usize, Progress),
    ) -> Vec<Result<Measured, PlaceError>> {
        let places = self.places_for(trials);
        if let ([(request, context)], [place]) = (trials, &places[..]) {
            let runner = &mut self.runners[*place];
            return vec![measure(runner, request, seed, *context, &mut |it| tell(0, it))];
        }
        let mut free: BTreeMap<usize, &mut Runner<'a>> =
            self.runners.iter_mut().enumerate().collect();
        let (sender, progress) = mpsc::channel();
        let all = thread::scope(|scope| {
            let mut running = Vec::new();
            for (index, ((request, context), place)) in trials.iter().zip(&places).enumerate() {
                let runner = free.remove(place).expect("no place is chosen twice");
                let sender = sender.clone();
                running.push(scope.spawn(move || {
                    // Who listens is there as long as we are.
                    let mut tell = |it| sender.send((index, it)).unwrap_or_default();
                    measure(runner, request, seed, *context, &mut tell)
                }));
            }
            drop(sender);
            progress.iter().for_each(|(index, it)| tell(index, it));
            let ended = running.into_iter().map(|it| it.join());
            ended.map(|it| it.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        let until = self.elapsed();
        self.runners.iter_mut().for_each(|runner| runner.catch_up(until));
        all
    }

    /// Where its server runs, as far as that is to be asked again; else where it ran least.
    fn places_for(&mut self, trials: &[(TrialRequest, Context<'_>)]) -> Vec<usize> {
        let runs_at = |request: &TrialRequest| {
            let mut places = self.runners.iter().enumerate();
            let running = places.find(|(_, it)| it.runs(request.configuration, request.variant));
            running.map(|(place, _)| place).filter(|_| !request.fresh_start)
        };
        let mut places: Vec<Option<usize>> = trials.iter().map(|(it, _)| runs_at(it)).collect();
        for (index, (request, _)) in trials.iter().enumerate() {
            if places[index].is_some() {
                continue;
            }
            let arm = |place| (request.configuration, request.variant, place);
            let is_free = |place: &usize| !places.contains(&Some(*place));
            let least =
                |place: &usize| (self.begun.get(&arm(*place)).copied().unwrap_or(0), *place);
            let place = (0..self.runners.len()).filter(is_free).min_by_key(least);
            let place = place.expect("there are as many places as trials");
            *self.begun.entry(arm(place)).or_default() += 1;
            self.runners[place].count_starts_from(self.starts);
            self.starts += 1;
            places[index] = Some(place);
        }
        places.into_iter().flatten().collect()
    }
}
