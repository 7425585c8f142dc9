//! What the search asks for: as the order that a trial is run by, and measured.

use crate::place::{Offer, PlaceError};
use crate::search::TrialRequest;
use crate::summary::trial::{Context, summarise};
use crate::terms::{
    BootFailure, Doubt, Goals, LoadDoubt, Slo, TrialPurpose, TrialRecord, TrialSummary, Warning,
};
use crate::trial::{Order, Outcome, Progress, Runner};

/// What a request came to.
pub enum Measured {
    Trial(Box<TrialSummary>, Box<TrialRecord>),
    BootFailed(BootFailure),
}

/// Runs the trial of one request and sums it up. `seed`: the session's; of `context` the end is
/// when the place's clock began.
///
/// # Errors
/// Only what is not the server's doing.
pub fn measure(
    runner: &mut Runner<'_>,
    request: &TrialRequest,
    seed: u64,
    context: Context<'_>,
    tell: &mut dyn FnMut(Progress),
) -> Result<Measured, PlaceError> {
    let order = order(request, seed, context.id, context.goals);
    Ok(match runner.run(&order, tell)? {
        Outcome::BootFailed(failure) => Measured::BootFailed(failure),
        Outcome::Recorded(record) => {
            let ended_s = context.ended_s + runner.elapsed().as_secs_f64();
            let summary = summarise(&record, &Context { ended_s, ..context });
            let summary = TrialSummary { variant: request.variant, ..summary };
            Measured::Trial(Box::new(summary), record)
        }
    })
}

/// The order of one request. `goals`: as far as they are settled, so that a load which clearly
/// cannot meet them ends early. By Little's law no more are in flight than come within the limits
/// of their own goals, each as often as it is asked for: within the mean of these limits. `seed`:
/// the session's; `id`: the trial's.
pub fn order(request: &TrialRequest, seed: u64, id: u32, goals: &Goals) -> Order {
    Order {
        configuration: request.configuration,
        variant: request.variant,
        fresh_start: request.fresh_start,
        offer: Offer {
            offered: request.offered,
            warm_up: request.warm_up,
            duration: request.duration,
            seed: seed.wrapping_add(arrivals(request, id)),
            connection: request.connection,
            pods_away: request.pods_away,
        },
        latency_limit: goals.mean_limit(Slo::tightest_limit),
    }
}

/// Arrivals of its own by the trial's id; those of several lie where no id is.
fn arrivals(request: &TrialRequest, id: u32) -> u64 {
    const COMMON: u64 = 1 << 32;
    request.common_arrivals.map_or(u64::from(id), |number| COMMON + u64::from(number))
}

/// That a load was ended early is the verdict's to say; what is slow or fails without a pod is what
/// was asked.
pub fn is_told_by(purpose: TrialPurpose, warning: &Warning) -> bool {
    use LoadDoubt::{FailedReplies, LoadCutShort, Unanswered, WaitedForPlace};
    let Some(Doubt::Load(doubt)) = warning.doubt() else { return false };
    match doubt {
        LoadCutShort { .. } => true,
        FailedReplies { .. } | Unanswered { .. } | WaitedForPlace { .. } => {
            purpose == TrialPurpose::LostPod
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::GeneratorDoubt;

    #[test]
    fn without_a_pod_failed_requests_are_the_answer_and_a_busy_generator_is_a_doubt_all_the_same() {
        let warnings: [Warning; 4] = [
            LoadDoubt::FailedReplies { failed: 50, replies: 100, commonest_status: None }.into(),
            LoadDoubt::Unanswered { requests: 50, due: 100, silent_s: None }.into(),
            LoadDoubt::LoadCutShort { after_s: 3.0, is_unmeasured: false }.into(),
            GeneratorDoubt::LoopBusy { busy_ratio: 0.95 }.into(),
        ];
        let told = |purpose| warnings.each_ref().map(|it| is_told_by(purpose, it));
        assert_eq!(told(TrialPurpose::LostPod), [true, true, true, false]);
        assert_eq!(told(TrialPurpose::Probe), [false, false, true, false]);
    }
}
