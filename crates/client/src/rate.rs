use serde::{Deserialize, Serialize};

/// So many in each period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many in any window of the period.
    pub limit: u64,
    /// ISO 8601, such as `PT1M`.
    pub period: String,
}
