//! Sleepers of a limit, by bucket: what to wake when the limit may have opened.
//!
//! Within a bucket, tenants are in the key's order and each has its sleepers. A start moves its tenant
//! back as one entry, in however many queues the tenant sleeps.

use std::cmp::Reverse;

use rota_model::Seq;

use super::{Bucket, Cause, GateIx, Rank};
use crate::queue::QueueIx;
use crate::scheduler::small_map::SmallMap;
use crate::scheduler::tag::Tag;
use crate::scheduler::turn::TurnIx;
use crate::tenant::TenantIx;

/// Queues in which a tenant is ranked again when its tag has moved. In further queues it may come up
/// too early.
const RANKED_AT_ONCE: usize = 64;

/// What sleeps in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sleeper {
    /// The turns of a queue that wait at gates in this bucket.
    Waitlist(QueueIx),
    /// A queue with a limit on the whole of it.
    Queue(QueueIx),
    /// A group, for fetches of its own tenant's workers.
    GroupForTenant(TurnIx, GateIx),
}

/// One tenant at one level.
pub(crate) type Competitor = (Reverse<i32>, TenantIx);

/// All sleepers of a limit, by bucket.
#[derive(Default)]
pub(crate) struct Sleepers(SmallMap<Bucket, Box<BucketSleepers>>);

/// The sleepers of one bucket. `order` has the tenants by level and tag.
#[derive(Default)]
struct BucketSleepers {
    order: SmallMap<(Reverse<i32>, Tag, TenantIx)>,
    tenants: SmallMap<Competitor, TenantSleepers>,
}

/// The sleepers of one tenant at one level, in the order in which they are woken.
struct TenantSleepers {
    tag: Tag,
    sleepers: SmallMap<(Tag, Reverse<i16>, Seq, Sleeper)>,
    /// Queues in which other turns wait behind the tenant's.
    contested: SmallMap<QueueIx>,
}

impl Sleepers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.0.keys().copied()
    }

    /// Buckets that have a free slot while `active` jobs are active.
    pub fn with_a_slot(&self, version: u32, active: u64) -> impl Iterator<Item = Bucket> {
        let active = u32::try_from(active).unwrap_or(u32::MAX);
        let slots = |slots: u32| Bucket { version, cause: Cause::Slots(slots) };
        let open = self.0.range(slots(active.saturating_add(1))..=slots(u32::MAX));
        open.map(|(bucket, _)| *bucket)
    }

    /// `contested` says that other turns wait behind this one in its queue.
    pub fn insert(
        &mut self,
        bucket: Bucket,
        rank: Rank,
        tenant: TenantIx,
        sleeper: Sleeper,
        contested: bool,
    ) {
        let in_bucket = self.0.or_insert(bucket, Box::default);
        let fresh = || TenantSleepers {
            tag: rank.tag,
            sleepers: SmallMap::default(),
            contested: SmallMap::default(),
        };
        let tenant_sleepers = in_bucket.tenants.or_insert((rank.level, tenant), fresh);
        tenant_sleepers.sleepers.insert((rank.last, rank.priority, rank.job, sleeper));
        if let Sleeper::Waitlist(queue) = sleeper
            && contested
        {
            tenant_sleepers.contested.insert(queue);
        }
        if rank.tag < tenant_sleepers.tag {
            in_bucket.order.remove(&(rank.level, tenant_sleepers.tag, tenant));
            tenant_sleepers.tag = rank.tag;
        }
        in_bucket.order.insert((rank.level, tenant_sleepers.tag, tenant));
    }

    pub fn remove(&mut self, bucket: Bucket, rank: Rank, tenant: TenantIx, sleeper: Sleeper) {
        let Some(in_bucket) = self.0.get_mut(&bucket) else { return };
        let Some(tenant_sleepers) = in_bucket.tenants.get_mut(&(rank.level, tenant)) else {
            return;
        };
        tenant_sleepers.sleepers.remove(&(rank.last, rank.priority, rank.job, sleeper));
        if let Sleeper::Waitlist(queue) = sleeper {
            tenant_sleepers.contested.remove(&queue);
        }
        if tenant_sleepers.sleepers.is_empty() {
            in_bucket.order.remove(&(rank.level, tenant_sleepers.tag, tenant));
            in_bucket.tenants.remove(&(rank.level, tenant));
        }
        if in_bucket.tenants.is_empty() {
            self.0.remove(&bucket);
        }
    }

    /// The first sleeper of a bucket, with its tenant and the tag it sleeps under.
    pub fn first(&self, bucket: Bucket) -> Option<(Competitor, Tag, Sleeper)> {
        let in_bucket = self.0.get(&bucket)?;
        let &(level, tag, tenant) = in_bucket.order.first()?;
        let &(.., sleeper) = in_bucket.tenants.get(&(level, tenant))?.sleepers.first()?;
        Some(((level, tenant), tag, sleeper))
    }

    /// Sets a tenant's current tag. Returns up to [`RANKED_AT_ONCE`] queues in which other turns may
    /// come first now.
    pub fn set_tag(&mut self, bucket: Bucket, competitor: Competitor, tag: Tag) -> Vec<QueueIx> {
        let (level, tenant) = competitor;
        let Some(in_bucket) = self.0.get_mut(&bucket) else { return Vec::new() };
        let Some(tenant_sleepers) = in_bucket.tenants.get_mut(&competitor) else {
            return Vec::new();
        };
        in_bucket.order.remove(&(level, tenant_sleepers.tag, tenant));
        tenant_sleepers.tag = tag;
        in_bucket.order.insert((level, tag, tenant));
        tenant_sleepers.contested.keys().copied().take(RANKED_AT_ONCE).collect()
    }
}
