//! Which setting.
//!
//! In: what a request costs, and what there is. Out: what is expected of each setting, and the one
//! to run. Computes only.

use super::busy::{Slower, slower_when_busy};
use super::demand::Request;
use super::seen::Seen;
use crate::model::simulator::{Admission, Lock};
use crate::model::{Correction, Form, Measured, WhatIf, memory, stay};
use crate::search::USUAL_THREADS;
use crate::terms::{
    AdviseRefusal, Bytes, Configuration, Cores, Growth, PredictedSetting, QuantileLimit,
};

/// Settings of this share of the best one's likely capacity count as equal: the smaller is run.
const EQUAL: f64 = 0.98;
/// What runs stays unless another is likely to hold so much more: a change is work, and the model
/// is not exact.
const WORTH_A_CHANGE: f64 = 1.05;
/// Standard deviations from one end of an interval of 95 % to the other.
const WIDTH: f64 = 3.92;
/// How many standard deviations a setting is taken to hold less than is expected of it. Where the
/// model is right the less the better, as doubt keeps the choice near what runs; where requests
/// slow each other down, which watching does not show, the more the better. Judgement between the
/// two: `doubt_gives_little_away_and_guards_against_what_the_model_does_not_know` sets 1, 0.3 and 0
/// beside it.
pub(super) const DOUBT: f64 = 0.5;
/// Workers that are considered at most.
const WORKERS_MOST: f64 = 64.0;

/// What was chosen, and from what.
pub struct Choice {
    /// Requests slow down more with traffic than the model says.
    pub slower: Option<Slower>,
    pub current: PredictedSetting,
    pub advised: PredictedSetting,
    /// The highest capacity first.
    pub all: Vec<PredictedSetting>,
}

/// Up to twice as many workers as cores, with the usual threads; `one_thread`: with one each.
pub fn usual_settings(cores: Cores, one_thread: bool) -> Vec<Configuration> {
    let most = (2.0 * cores.get()).ceil().clamp(1.0, WORKERS_MOST) as u16;
    let threads = if one_thread { &USUAL_THREADS[..1] } else { &USUAL_THREADS[..] };
    let all = (1..=most).flat_map(|workers| threads.iter().map(move |&it| (workers, it)));
    all.filter_map(|(workers, threads)| Configuration::new(workers, threads).ok()).collect()
}

/// # Errors
/// The current setting cannot keep up with what it got, or nothing is within the goal, or nothing
/// of that fits into the memory.
pub fn choose(
    seen: &Seen,
    request: &Request,
    goal: QuantileLimit,
    settings: &[Configuration],
) -> Result<Choice, AdviseRefusal> {
    let rate_rps = seen.met_rps();
    if stay(&request.fit.demand, seen.setting, seen.cores.get(), rate_rps).is_none() {
        return Err(AdviseRefusal::AlreadyFull { rate_rps });
    }
    let known = known(seen, request, goal);
    let what_if = WhatIf::as_measured(seen.cores.get(), goal);
    let expect =
        |at: Configuration| known.expect(at, &what_if).as_setting(at, seen.cores, seen.memory);
    let mut grid = settings.to_vec();
    grid.push(seen.setting);
    grid.sort_unstable();
    grid.dedup();
    let mut all: Vec<PredictedSetting> = grid.into_iter().map(expect).collect();
    all.sort_by(|a, b| b.capacity_rps.total_cmp(&a.capacity_rps));
    let current = expect(seen.setting);
    let slower = slower_when_busy(seen, request);
    let is_open = |it: &PredictedSetting| slower.is_none() || is_clearly_safe(it, &current);
    let can_run = |it: &&PredictedSetting| it.ruled_out.is_none() && is_open(it);
    let open: Vec<&PredictedSetting> = all.iter().filter(can_run).collect();
    let advised = to_run(&open, &current, DOUBT).ok_or_else(|| refusal(&all, seen.memory))?.clone();
    Ok(Choice { slower, current, advised, all })
}

/// Why none of these is to be run.
fn refusal(all: &[PredictedSetting], memory: Bytes) -> AdviseRefusal {
    let within_goal = || all.iter().filter(|it| it.capacity_rps > 0.0);
    let least = within_goal().filter_map(|it| it.memory_bytes).min();
    match least.filter(|_| within_goal().all(|it| it.ruled_out.is_some())) {
        Some(needed_bytes) => AdviseRefusal::NothingFits { needed_bytes, limit_bytes: memory.0 },
        None => AdviseRefusal::NothingWithinGoal,
    }
}

/// The smallest of those that are as good as the best of `open`, or the current one where that is
/// not worth a change; `None` where nothing is within the goal. `doubt`: see [`DOUBT`].
pub(super) fn to_run<'a>(
    open: &[&'a PredictedSetting],
    current: &'a PredictedSetting,
    doubt: f64,
) -> Option<&'a PredictedSetting> {
    let likely = |it: &PredictedSetting| likely_rps(it, doubt);
    let best = open.iter().map(|it| likely(it)).max_by(f64::total_cmp).filter(|rps| *rps > 0.0)?;
    let equal = open.iter().copied().filter(|it| likely(it) >= EQUAL * best);
    let size = |it: &PredictedSetting| (it.workers, it.threads);
    let smallest = equal.min_by_key(|it| size(it))?;
    let stays = current.ruled_out.is_none() && WORTH_A_CHANGE * likely(current) >= best;
    Some(if stays && size(smallest) >= size(current) { current } else { smallest })
}

/// Requests that wait for each other where the model does not see it wait the longer, the more
/// there are at once. So no more threads in all, unless even the low end of what is expected is
/// more than is expected of the current setting.
fn is_clearly_safe(setting: &PredictedSetting, current: &PredictedSetting) -> bool {
    let slots = |it: &PredictedSetting| u32::from(it.workers) * u32::from(it.threads);
    slots(setting) <= slots(current) || setting.capacity_rps_interval[0] > current.capacity_rps
}

/// Its capacity less `doubt` standard deviations of its logarithm: with half of one what it holds
/// with 69 %. The farther a setting lies from what was seen, the less it is believed.
fn likely_rps(setting: &PredictedSetting, doubt: f64) -> f64 {
    let [low, high] = setting.capacity_rps_interval;
    if low > 0.0 { setting.capacity_rps * (low / high).powf(doubt / WIDTH) } else { 0.0 }
}

/// As if one session had measured it.
fn known(seen: &Seen, request: &Request, goal: QuantileLimit) -> Measured {
    let Configuration { workers, threads } = seen.setting;
    Measured {
        fit: request.fit.clone(),
        form: Form::Threads,
        throughput_correction: Correction::default(),
        capacity_correction: Correction::default(),
        memory: seen.memory_bytes.and_then(|bytes| memory(&[(seen.setting, bytes)])),
        // These two count where requests are played one by one, which is not done here.
        lock: Lock::None,
        admission: [Admission::Random; 2],
        goal: Some(goal),
        held_share: 1.0,
        sizes: request.sizes,
        cores: seen.cores.get(),
        workers: [workers.get(); 2],
        threads: [threads.get(); 2],
    }
}

impl Choice {
    /// Where the current setting ends, beside `rate_rps`, the most that it got.
    pub fn growth(&self, rate_rps: f64) -> Option<Growth> {
        let at_rps = self.current.capacity_rps;
        (at_rps > 0.0 && rate_rps > 0.0).then(|| Growth {
            limit: self.current.limit.kind,
            at_rps,
            at_rps_interval: self.current.capacity_rps_interval,
            times: at_rps / rate_rps,
        })
    }
}
