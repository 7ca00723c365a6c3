//! Looking at tenants.

use rota_model::mutation::Counts;
use rota_model::{Millis, QueueName, State, TenantConfig, TenantId, Weight};

use super::{QueueView, Totals};
use crate::sched::{QueueIx, ShardIx};
use crate::stats::Interval;
use crate::tenant::{Tenant, TenantIx};
use crate::{Change, Engine, Origin, ShardTotals, Tally, Throttle};

#[derive(Debug, Clone)]
pub struct TenantView {
    pub id: TenantId,
    pub origin: Origin,
    pub config: TenantConfig,
    /// What the configuration says, where the API says something else.
    pub file: Option<TenantConfig>,
    pub created: Millis,
    pub updated: Option<Millis>,
    pub reason: Option<String>,
    pub changes: Vec<Change>,
    pub throttle: Option<Throttle>,
    /// Living jobs by state.
    live: [u64; State::ALL.len()],
    pub bytes: u64,
    pub cap: Option<u32>,
    /// Enqueued jobs in the window of its rate, where that is limited.
    pub enqueued_in_window: Option<u64>,
    pub minute: Tally,
    pub day: Tally,
    pub weight: Weight,
    pub effective_weight: Weight,
    /// Its part of what is handed out while all that have jobs waiting go on having them.
    pub entitled: f64,
    /// Its part of what was handed out in the last minute.
    pub actual: f64,
    pub shards: Vec<ShardView>,
}

impl TenantView {
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.live[usize::from(state.code())]
    }

    /// Jobs that wait, in whatever way.
    #[must_use]
    pub fn depth(&self) -> u64 {
        State::WAITING.into_iter().map(|state| self.of(state)).sum()
    }
}

/// One tenant's part of one queue.
#[derive(Debug, Clone)]
pub struct ShardView {
    pub queue: QueueName,
    pub tenant: TenantId,
    pub paused: Option<Millis>,
    live: [u64; State::ALL.len()],
    pub bytes: u64,
    pub totals: ShardTotals,
}

impl ShardView {
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.live[usize::from(state.code())]
    }

    #[must_use]
    pub fn depth(&self) -> u64 {
        State::WAITING.into_iter().map(|state| self.of(state)).sum()
    }
}

