//! Which configurations may be recommended.

use crate::plan::Plan;
use crate::terms::{Configuration, PlanSource, SessionDoubt, Warning};

/// Every combination of the plan's workers and threads. An app that runs one thread today may not
/// be safe to run with more: `consent` is asked, unless the user named the threads or said yes
/// beforehand. Without consent only one thread is tried, and the warning says so.
pub fn grid(
    plan: &Plan,
    current: Configuration,
    consent: &mut dyn FnMut(&str) -> bool,
) -> (Vec<Configuration>, Option<Warning>) {
    let is_asked_for = plan.assume_yes || plan.threads_source != PlanSource::Default;
    let wants_more = plan.threads.iter().any(|threads| threads.get() > 1);
    let is_careful = current.threads.get() == 1 && wants_more && !is_asked_for;
    let may_thread = !is_careful
        || consent(
            "This app runs one thread a worker today. More threads need code that is safe to run \
             in several threads at once. Try them?",
        );
    let all = plan.workers.iter().flat_map(|&workers| {
        plan.threads.iter().map(move |&threads| Configuration { workers, threads })
    });
    let grid: Vec<Configuration> = all.filter(|c| may_thread || c.threads.get() == 1).collect();
    let warning = (!may_thread).then(|| SessionDoubt::OneThreadOnly.into());
    (if grid.is_empty() { vec![current] } else { grid }, warning)
}
