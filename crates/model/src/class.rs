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
    pub queue: QueueName,
    #[serde(rename = "type")]
    pub kind: JobType,
    pub tenant: TenantId,
    pub priority: i16,
    pub policy: Arc<Policy>,
}
