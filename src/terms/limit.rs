//! What ended the growth: the resource that sets the limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, LimitAdvice, WaitingEvidence};
use super::stated::{Stated, or_empty};

/// The resources that can set the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// All cores the server may use are busy.
    Cores,
    /// The control group's quota throttles it.
    Quota,
    /// A worker's interpreter lock: one core's worth of CPU in each, however many threads.
    Gvl,
    /// Every thread waits for something outside while the CPU idles.
    Threads,
    /// Workers are unevenly used.
    Balance,
    /// The listen queue overflows.
    Backlog,
    /// A database or another service behind the app.
    Backend,
    /// Memory.
    Memory,
    /// The proxy in front.
    Proxy,
    /// Garbage collection.
    Gc,
    /// The host: steal, frequency, a neighbour.
    Host,
    /// The load generator; the trial is invalid.
    Generator,
    /// No rule holds.
    Unknown,
}

/// The limit named, how sure (0..=1), and the figures that show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    pub kind: LimitKind,
    /// 0..=1; 0 for unknown.
    pub confidence: f64,
    /// The counter with its figure.
    pub evidence: Stated<Evidence>,
    /// What to do about it; empty for unknown.
    #[serde(default, with = "or_empty")]
    #[schemars(with = "Stated<LimitAdvice>")]
    pub advice: Option<Stated<LimitAdvice>>,
}

impl Limit {
    /// No rule held; `evidence` says what was looked at.
    pub fn unknown(evidence: WaitingEvidence) -> Self {
        let evidence = Stated::Fact(evidence.into());
        Self { kind: LimitKind::Unknown, confidence: 0.0, evidence, advice: None }
    }
}
