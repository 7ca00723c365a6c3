//! Queues, and what belongs to one, as a caller may see them. Credentials can be for some queues only;
//! then the others do not exist, and totals leave them out.

use rota_engine::{
    CronExecution, CronView, DeadShardView, PoolView, QueueShare, QueueView, ShardView, Totals,
    WorkerView,
};
use rota_identity::ApiKey;
use rota_model::{CronName, LimitKey, QueueName, Seq, TenantId, WorkerId};

use super::View;

impl View<'_> {
    /// The queues of the caller's credentials, by the engine's names and in order; `None` if they are for
    /// all.
    fn listed_queues(&self) -> Option<Vec<QueueName>> {
        let list = self.scope.queues.as_ref()?;
        let namespace = self.tenant.filter(|_| self.namespaced);
        let mut names: Vec<QueueName> = list
            .iter()
            .map(|name| namespace.map_or_else(|| name.clone(), |own| name.in_namespace(own)))
            .collect();
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Whether the caller may see a limit's key: `queue:` keys belong to their queue, and others may be used in any
    /// queue, so credentials for some queues do not see them.
    pub(super) fn sees_key(&self, key: &LimitKey) -> bool {
        match key.local().strip_prefix("queue:") {
            Some(queue) => self.scope.sees_queue(queue),
            None => self.scope.queues.is_none(),
        }
    }

    /// Whether all queues of an API key are among the caller's.
    pub(super) fn sees_queues_of(&self, key: &ApiKey) -> bool {
        match (&self.scope.queues, &key.queues) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(_), Some(queues)) => queues.iter().all(|name| self.scope.sees_queue(name)),
        }
    }

    // Totals.

    /// The number of jobs in each state: of the caller, or of all.
    #[must_use]
    pub fn totals(&self) -> Totals {
        match self.tenant {
            Some(own) => self.totals_of_tenant(own),
            None => self.engine.totals(),
        }
    }

    #[must_use]
    pub fn totals_of_tenant(&self, id: &TenantId) -> Totals {
        let Some(engine) = self.of(id) else { return Totals::default() };
        let Some(listed) = self.listed_queues() else { return engine.totals_of_tenant(id) };
        let mut totals = Totals::default();
        listed.iter().for_each(|name| totals.merge(&engine.totals_of_queue(name, Some(id))));
        totals
    }

    #[must_use]
    pub fn totals_of_queue(&self, name: &QueueName, tenant: Option<&TenantId>) -> Totals {
        match self.scope.sees_queue(name.local()) {
            true => self.engine.totals_of_queue(name, self.tenant.or(tenant)),
            false => Totals::default(),
        }
    }

    // Queues.

    /// A queue, by the engine's name. A tenant that shares it sees its own part of it, and no queue where
    /// it has none.
    #[must_use]
    pub fn queue(&self, name: &QueueName) -> Option<QueueView> {
        let view = match self.tenant {
            Some(own) if !self.namespaced => self.engine.queue_of_tenant(name, own),
            Some(own) if name.namespace() != Some(&**own) => None,
            _ => self.engine.queue(name),
        };
        view.filter(|view| self.scope.sees_queue(view.name.local()))
    }

    /// A tenant's part of a queue.
    #[must_use]
    pub fn queue_of_tenant(&self, name: &QueueName, tenant: &TenantId) -> Option<QueueView> {
        let view = self.of(tenant)?.queue_of_tenant(name, tenant);
        view.filter(|view| self.scope.sees_queue(view.name.local()))
    }

    /// A page of queues, and how many there are.
    #[must_use]
    pub fn queues_after(&self, after: &str, skip: usize, most: usize) -> (Vec<QueueView>, usize) {
        let Some(own) = self.tenant else {
            return (self.engine.queues_after(after, skip, most), self.engine.queue_count());
        };
        let Some(listed) = self.listed_queues() else {
            return self.engine.queues_of_tenant_after(own, after, skip, most);
        };
        let existing: Vec<QueueView> = listed.iter().filter_map(|name| self.queue(name)).collect();
        let count = existing.len();
        let behind = existing.into_iter().filter(|view| view.name.local() > after);
        (behind.skip(skip).take(most).collect(), count)
    }

    /// Dispatches of queues after this name: of the caller's own queues, or of all.
    #[must_use]
    pub fn queue_shares_after(&self, after: &str, most: usize) -> Vec<QueueShare> {
        let Some(own) = self.tenant else { return self.engine.queue_shares_after(after, most) };
        let mut after = after.to_owned();
        let next = || {
            let slice = self.engine.queue_shares_of_tenant(own, &after, most);
            if let Some(last) = slice.last() {
                after = last.name.local().to_owned();
            }
            slice
        };
        gather(most, next, |share| self.scope.sees_queue(share.name.local()))
    }

    /// A tenant's parts of queues among `most` from `from` on, and where the next slice starts.
    #[must_use]
    pub fn shards_of_tenant(
        &self,
        id: &TenantId,
        from: usize,
        most: usize,
    ) -> (Vec<ShardView>, Option<usize>) {
        let Some(engine) = self.of(id) else { return Default::default() };
        let (mut shards, next) = engine.shards_of_tenant(id, from, most);
        shards.retain(|shard| self.scope.sees_queue(shard.queue.local()));
        (shards, next)
    }

    /// The caller's dead letters, or all; up to `most` after this one.
    #[must_use]
    pub fn dead_letters(&self, after: Option<&DeadShardView>, most: usize) -> Vec<DeadShardView> {
        let mut after = after.cloned();
        let next = || {
            let slice = self.engine.dead_letters(self.tenant, after.as_ref(), most);
            after = slice.last().cloned().or(after.take());
            slice
        };
        gather(most, next, |shard| self.scope.sees_queue(shard.queue.local()))
    }

    /// A pool, of which the caller sees its own queues.
    pub(super) fn cut_pool(&self, mut pool: PoolView) -> PoolView {
        pool.config.queues.retain(|name| self.scope.sees_queue(name.local()));
        pool.config.weights.retain(|name, _| self.scope.sees_queue(name.local()));
        pool
    }

    // Workers.

    /// A worker, of which the caller sees its own queues, and the jobs in them.
    pub(super) fn cut_worker(&self, mut view: WorkerView) -> WorkerView {
        if self.scope.queues.is_some() {
            view.active = self.held_by(&view.about.worker).len();
            view.about.queues.retain(|name| self.scope.sees_queue(name.local()));
        }
        view
    }

    /// The caller's jobs that a worker holds.
    pub(super) fn held_by(&self, id: &WorkerId) -> Vec<Seq> {
        let is_visible = |seq: &Seq| {
            let class = self.engine.class_of_active(*seq);
            self.scope.queues.is_none() || class.is_some_and(|class| self.owns(class))
        };
        self.engine.held_by(id, self.tenant).filter(is_visible).collect()
    }

    // Schedules.

    /// A schedule, by the engine's name.
    #[must_use]
    pub fn cron(&self, name: &CronName) -> Option<CronView> {
        self.engine.cron(name).filter(|cron| self.of(&cron.tenant).is_some() && self.runs(cron))
    }

    /// Whether the name of a schedule is taken by one that the caller may not see.
    #[must_use]
    pub fn is_hidden_cron(&self, name: &CronName) -> bool {
        self.engine.cron(name).is_some_and(|cron| !self.runs(&cron))
    }

    /// Whether the jobs of a schedule are in a queue that the caller may see.
    fn runs(&self, cron: &CronView) -> bool {
        self.scope.sees_queue(cron.queue.local())
    }

    /// The last executions of a schedule, newest first.
    #[must_use]
    pub fn cron_history(&self, name: &CronName) -> Vec<CronExecution> {
        self.cron(name).map_or_else(Vec::new, |_| self.engine.cron_history(name))
    }

    /// A page of the caller's schedules, or of those of the tenant that an operator names, and how many
    /// there are. `None` for `enabled` means both.
    #[must_use]
    pub fn crons_after(
        &self,
        tenant: Option<&TenantId>,
        enabled: Option<bool>,
        after: &str,
        skip: usize,
        most: usize,
    ) -> (Vec<CronView>, usize) {
        let tenant = self.tenant.or(tenant);
        if self.scope.queues.is_none() {
            let page = self.engine.crons_after(tenant, enabled, after, skip, most);
            return (page, self.engine.cron_count(tenant, enabled));
        }
        // A tenant has few schedules, and nobody counts them by queue.
        let all = self.engine.crons_after(tenant, enabled, "", 0, usize::MAX);
        let visible: Vec<CronView> = all.into_iter().filter(|cron| self.runs(cron)).collect();
        let count = visible.len();
        let behind = visible.into_iter().filter(|cron| &*cron.name > after);
        (behind.skip(skip).take(most).collect(), count)
    }
}

/// The visible entries of slices, until there are `most` of them or no more. A slice with fewer than `most`
/// entries is the last.
fn gather<T>(
    most: usize,
    mut next: impl FnMut() -> Vec<T>,
    is_visible: impl Fn(&T) -> bool,
) -> Vec<T> {
    let mut visible = Vec::new();
    loop {
        let slice = next();
        let is_last = slice.len() < most;
        visible.extend(slice.into_iter().filter(&is_visible));
        if is_last || visible.len() >= most {
            visible.truncate(most);
            return visible;
        }
    }
}
