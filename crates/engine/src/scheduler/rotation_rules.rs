//! The key and the rules of a rotation, and what is stored of it.

use std::collections::BTreeMap;

use rota_model::{PoolName, QueueStrategy, Starvation, TenantId, Weight};

use super::tag::Tag;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Identifies a rotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RotationKey {
    /// The queues of a pool; of one tenant, where each tenant has separate queues.
    Pool(PoolName, Option<TenantId>),
    /// A set of queues that fetches without a pool name, with one strategy: a hash of both.
    Set(u64),
}

impl RotationKey {
    /// The name on disk.
    pub fn name(&self) -> String {
        match self {
            RotationKey::Pool(pool, None) => format!("pool:{pool}"),
            RotationKey::Pool(pool, Some(tenant)) => format!("pool:{pool}/{tenant}"),
            RotationKey::Set(hash) => format!("set:{hash:016x}"),
        }
    }

    /// Whether this is a set of shared workers, not of a single tenant's.
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
                Some(RotationKey::Pool(PoolName::stored(pool).ok()?, tenant))
            }
            _ => None,
        }
    }
}

/// What changed in a rotation since it was last stored.
pub(crate) struct ChangedRotation {
    pub key: RotationKey,
    pub round: Tag,
    pub tags: Vec<(QueueIx, Tag)>,
    /// Rounds of its account that may have changed, by level.
    pub rounds: BTreeMap<i32, Tag>,
}

/// The stored account of a pool or set, until the rotation is created.
#[derive(Default)]
pub(super) struct RememberedAccount {
    /// The batch in which the account began. Older tags belong to an earlier pool of the same name.
    pub since: u64,
    /// By level. Data of older versions has none.
    pub rounds: BTreeMap<i32, Tag>,
    /// By tenant and level: the tag, and the batch after which it had that value.
    pub tags: BTreeMap<(TenantIx, i32), (Tag, u64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RotationRules {
    pub queues: Vec<(QueueIx, Weight)>,
    pub strategy: QueueStrategy,
    pub starvation: Starvation,
    /// Number of queues that share the guaranteed part, including queues that do not exist yet.
    pub named: usize,
    /// The tenants have an account over all of these queues.
    pub shared: bool,
    /// For fetches of one tenant. Such sets are forgotten before those of shared workers.
    pub for_tenant: bool,
}
