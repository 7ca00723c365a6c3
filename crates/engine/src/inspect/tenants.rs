//! Views of tenants, their shards and their shares.

use rota_model::{Millis, QueueName, State, TenantConfig, TenantId, Weight};

use super::entitled::Entitled;
use super::{QueueView, Totals};
use crate::job_counts::JobCounts;
use crate::noisy_tenants::Noisiness;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::stats::Interval;
use crate::tenant::TenantIx;
use crate::{Change, ConfigOrigin, Engine, Tally, Throttle};

#[derive(Debug, Clone)]
pub struct TenantView {
    pub id: TenantId,
    pub origin: ConfigOrigin,
    pub config: TenantConfig,
    /// The configuration file's settings, if the API overrides them.
    pub file: Option<TenantConfig>,
    pub created: Millis,
    pub updated: Option<Millis>,
    pub reason: Option<String>,
    pub changes: Vec<Change>,
    pub throttle: Option<Throttle>,
    pub noisy: Option<Noisiness>,
    pub jobs: JobCounts,
    /// Bytes of its jobs and schedules.
    pub stored: u64,
    /// The limit on them, its own or that of all tenants.
    pub max_bytes: Option<u64>,
    pub cap: Option<u32>,
    /// Jobs enqueued in the current window, if the enqueue rate is limited.
    pub enqueued_in_window: Option<u64>,
    pub minute: Tally,
    pub day: Tally,
    pub weight: Weight,
    pub effective_weight: Weight,
    /// The fraction of the next dispatches on shared workers that it is entitled to.
    pub entitled: f64,
    /// Its fraction of the dispatches on shared workers in the last minute.
    pub actual: f64,
}

#[derive(Debug, Clone)]
pub struct ShardView {
    pub queue: QueueName,
    pub tenant: TenantId,
    pub paused: Option<Millis>,
    pub jobs: JobCounts,
}

/// A tenant's share, compared with what it got.
#[derive(Debug, Clone)]
pub struct ShareView {
    pub id: TenantId,
    pub weight: Weight,
    pub effective_weight: Weight,
    pub available: u64,
    pub active: u64,
    pub dispatched: u32,
    pub enqueued: u32,
    pub entitled: f64,
    pub actual: f64,
    pub throttled: bool,
}

impl Engine {
    #[must_use]
    pub fn tenant(&self, id: &str) -> Option<TenantView> {
        let ix = self.tenants.find(id)?;
        Some(self.tenant_view(ix))
    }

    #[must_use]
    pub fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    /// The share a tenant is entitled to, and what it got.
    #[must_use]
    pub fn share(&self, id: &str) -> Option<ShareView> {
        let ix = self.tenants.find(id)?;
        Some(self.share_view(ix, &mut Entitled::new(self)))
    }

    /// Shares of the live tenants with an index in `from..from + most`, and the index to continue
    /// from, if there are more.
    #[must_use]
    pub fn shares(&self, from: usize, most: usize) -> (Vec<ShareView>, Option<usize>) {
        let mut entitled = Entitled::new(self);
        let slice = self.tenants.slice(from, most);
        let slice = slice.map(|(ix, _)| self.share_view(ix, &mut entitled));
        (slice.collect(), self.tenants.after_slice(from, most))
    }

    fn share_view(&self, ix: TenantIx, entitled: &mut Entitled) -> ShareView {
        let (tenant, now) = (self.tenants.get(ix), self.wall());
        let last = self.minute_of(ix);
        ShareView {
            id: tenant.id.clone(),
            weight: self.weight_of(ix),
            effective_weight: self.effective_weight(ix),
            available: tenant.jobs.count(State::Available),
            active: tenant.jobs.count(State::Active),
            dispatched: u32::try_from(last.started).unwrap_or(0),
            enqueued: last.enqueued,
            entitled: entitled.share(ix),
            actual: fraction(shared(last), self.dispatched_1m()),
            throttled: tenant.throttled(now).is_some(),
        }
    }

    /// A queue with the figures of one tenant's shard.
    #[must_use]
    pub fn queue_of_tenant(&self, name: &str, tenant: &str) -> Option<QueueView> {
        let (queue, tenant) = (self.queues.find_existing(name)?, self.tenants.find(tenant)?);
        self.scheduler.shard(queue, tenant)?;
        Some(self.shard_view(queue, tenant))
    }

