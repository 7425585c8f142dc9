//! Purposes, verdicts and limits as JSON, CSV and metrics name them; English has the same for most.

use crate::terms::{LimitKind, TrialPurpose, Verdict};

/// As in JSON.
pub fn purpose(purpose: TrialPurpose) -> &'static str {
    match purpose {
        TrialPurpose::Unloaded => "unloaded",
        TrialPurpose::Saturate => "saturate",
        TrialPurpose::Probe => "probe",
        TrialPurpose::Confirm => "confirm",
        TrialPurpose::Hold => "hold",
        TrialPurpose::Check => "check",
        TrialPurpose::Screen => "screen",
        TrialPurpose::LostPod => "lost_pod",
        TrialPurpose::Soak => "soak",
    }
}

/// As in JSON.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes => "yes",
        Verdict::No => "no",
        Verdict::Undecided => "undecided",
    }
}

/// As in JSON.
pub fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Cores => "cores",
        LimitKind::Quota => "quota",
        LimitKind::Gvl => "gvl",
        LimitKind::Threads => "threads",
        LimitKind::Balance => "balance",
        LimitKind::Backlog => "backlog",
        LimitKind::Backend => "backend",
        LimitKind::Memory => "memory",
        LimitKind::Proxy => "proxy",
        LimitKind::Gc => "gc",
        LimitKind::Host => "host",
        LimitKind::Generator => "generator",
        LimitKind::Unknown => "unknown",
    }
}
