//! What is doubtful and what to do about it, in English.

mod of_clusters;
mod of_loads;
mod of_predictions;

use super::{finding, limit_refusal, obstacle};
use crate::report::figures;
use crate::report::wording::FindingWords;
use crate::terms::{
    Bytes, CapacityDoubt, ChangeNotThere, Doubt, LoadOffered, MachineDoubt, SessionDoubt,
};

/// What was seen.
pub fn message(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Generator(doubt) => of_loads::of_generator(doubt),
        Doubt::Load(doubt) => of_loads::message(doubt),
        Doubt::Capacity(doubt) => of_capacity(doubt),
        Doubt::Machine(doubt) => of_machine(doubt),
        Doubt::Check(check) => {
            let FindingWords { what, figure, .. } = finding::words(check);
            format!("{what}: {figure}")
        }
        Doubt::Session(doubt) => of_session(doubt),
        Doubt::Prediction(doubt) => of_predictions::message(doubt),
        Doubt::Cluster(doubt) => of_clusters::message(doubt),
    }
}

/// What to do.
pub fn advice(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Generator(doubt) => of_loads::advice_on_generator(doubt).into(),
        Doubt::Load(doubt) => of_loads::advice(doubt),
        Doubt::Capacity(doubt) => advice_on_capacity(doubt).into(),
        Doubt::Machine(doubt) => advice_on_machine(doubt).into(),
        Doubt::Check(check) => finding::words(check).advice,
        Doubt::Session(doubt) => advice_on_session(doubt).into(),
        Doubt::Prediction(doubt) => of_predictions::advice(doubt),
        Doubt::Cluster(doubt) => of_clusters::advice(doubt),
    }
}

fn of_capacity(doubt: &CapacityDoubt) -> String {
    match doubt {
        CapacityDoubt::ServerGone { load } => {
            let load = match load {
                LoadOffered::RateRps(rps) => figures::rate(*rps),
                LoadOffered::Clients(clients) => format!("{clients} clients"),
            };
            format!("the server stopped answering at {load}; the search ended there")
        }
        CapacityDoubt::SearchCutShort { after_s } => {
            format!("the search was ended after {after_s:.0} s")
        }
        CapacityDoubt::GeneratorLimited => "the generator was the limit, not the server".into(),
        CapacityDoubt::NoUpperBound => "the SLO was met at every rate tried".into(),
        CapacityDoubt::NoCapacityNamed => "what was seen is too little to name a capacity".into(),
    }
}

fn advice_on_capacity(doubt: &CapacityDoubt) -> &'static str {
    match doubt {
        CapacityDoubt::ServerGone { .. } => {
            "its own log may say why: it may have crashed, or been restarted"
        }
        CapacityDoubt::SearchCutShort { .. } => "",
        CapacityDoubt::GeneratorLimited => of_loads::MORE_LOOPS,
        CapacityDoubt::NoUpperBound => {
            "give it more time (--duration), or a higher first guess (--rate)"
        }
        CapacityDoubt::NoCapacityNamed => "give it more time (--duration)",
    }
}

fn of_machine(doubt: &MachineDoubt) -> String {
    match doubt {
        MachineDoubt::GeneratorSharesCores { cores } => {
            format!("the load generator runs on the app server's own {cores} cores")
        }
        MachineDoubt::FewerCores { asked_cores, usable_cores } => {
            format!("{asked_cores} cores were asked for and {usable_cores} can be used here")
        }
        MachineDoubt::LessMemory { asked_bytes, usable_bytes } => format!(
            "{} of memory was asked for and {} can be used here",
            Bytes(*asked_bytes),
            Bytes(*usable_bytes)
        ),
        MachineDoubt::CoresNotEnforced { cores, why } => format!(
            "the limit of {cores} cores is not enforced, the server runs on {} whole cores ({})",
            cores.ceil(),
            limit_refusal::sentence(why)
        ),
        MachineDoubt::MemoryNotEnforced { limit_bytes, why } => format!(
            "the limit of {} of memory is not enforced ({})",
            Bytes(*limit_bytes),
            limit_refusal::sentence(why)
        ),
        MachineDoubt::AppIsRoot => {
            "the app runs as root, since its folder is root's: it may do anything here".into()
        }
    }
}

fn advice_on_machine(doubt: &MachineDoubt) -> &'static str {
    match doubt {
        MachineDoubt::GeneratorSharesCores { .. } => {
            "its share is shown with every result; give --cpus fewer than the machine has to keep \
             a core for it"
        }
        MachineDoubt::FewerCores { .. } => {
            "measure on a machine with as many cores as the server will have"
        }
        MachineDoubt::LessMemory { .. } => {
            "measure on a machine with as much memory as the server will have"
        }
        MachineDoubt::CoresNotEnforced { .. } | MachineDoubt::MemoryNotEnforced { .. } => {
            "run below a control group of yours ('systemd-run --user --scope -p Delegate=yes \
             sweetspot ...'); otherwise read the result as one without this limit"
        }
        MachineDoubt::AppIsRoot => "name a user who may do less with --user NAME",
    }
}

fn of_session(doubt: &SessionDoubt) -> String {
    match doubt {
        SessionDoubt::OneThreadOnly => {
            "the app runs one thread a worker today, so more were not tried".into()
        }
        SessionDoubt::KnobsNotThere { changes } => {
            let why =
                |it: &ChangeNotThere| format!("{}: {}", it.change, obstacle::sentence(&it.why));
            let all: Vec<String> = changes.iter().map(why).collect();
            format!("not every knob can be tried here: {}", all.join("; "))
        }
        SessionDoubt::StoreDamaged { error, readable_events }
        | SessionDoubt::StoreNewer { error, readable_events } => {
            format!("{error}; this is made from the {readable_events} events that can be read")
        }
    }
}

fn advice_on_session(doubt: &SessionDoubt) -> &'static str {
    match doubt {
        SessionDoubt::OneThreadOnly => {
            "when its code is safe to run in several threads, run again with --yes or --threads"
        }
        SessionDoubt::KnobsNotThere { .. } => "leave it out of the knobs; the others are tried",
        SessionDoubt::StoreDamaged { .. } | SessionDoubt::StoreNewer { .. } => "",
    }
}
