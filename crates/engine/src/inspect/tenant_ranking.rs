//! What tenants have, and tenants by what they have.

use rota_model::mutation::Counts;
use rota_model::{Class, ClassId, State, TenantId};

use super::entitled::Entitled;
use super::{TenantView, Totals};
use crate::Engine;
use crate::tenant::{Tenant, TenantIx};

/// What tenants are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    Waiting,
    Active,
    /// In the last minute.
    Enqueued,
}

impl Engine {
    #[must_use]
    pub fn knows_tenant(&self, id: &str) -> bool {
        self.tenants.find(id).is_some()
    }

    /// These tenants, as far as they are known.
    #[must_use]
    pub fn tenants(&self, ids: &[TenantId]) -> Vec<TenantView> {
        let indexes = ids.iter().filter_map(|id| self.tenants.find(id));
        let mut entitled = Entitled::new(self);
        indexes.map(|ix| self.view_of_tenant(ix, &mut entitled)).collect()
    }

    /// So many ids in order, behind this one; the empty one is before all.
    #[must_use]
    pub fn tenant_ids_after(&self, id: &str, skip: usize, most: usize) -> Vec<TenantId> {
        self.tenants.after(id).skip(skip).take(most).cloned().collect()
    }

    /// What so many tenants have, from this place on, in the order in which they came up; and the
    /// place to go on from, if there are more.
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

    /// All jobs of a tenant, finished ones included.
    #[must_use]
    pub fn totals_of_tenant(&self, id: &str) -> Totals {
        let Some(ix) = self.tenants.find(id) else { return Totals::default() };
        let tenant = self.tenants.get(ix);
        let mut done = Counts::default();
        let shards = self.scheduler.shards_of(ix).iter();
        shards.for_each(|shard| done.add(&self.shards.get(*shard).done));
        Totals { live: State::ALL.map(|state| tenant.jobs.count(state)), done }
    }

    /// All jobs of a queue, or of one tenant in it. A deleted queue may have finished ones.
    #[must_use]
    pub fn totals_of_queue(&self, name: &str, tenant: Option<&TenantId>) -> Totals {
        let Some(queue) = self.queues.find(name) else { return Totals::default() };
        match tenant.map(|id| self.tenants.find(id)) {
            None => self.queue_view(queue).totals,
            Some(Some(tenant)) => self.shard_view(queue, tenant).totals,
            Some(None) => Totals::default(),
        }
    }

    /// Of so many of a tenant's classes before this place, or before the end, those that match; and
    /// the place to go on from, if there are more. From the end on, because those behind
    /// a class that goes move up: so none is missed between two slices, though one may come twice.
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

    /// Jobs of all tenants that were handed out in the last minute.
    #[must_use]
    pub fn dispatched_1m(&self) -> u64 {
        self.meters.starts(self.wall())
    }
}
