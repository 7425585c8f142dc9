//! How latencies are distributed, in the quantiles that are printed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution in seconds; all zero when nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}
