//! The dead letter of one tenant in one queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::{DeadShardId, Millis, QueueName, TenantId};
use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub(crate) struct DeadShard {
    pub queue: QueueName,
    pub tenant: TenantId,
    pub count: u64,
    /// No job was discarded before this time.
    pub oldest: Millis,
    /// Jobs by the type of their last error.
    pub errors: BTreeMap<Arc<str>, u64>,
    /// Jobs whose type of error has no counter.
    pub other: u64,
}

/// The stored part that is not counted.
#[derive(Serialize, Deserialize)]
pub(super) struct DeadShardRow {
    pub queue: String,
    pub tenant: TenantId,
    pub oldest: Millis,
}

/// The dead letter of one tenant in one queue, for answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadShardView {
    pub id: DeadShardId,
    pub queue: QueueName,
    pub tenant: TenantId,
    pub count: u64,
    pub errors: Vec<(Arc<str>, u64)>,
    pub other: u64,
}

impl DeadShard {
    pub fn new(queue: QueueName, tenant: TenantId, oldest: Millis) -> Self {
        Self { queue, tenant, count: 0, oldest, errors: BTreeMap::new(), other: 0 }
    }

    pub fn row(&self) -> impl Serialize {
        let Self { queue, tenant, oldest, .. } = self;
        DeadShardRow { queue: queue.to_string(), tenant: tenant.clone(), oldest: *oldest }
    }

    pub fn counter(&mut self, error: &Arc<str>, other: bool) -> &mut u64 {
        match other {
            true => &mut self.other,
            false => self.errors.entry(error.clone()).or_default(),
        }
    }

    /// Jobs with this type of error; `None` for those without a counter of their own.
    pub fn count_of(&self, error: Option<&str>) -> u64 {
        match error {
            Some(error) => self.errors.get(error).copied().unwrap_or(0),
            None => self.other,
        }
    }

    pub fn view(&self, id: DeadShardId) -> DeadShardView {
        DeadShardView {
            id,
            queue: self.queue.clone(),
            tenant: self.tenant.clone(),
            count: self.count,
            errors: self.errors.iter().map(|(error, count)| (error.clone(), *count)).collect(),
            other: self.other,
        }
    }
}