/// A tenant in the comparison of all.
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
        self.tenants.find(id).map(|ix| self.tenant_view(ix))
    }

    #[must_use]
    pub fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    /// The ids of all tenants, in order.
    #[must_use]
    pub fn tenant_ids(&self) -> Vec<TenantId> {
        self.tenants.iter().map(|(_, tenant)| tenant.id.clone()).collect()
    }

    /// All tenants, most dispatches first, then most waiting jobs; at most `limit` of them.
    #[must_use]
    pub fn shares(&self, limit: usize) -> Vec<ShareView> {
        let dispatched = self.dispatched_lately();
        let tenants = self.tenants.iter();
        let mut views: Vec<ShareView> =
            tenants.map(|(ix, _)| self.view_of_share(ix, dispatched)).collect();
        let key = |view: &ShareView| std::cmp::Reverse((view.dispatched, view.available));
        views.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id)));
        views.truncate(limit);
        views
    }

    /// What one tenant gets.
    #[must_use]
    pub fn share_of(&self, id: &str) -> Option<ShareView> {
        Some(self.view_of_share(self.tenants.find(id)?, self.dispatched_lately()))
    }

    fn view_of_share(&self, ix: TenantIx, dispatched: u64) -> ShareView {
        let (tenant, now) = (self.tenants.get(ix), self.wall());
        let last = last_minute(tenant, now);
        ShareView {
            id: tenant.id.clone(),
            weight: self.weight_of(ix),
            effective_weight: self.effective_weight(ix),
            available: tenant.count(State::Available),
            active: tenant.count(State::Active),
            dispatched: last.started,
            enqueued: last.enqueued,
            entitled: self.entitled(ix),
            actual: part(u64::from(last.started), dispatched),
            throttled: tenant.throttled(now).is_some(),
        }
    }

    /// Every tenant's part of every queue.
    #[must_use]
    pub fn shards(&self) -> Vec<ShardView> {
        let all = self.tenants.iter().flat_map(|(_, tenant)| &tenant.shards);
        all.map(|shard| self.view_of_shard(*shard)).collect()
    }

    /// A queue as one tenant sees it.
    #[must_use]
    pub fn queue_of_tenant(&self, name: &str, tenant: &str) -> Option<QueueView> {
        let (queue, tenant) = (self.queues.find(name)?, self.tenants.find(tenant)?);
        self.shards.find(queue, tenant)?;
        Some(self.shard_view(queue, tenant))
    }

    /// The queues in which a tenant has or had jobs.
    #[must_use]
    pub fn queues_of_tenant(&self, tenant: &str) -> Vec<QueueView> {
        let Some(ix) = self.tenants.find(tenant) else { return Vec::new() };
        let shards = self.tenants.get(ix).shards.iter();
        let mut views: Vec<QueueView> =
            shards.map(|shard| self.shard_view(self.shards.get(*shard).queue, ix)).collect();
        views.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        views
    }

    pub(crate) fn shard_view(&self, queue: QueueIx, tenant: TenantIx) -> QueueView {
        let mut view = self.queue_view(self.queues.get(queue));
        let shard = self.shards.find(queue, tenant).map(|shard| self.shards.get(shard));
        let paused = &self.tenants.get(tenant).row.paused;
        let paused = paused.iter().find(|(name, _)| *name == view.name).map(|(_, at)| *at);
        view.paused = view.paused.or(paused);
        let mut live = [0; State::ALL.len()];
        if let Some(shard) = shard {
            let living = State::ALL.into_iter().filter(|state| !state.is_terminal());
            living.for_each(|state| live[usize::from(state.code())] = shard.count(state));
        }
        let mut done = Counts::default();
        for class in &self.tenants.get(tenant).classes {
            let slot = self.classes.slot(*class);
            if slot.queue == queue {
                done.0.iter_mut().zip(slot.done.0).for_each(|(sum, n)| *sum += n);
            }
        }
        view.totals = Totals { live, done };
        view.bytes = shard.map_or(0, |shard| shard.bytes);
        (view.minute, view.oldest) = (Interval::default(), None);
        view
    }

    pub(crate) fn tenant_view(&self, ix: TenantIx) -> TenantView {
        let (tenant, now) = (self.tenants.get(ix), self.wall());
        let window = tenant.enqueued.as_ref();
        let last = last_minute(tenant, now);
        TenantView {
            id: tenant.id.clone(),
            origin: tenant.origin(),
            config: tenant.config().clone(),
            file: tenant.file.as_deref().filter(|_| tenant.row.api.is_some()).cloned(),
            created: tenant.row.created,
            updated: tenant.row.api.as_ref().map(|api| api.updated),
            reason: tenant.row.api.as_ref().and_then(|api| api.reason.clone()),
            changes: tenant.row.changes.clone(),
            throttle: tenant.row.throttle.as_deref().filter(|one| one.until > now).cloned(),
            live: State::ALL.map(|state| tenant.count(state)),
            bytes: tenant.bytes,
            cap: self.cap_of(ix),
            enqueued_in_window: window.map(|window| window.count(self.now.mono as i64)),
            minute: last,
            day: tenant.counters.as_ref().map_or(Tally::default(), |counters| counters.day(now)),
            weight: self.weight_of(ix),
            effective_weight: self.effective_weight(ix),
            entitled: self.entitled(ix),
            actual: part(u64::from(last.started), self.dispatched_lately()),
            shards: tenant.shards.iter().map(|shard| self.view_of_shard(*shard)).collect(),
        }
    }

    fn view_of_shard(&self, ix: ShardIx) -> ShardView {
        let shard = self.shards.get(ix);
        ShardView {
            queue: self.queues.get(shard.queue).name.clone(),
            tenant: self.tenants.get(shard.tenant).id.clone(),
            paused: shard.paused,
            live: State::ALL.map(|state| shard.count(state)),
            bytes: shard.bytes,
            totals: shard.totals,
        }
    }

    /// Its part of what is handed out, or what that would be if it had something waiting.
    fn entitled(&self, ix: TenantIx) -> f64 {
        let (own, all) = (self.effective_weight(ix).value(), self.tenants.competing());
        let all = if self.tenants.get(ix).competes() { all } else { all + own };
        (own / all).min(1.0)
    }

    pub(crate) fn dispatched_lately(&self) -> u64 {
        let last = self.total.last.dispatched * self.left_of_minute() / 60_000;
        self.total.minute.dispatched + last
    }
}

pub(super) fn last_minute(tenant: &Tenant, now: Millis) -> Tally {
    tenant.counters.as_ref().map_or(Tally::default(), |counters| counters.last_minute(now))
}

pub(super) fn part(is: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { (is as f64 / all as f64).min(1.0) }
}
