//! What could not be watched, in English.

use crate::report::figures::count;
use crate::terms::BlindSpot;

pub fn sentence(spot: &BlindSpot) -> String {
    match spot {
        BlindSpot::NothingWatched => {
            "nothing was watched: the watching thread could not run".into()
        }
        BlindSpot::NoShell { said } => {
            format!("the command of --observe gave no shell to look by: {said}")
        }
        BlindSpot::NoShellGiven { has_platform } => no_shell_given(*has_platform).into(),
        BlindSpot::OnlyWholeMinutes => {
            "what the app used is CloudWatch's figure of its task, all containers together, in \
             the whole minutes within the load: single workers are not seen"
                .into()
        }
        BlindSpot::CoresUnknown => {
            "/proc/stat cannot be read, so nothing is known of the cores".into()
        }
        BlindSpot::CoreWaitsUnknown => {
            "this kernel keeps no scheduler statistics, so waiting for a core is not seen".into()
        }
        BlindSpot::CoreWaitsOutside => {
            "from inside its container it is not seen how long it waited for a core".into()
        }
        BlindSpot::GroupMissing { folder } => format!("the control group {folder} is not there"),
        BlindSpot::ProcessHidden { pid } => format!(
            "/proc hides process {pid} (mounted with hidepid), so only its user and who has \
             CAP_SYS_PTRACE can watch it"
        ),
        BlindSpot::ProcessGone { pid } => {
            format!("process {pid} had ended before it could be watched")
        }
        BlindSpot::ListenQueueUnseen { port } => {
            let of = port.map(|port| format!(" of port {port}")).unwrap_or_default();
            format!("the listen queue{of} could not be seen all the time")
        }
        BlindSpot::MemoryRefused { pid } => {
            format!(
                "the memory of process {pid} may not be read; watch as its user or with \
                 CAP_SYS_PTRACE"
            )
        }
        BlindSpot::ProbeUnheard { error } => format!("the probe cannot be heard: {error}"),
        BlindSpot::ProbeSilent => {
            "no process of the server told anything from inside: no request ended, the app does \
             not start from a rackup file, its workers run as another user, or the path of the \
             temporary folder has a blank in it (TMPDIR)"
                .into()
        }
        BlindSpot::CollectionUnknown => {
            "this Ruby does not tell how long it collects garbage (3.1 and later do, unless the \
             app turns that off), so it is not seen from inside"
                .into()
        }
        BlindSpot::LockWaitUnknown => {
            "this Ruby does not tell how long threads wait for its lock (3.2 and later do, with \
             the gem gvltools in the app's bundle), so it is not seen from inside"
                .into()
        }
        BlindSpot::ProbeOfOtherVersion => {
            "what a probe of another version told from inside the server was left out".into()
        }
        BlindSpot::ProbeNotUnderstood => {
            "something came through the probe's socket that no probe sends; it was left out".into()
        }
        BlindSpot::StampsOdd { requests } => stamps_odd(*requests),
    }
}

fn stamps_odd(requests: u64) -> String {
    format!(
        "{} came with an X-Request-Start that makes no sense here, as where the clock of what is \
         in front is more than 10 ms ahead: how long these waited before the app is not seen",
        count(requests, "request", "requests")
    )
}

fn no_shell_given(has_platform: bool) -> &'static str {
    match has_platform {
        true => {
            "CPU and memory of the app are not seen in a load: no shell was given to look by \
             (--observe), and what its platform records has no whole minute of it, for which it \
             has to last two"
        }
        false => {
            "CPU and memory of the app are not seen, as no shell was given to look by (--observe)"
        }
    }
}
