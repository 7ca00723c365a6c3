//! What happens between regions.

use rota_federation::Circuit;

/// Something that happened between regions, for logs.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// `ojs.federation.failover`: a job goes to another region.
    Failover {
        /// The job's federation id.
        federation_id: String,
        /// The region that did not take it.
        from_region: String,
        /// The region that gets it now.
        to_region: String,
        /// Why.
        reason: String,
    },
    /// A circuit breaker has changed its state.
    CircuitChanged {
        /// The region.
        region: String,
        /// Its state now.
        circuit: Circuit,
    },
    /// A region's health check has another result than the one before.
    HealthChanged {
        /// The region.
        region: String,
        /// Whether it is well now.
        healthy: bool,
        /// What is wrong, if something is.
        reason: Option<String>,
    },
    /// A job that was sent twice turned out to be in two regions.
    Duplicate {
        /// The job's federation id.
        federation_id: String,
        /// The region that did not answer at first.
        first_region: String,
        /// The region that it was sent to then.
        second_region: String,
        /// The region whose copy was cancelled; `None` if both had started.
        cancelled_in: Option<String>,
    },
    /// A job that was sent twice is in one region only.
    NoDuplicate {
        /// The job's federation id.
        federation_id: String,
        /// The region that has it.
        region: String,
    },
    /// A job that was sent twice is no longer looked for, because there are too many of them. It may be in both.
    DoubtForgotten {
        /// The job's federation id.
        federation_id: String,
        /// The region that did not answer at first.
        first_region: String,
        /// The region that it was sent to then.
        second_region: String,
    },
    /// The registry could not be renewed. The regions stay as they were.
    RegistryNotRenewed {
        /// What is wrong.
        reason: String,
    },
}
