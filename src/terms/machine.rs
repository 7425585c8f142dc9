//! The machine a trial ran on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::{Bytes, Cores};

/// What has to be the same before two figures may be compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// As the kernel names it; [`Machine::UNKNOWN`] where that cannot be seen.
    pub cpu_model: String,
    /// Cores the app server may use: the smaller of affinity, quota and what was asked for.
    pub cores: Cores,
    /// Memory the app server may use: the smaller of the machine's, the control group's and what
    /// was asked for.
    pub memory_bytes: Bytes,
    /// Kernel release, or likewise.
    pub kernel: String,
}

impl Machine {
    /// Of a machine elsewhere that nobody could look at.
    pub const UNKNOWN: &str = "unknown";

    pub fn known_cpu_model(&self) -> Option<&str> {
        Some(&*self.cpu_model).filter(|it| *it != Self::UNKNOWN)
    }

    pub fn known_kernel(&self) -> Option<&str> {
        Some(&*self.kernel).filter(|it| *it != Self::UNKNOWN)
    }
}
