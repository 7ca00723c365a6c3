//! Job classes: what all jobs of one lane have in common.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{JobType, Policy, QueueName, TenantId};

/// The number under which a [`Class`] is interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassId(pub u32);

/// The immutable properties of a job that the scheduler needs. Jobs of equal class share a lane, so a
/// waiting job costs the engine only its sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Class {
    /// The queue. With namespaces, its name is prefixed with the tenant.
    pub queue: QueueName,
    /// The job type, `type` in the envelope.
    #[serde(rename = "type")]
    pub kind: JobType,
    /// The owner of the jobs.
    pub tenant: TenantId,
    /// From -100 to 100; jobs with a higher priority start first.
    pub priority: i16,
    /// How the jobs are retried, timed out and limited. Shared, because most classes have equal ones.
    pub policy: Arc<Policy>,
}
