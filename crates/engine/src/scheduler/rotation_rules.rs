//! Whose queues take turns, and by which rules.

use std::collections::BTreeMap;

use rota_model::{PoolName, QueueStrategy, Starvation, TenantId, Weight};

use super::tag::Tag;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Whose queues take turns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RotationKey {
    /// Those of a pool; of one tenant, where each has queues of its own.
    Pool(PoolName, Option<TenantId>),
    /// Those of fetches that name the same queues with the same strategy.
    Set(u64),
}

impl RotationKey {
    /// Its name on disk.
    pub fn name(&self) -> String {
        match self {
            RotationKey::Pool(pool, None) => format!("pool:{pool}"),
            RotationKey::Pool(pool, Some(tenant)) => format!("pool:{pool}/{tenant}"),
            RotationKey::Set(hash) => format!("set:{hash:016x}"),
        }
    }

    /// It stands for queues of shared workers without a pool, unless it is a tenant's own.
    pub fn is_shared_set(&self, for_tenant: bool) -> bool {
        matches!(self, RotationKey::Set(_)) && !for_tenant
    }

    pub fn parse(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once(':')?;
        match kind {
            "set" => u64::from_str_radix(rest, 16).ok().map(RotationKey::Set),
            "pool" => {
                let (pool, tenant) = match rest.split_once('/') {
                    Some((pool, tenant)) => (pool, Some(TenantId::parse(tenant).ok()?)),
                    None => (rest, None),
                };
                Some(RotationKey::Pool(PoolName::parse(pool).ok()?, tenant))
            }
            _ => None,
        }
    }
}

/// A rotation that has served: its round, and the tags that have changed.
pub(crate) struct ChangedRotation {
    pub key: RotationKey,
    pub round: Tag,
    pub tags: Vec<(QueueIx, Tag)>,
    /// The rounds of its account, by level, that may have changed.
    pub rounds: BTreeMap<i32, Tag>,
}

/// An account of a pool or set as it was before a restart.
#[derive(Default)]
pub(super) struct RememberedAccount {
    /// The batch in which it began. Older tags are of another pool of that name.
    pub since: u64,
    /// By level. Not known in data of an older version.
    pub rounds: BTreeMap<i32, Tag>,
    /// Each with the batch after which it was so.
    pub tags: BTreeMap<(TenantIx, i32), (Tag, u64)>,
}

/// What a rotation is made from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RotationRules {
    pub queues: Vec<(QueueIx, Weight)>,
    pub strategy: QueueStrategy,
    pub starvation: Starvation,
    /// How many queues share what is guaranteed, those included that do not exist yet.
    pub named: usize,
    /// Tenants have an account over all of the queues.
    pub shared: bool,
    /// For fetches of one tenant: what they make others forget is their own.
    pub for_tenant: bool,
}