    /// Up to `most` queues after this name in which a tenant has a shard, without the first `skip`,
    /// and their total number. With queues per tenant, figures are those of the whole queue.
    #[must_use]
    pub fn queues_of_tenant_after(
        &self,
        tenant: &str,
        name: &str,
        skip: usize,
        most: usize,
    ) -> (Vec<QueueView>, usize) {
        let Some(ix) = self.tenants.find(tenant) else { return (Vec::new(), 0) };
        let shards = self.scheduler.shards_of(ix);
        let queue = |shard: &ShardIx| self.shards.get(*shard).queue;
        let exists = |queue: &QueueIx| self.queues.get(*queue).exists;
        let first =
            shards.partition_point(|shard| self.queues.get(queue(shard)).name.local() <= name);
        let page = shards[first..].iter().map(queue).filter(exists).skip(skip).take(most);
        let view = |queue: QueueIx| match self.config.queues_per_tenant {
            true => self.queue_view(queue),
            false => self.shard_view(queue, ix),
        };
        let total = match self.queues.any_deleted() {
            false => shards.len(),
            true => shards.iter().map(queue).filter(exists).count(),
        };
        (page.map(view).collect(), total)
    }

    /// The position for a new shard among those of its tenant, which are sorted by queue name.
    pub(crate) fn shard_position(&self, tenant: TenantIx, queue: &QueueName) -> usize {
        let name = |shard: &ShardIx| &self.queues.get(self.shards.get(*shard).queue).name;
        self.scheduler
            .shards_of(tenant)
            .partition_point(|shard| name(shard).local() < queue.local())
    }

    pub(crate) fn shard_view(&self, queue: QueueIx, tenant: TenantIx) -> QueueView {
        let mut view = self.queue_view(queue);
        let shard = self.scheduler.shard(queue, tenant).map(|shard| self.shards.get(shard));
        let paused = &self.tenants.get(tenant).row.paused;
        let paused = paused.iter().find(|(name, _)| *name == view.name).map(|(_, at)| *at);
        view.paused = view.paused.or(paused);
        view.totals = shard.map_or_else(Totals::default, |shard| Totals {
            live: State::ALL.map(|state| shard.jobs.count(state)),
            done: shard.done,
        });
        view.bytes = shard.map_or(0, |shard| shard.jobs.bytes);
        (view.minute, view.oldest) = (Interval::default(), None);
        view
    }

    pub(crate) fn tenant_view(&self, ix: TenantIx) -> TenantView {
        self.view_of_tenant(ix, &mut Entitled::new(self))
    }

    pub(super) fn view_of_tenant(&self, ix: TenantIx, entitled: &mut Entitled) -> TenantView {
        let (tenant, now) = (self.tenants.get(ix), self.wall());
        let window = tenant.enqueued.as_ref();
        let last = self.minute_of(ix);
        TenantView {
            id: tenant.id.clone(),
            origin: tenant.origin(),
            config: tenant.config().clone(),
            file: tenant.file.as_deref().filter(|_| tenant.row.api.is_some()).cloned(),
            created: tenant.row.created,
            updated: tenant.row.api.as_ref().map(|api| api.updated),
            reason: tenant.row.api.as_ref().and_then(|api| api.reason.clone()),
            changes: tenant.row.changes.clone(),
            throttle: tenant
                .row
                .throttle
                .as_deref()
                .filter(|throttle| throttle.until > now)
                .cloned(),
            noisy: self.noisiness(ix),
            jobs: tenant.jobs,
            stored: tenant.stored(),
            max_bytes: self.max_bytes_of(ix),
            cap: self.cap_of(ix),
            enqueued_in_window: window.map(|window| window.count(self.now.mono as i64)),
            minute: last,
            day: self.day_of(ix),
            weight: self.weight_of(ix),
            effective_weight: self.effective_weight(ix),
            entitled: entitled.share(ix),
            actual: fraction(shared(last), self.dispatched_1m()),
        }
    }

    /// Up to `most` of a tenant's shards beginning at index `from`, sorted by queue name, and the
    /// index to continue from, if there are more.
    #[must_use]
    pub fn shards_of_tenant(
        &self,
        id: &str,
        from: usize,
        most: usize,
    ) -> (Vec<ShardView>, Option<usize>) {
        let all = self.tenants.find(id).map_or(&[][..], |ix| self.scheduler.shards_of(ix));
        let end = from.saturating_add(most).min(all.len());
        let slice = all[from.min(end)..end].iter().map(|shard| self.view_of_shard(*shard));
        (slice.collect(), (end < all.len()).then_some(end))
    }

    fn view_of_shard(&self, ix: ShardIx) -> ShardView {
        let shard = self.shards.get(ix);
        ShardView {
            queue: self.queues.get(shard.queue).name.clone(),
            tenant: self.tenants.get(shard.tenant).id.clone(),
            paused: shard.paused,
            jobs: shard.jobs,
        }
    }

    /// Dispatches from all queues in the last minute.
    pub(crate) fn dispatched_in_minute(&self) -> u64 {
        self.total.dispatches.sum(self.wall()).jobs()
    }
}

/// Starts on shared workers.
fn shared(tally: Tally) -> u64 {
    u64::try_from(tally.shared_starts()).unwrap_or(0)
}

pub(super) fn fraction(amount: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (amount as f64 / all as f64).min(1.0) }
}
