//! What jobs of one lane have in common.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{JobType, Policy, QueueName, TenantId};

/// The number under which a [`Class`] is interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassId(pub u32);

/// Everything about a job that the scheduler needs and that never changes: jobs which are equal
/// here share a lane, so a waiting job costs the engine no more than its sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Class {
    /// The queue that its jobs wait in; in namespaces, with the tenant's name.
    pub queue: QueueName,
    /// The job type, `type` in the envelope.
    #[serde(rename = "type")]
    pub kind: JobType,
    /// The owner of the jobs, who takes turns with other tenants.
    pub tenant: TenantId,
    /// Higher starts first, from -100 to 100.
    pub priority: i16,
    /// How its jobs are retried, timed out and limited. Shared, because most classes have the same.
    pub policy: Arc<Policy>,
}
