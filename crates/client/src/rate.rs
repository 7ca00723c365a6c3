//! A maximum number per period.

use serde::{Deserialize, Serialize};

/// A maximum number per period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// The maximum in any window of the period.
    pub limit: u64,
    /// ISO 8601, such as `PT1M`.
    pub period: String,
}
