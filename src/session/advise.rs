//! What `sweetspot advise` does: watches a running server at its own traffic, or reads what perfm
//! recorded of one, and says which setting it should run with.
//!
//! In: a [`Question`]. Out: an [`AdviseReport`]. It sends nothing and changes nothing.

mod perfm;
mod probe;
mod question;
mod running;
mod watched;

use crate::advise::{self, usual_settings};
use crate::terms::{AdviseReport, StopSignal};
pub use probe::{PROBE_SOCKET, ProbeError, write_probe};
pub use question::{AdviseError, Meanwhile, PerfmError, Question, Source};

/// Watches or reads, and advises. `tell` gets what there is to say meanwhile.
///
/// # Errors
/// Nothing was seen.
pub fn advise(
    question: &Question,
    stop: &StopSignal,
    tell: &mut dyn FnMut(Meanwhile),
) -> Result<AdviseReport, AdviseError> {
    let seen = match &question.source {
        Source::Server { subject, socket, length } => {
            watched::seen(question, (subject, socket, *length), stop, tell)?
        }
        Source::Perfm { file, instances } => perfm::seen(question, file, *instances)?,
    };
    let has_one_thread = seen.setting.threads.get() == 1 && question.threads.is_none();
    let settings = usual_settings(seen.cores, has_one_thread);
    Ok(advise::advise(&seen, question.slo.as_ref(), &settings))
}
