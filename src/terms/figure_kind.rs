//! The figures that comparisons are about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Requests/s, of the recommended setting or the one named.
    Capacity,
    /// Requests/s, of the setting that was current.
    CurrentCapacity,
    /// The recommended setting's capacity divided by the current one's.
    Gain,
    /// Bytes, of all the server's processes.
    Memory,
    /// CPU seconds of the server.
    CpuPerRequest,
    /// Requests/s.
    Throughput,
    LatencyP50,
    LatencyP95,
    LatencyP99,
    /// Of all requests.
    LatencyMean,
    /// Mean time before the app began with a request.
    QueueTime,
    /// Share of the requests that failed.
    Errors,
}

impl FigureKind {
    /// False for rates, true for what costs something.
    pub fn is_less_better(self) -> bool {
        !matches!(self, Self::Capacity | Self::CurrentCapacity | Self::Gain | Self::Throughput)
    }
}
