//! Lists of tenants, ranked or by id, and the job counts of tenants and queues.

use rota_model::mutation::Counts;
use rota_model::{Class, ClassId, State, TenantId};

use super::entitled::Entitled;
use super::{TenantView, Totals};
use crate::Engine;
use crate::tenant::{Tenant, TenantIx};

/// What tenants are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    Waiting,
    Active,
    /// Jobs enqueued in the last minute.
    Enqueued,
}

impl Engine {
    #[must_use]
    pub fn knows_tenant(&self, id: &str) -> bool {
        self.tenants.find(id).is_some()
    }

    /// Views of these tenants; unknown ids are left out.
    #[must_use]
    pub fn tenants(&self, ids: &[TenantId]) -> Vec<TenantView> {
        let indexes = ids.iter().filter_map(|id| self.tenants.find(id));
        let mut entitled = Entitled::new(self);
        indexes.map(|ix| self.view_of_tenant(ix, &mut entitled)).collect()
    }

    /// Up to `most` tenant ids after this one, sorted, without the first `skip`. The empty id is
    /// before all others.
    #[must_use]
    pub fn tenant_ids_after(&self, id: &str, skip: usize, most: usize) -> Vec<TenantId> {
        self.tenants.after(id).skip(skip).take(most).cloned().collect()
    }

    /// The ranking value of each live tenant with an index in `from..from + most`, and the index to
    /// continue from, if there are more. The caller sorts.
    #[must_use]
    pub fn tenant_ranking(
        &self,
        of: RankBy,
        from: usize,
        most: usize,
    ) -> (Vec<(u64, TenantId)>, Option<usize>) {
        let number = |ix: TenantIx, tenant: &Tenant| match of {
            RankBy::Waiting => tenant.jobs.depth(),
            RankBy::Active => tenant.jobs.count(State::Active),
            RankBy::Enqueued => u64::from(self.minute_of(ix).enqueued),
        };
        let slice = self.tenants.slice(from, most);
        let slice = slice.map(|(ix, tenant)| (number(ix, tenant), tenant.id.clone())).collect();
        (slice, self.tenants.after_slice(from, most))
    }

    /// Jobs of a tenant by state, including finished ones.
    #[must_use]
    pub fn totals_of_tenant(&self, id: &str) -> Totals {
        let Some(ix) = self.tenants.find(id) else { return Totals::default() };
        let tenant = self.tenants.get(ix);
        let mut done = Counts::default();
        let shards = self.scheduler.shards_of(ix).iter();
        shards.for_each(|shard| done.add(&self.shards.get(*shard).done));
        Totals { live: State::ALL.map(|state| tenant.jobs.count(state)), done }
    }

    /// Jobs of a queue by state, or of one tenant in it. A deleted queue may still have finished
    /// ones.
    #[must_use]
    pub fn totals_of_queue(&self, name: &str, tenant: Option<&TenantId>) -> Totals {
        let Some(queue) = self.queues.find(name) else { return Totals::default() };
        match tenant.map(|id| self.tenants.find(id)) {
            None => self.queue_view(queue).totals,
            Some(Some(tenant)) => self.shard_view(queue, tenant).totals,
            Some(None) => Totals::default(),
        }
    }

    /// The matching classes among the `most` before index `before` (or the last ones), and the
    /// index to continue before, if there are more. Pages run backwards because removing a class
    /// moves those behind it up: this way none is missed, though one may be returned twice.
    #[must_use]
    pub fn classes_of_tenant(
        &self,
        tenant: &str,
        before: Option<usize>,
        most: usize,
        matches: impl Fn(&Class) -> bool,
    ) -> (Vec<ClassId>, Option<usize>) {
        let Some(ix) = self.tenants.find(tenant) else { return (Vec::new(), None) };
        let all = &self.tenants.get(ix).classes;
        let end = before.map_or(all.len(), |before| before.min(all.len()));
        let first = end.saturating_sub(most);
        let slice = all[first..end].iter().copied();
        let matching = slice.filter(|id| matches(&self.classes.slot(*id).class)).collect();
        (matching, (first > 0).then_some(first))
    }

    /// Dispatches on shared workers in the last minute.
    #[must_use]
    pub fn dispatched_1m(&self) -> u64 {
        self.meters.starts(self.wall())
    }
}
