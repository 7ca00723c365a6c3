//! The engine's state as a caller may see it.

use rota_engine::{
    Engine, LimitName, LimitSlice, LimitView, Maintenance, PoolView, ShareView, TenantView,
    UnwrittenUsage, WorkerCounts, WorkerView,
};
use rota_model::{Class, ClassId, LimitKey, Millis, PoolName, Seq, TenantId, WorkerId};
use rota_store::ListQuery;

use super::NamedJobs;
use crate::runtime::CallerScope;

/// What the caller may see of the engine. For a tenant, nothing of other tenants is in it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(super) engine: &'a Engine,
    /// `None` for an operator.
    pub(super) tenant: Option<&'a TenantId>,
    pub(super) scope: &'a CallerScope,
    pub(super) namespaced: bool,
}

/// A query for jobs that the caller may see.
#[derive(Debug, Clone)]
pub struct ScopedQuery(ListQuery);

impl ScopedQuery {
    /// Changes the page that the query asks for. Which jobs it selects stays the same.
    pub(in crate::http) fn set_page(
        &mut self,
        order: rota_store::Order,
        limit: usize,
        scan: usize,
    ) {
        (self.0.order, self.0.limit, self.0.scan) = (order, limit, scan);
    }

    /// Changes how much of the list the page has.
    pub(in crate::http) fn set_extent(&mut self, skip: usize, limit: usize, max_bytes: usize) {
        (self.0.skip, self.0.limit, self.0.max_bytes) = (skip, limit, max_bytes);
    }

    pub(in crate::http) fn set_after(&mut self, after: Option<Seq>) {
        self.0.after = after;
    }

    pub(in crate::http) fn as_query(&self) -> &ListQuery {
        &self.0
    }

    pub(super) fn into_query(self) -> ListQuery {
        self.0
    }
}

impl<'a> View<'a> {
    pub(super) fn new(engine: &'a Engine, scope: &'a CallerScope, namespaced: bool) -> Self {
        Self { engine, tenant: scope.tenant.as_ref(), scope, namespaced }
    }

    /// The whole engine, if the caller is an operator.
    #[must_use]
    pub fn operator(&self) -> Option<&'a Engine> {
        self.tenant.is_none().then_some(self.engine)
    }

    /// The tenant that looks; `None` for an operator.
    #[must_use]
    pub fn tenant_id(&self) -> Option<&'a TenantId> {
        self.tenant
    }

    /// The engine, for what belongs to this tenant; `None` if the caller may not see it.
    pub(super) fn of(&self, tenant: &str) -> Option<&'a Engine> {
        self.tenant.is_none_or(|own| **own == *tenant).then_some(self.engine)
    }

    /// The same for figures of all of a tenant's queues together.
    fn of_whole(&self, tenant: &str) -> Option<&'a Engine> {
        self.of(tenant).filter(|_| self.scope.queues.is_none())
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        self.engine.now().wall
    }

    /// The number of the next job, which delimits the jobs that exist now. It says how many jobs all
    /// tenants have had, so it is not to be shown.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.engine.next_seq()
    }

    #[must_use]
    pub fn maintenance(&self) -> &'a Maintenance {
        self.engine.maintenance()
    }

    #[must_use]
    pub fn next_prune(&self) -> Millis {
        self.engine.next_prune()
    }

    /// Whether an operator has configured the caller, so that it was not just invented.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.engine.asker(self.tenant).configured
    }

    /// The tenant that a class belongs to, if the caller may see it.
    #[must_use]
    pub fn owner_of(&self, class: ClassId) -> Option<&'a TenantId> {
        let class = self.engine.class(class).filter(|class| self.scope.covers(class));
        class.map(|class| &class.tenant)
    }

    /// Whether the caller may see the jobs of a class.
    #[must_use]
    pub fn owns(&self, class: ClassId) -> bool {
        self.owner_of(class).is_some()
    }

    // Tenants.

    /// A tenant with its figures, unless the caller may see some of its queues only.
    #[must_use]
    pub fn tenant(&self, id: &TenantId) -> Option<TenantView> {
        self.of_whole(id)?.tenant(id)
    }

    /// Whether there is a tenant of this id, as far as the caller may know.
    #[must_use]
    pub fn has_tenant(&self, id: &TenantId) -> bool {
        self.of(id).is_some_and(|engine| engine.tenant(id).is_some())
    }

    #[must_use]
    pub fn share(&self, id: &TenantId) -> Option<ShareView> {
        self.of_whole(id)?.share(id)
    }

    #[must_use]
    pub fn unwritten_usage(&self, id: &TenantId) -> Option<UnwrittenUsage> {
        self.of_whole(id)?.unwritten_usage(id)
    }

    // Workers.

    /// A worker, and the caller's jobs that it holds. A tenant sees its own workers only.
    #[must_use]
    pub fn worker(&self, id: &WorkerId) -> Option<(WorkerView, NamedJobs)> {
        let view = self.engine.worker(id, self.tenant)?;
        let is_visible = self.tenant.is_none_or(|own| view.about.tenant.as_ref() == Some(own));
        is_visible.then(|| (self.cut_worker(view), NamedJobs::new(self.held_by(id))))
    }

    #[must_use]
    pub fn workers_after(&self, after: &str, skip: usize, most: usize) -> Vec<WorkerView> {
        let workers = self.engine.workers_after(self.tenant, after, skip, most);
        workers.into_iter().map(|worker| self.cut_worker(worker)).collect()
    }

    #[must_use]
    pub fn worker_counts(&self) -> WorkerCounts {
        self.engine.worker_counts(self.tenant)
    }

    // Limits.

    /// A limit: a key's, or a tenant's part of it. A tenant sees its own parts, the limits of its own
    /// queues, and those that an operator has declared for all.
    #[must_use]
    pub fn limit(&self, key: &LimitKey, tenant: Option<&TenantId>) -> Option<LimitView> {
        let view = self.engine.limit(key, tenant).filter(|_| self.sees_key(key))?;
        let owner = tenant.map(|tenant| &**tenant).or(key.namespace());
        let is_visible = match owner {
            Some(owner) => self.of(owner).is_some(),
            None => self.tenant.is_none() || view.declared.is_some(),
        };
        is_visible.then_some(view)
    }

    /// Whether jobs of any tenant use a key that they share. Says nothing else about it.
    #[must_use]
    pub fn is_shared_key(&self, key: &LimitKey) -> bool {
        self.engine.limit(key, None).is_some()
    }

    /// The parts that tenants have of a key, up to `most`; for a tenant its own.
    #[must_use]
    pub fn parts_of_limit(&self, key: &LimitKey, most: usize) -> Vec<LimitView> {
        if let Some(own) = self.tenant {
            let part = self.engine.limit(key, Some(own)).filter(|_| self.sees_key(key));
            return Vec::from_iter(part);
        }
        // They follow the shared limit of the same key.
        let shared = LimitName { key: key.clone(), tenant: None, declared: false };
        let after = self.engine.limits_after(Some(&shared), key, most);
        let parts = after.into_iter().take_while(|name| name.key == *key);
        parts.filter_map(|name| self.engine.limit(&name.key, name.tenant.as_ref())).collect()
    }

    /// Pages through the limits whose key begins with `prefix`: `take` of them after the first `skip`.
    /// Examines at most `most` limits.
    #[must_use]
    pub fn slice_of_limits(
        &self,
        after: Option<&LimitName>,
        prefix: &str,
        (skip, take): (usize, usize),
        most: usize,
    ) -> LimitSlice {
        let is_visible = |name: &LimitName| {
            let is_known = match name.tenant.as_deref().or(name.key.namespace()) {
                Some(owner) => self.of(owner).is_some(),
                None => self.tenant.is_none() || name.declared,
            };
            is_known && self.sees_key(&name.key)
        };
        self.engine.slice_of_limits(after, prefix, is_visible, (skip, take), most)
    }

    // Pools.

    /// The pool that the caller means: its own, or the operator's if the caller may use that.
    #[must_use]
    pub fn pool(&self, name: &PoolName) -> Option<PoolView> {
        self.engine.pool(self.tenant, name).map(|pool| self.cut_pool(pool))
    }

    /// A page of the pools that the caller may use; for an operator, of all. A tenant's cursors are names
    /// without the owner, an operator's are the engine's names.
    #[must_use]
    pub fn pools_after(&self, after: &str, skip: usize, most: usize) -> Vec<PoolView> {
        let pools = match self.tenant {
            Some(own) => self.engine.pools_of_tenant_after(own, after, skip, most),
            None => self.engine.pools_after(after, skip, most),
        };
        pools.into_iter().map(|pool| self.cut_pool(pool)).collect()
    }

    #[must_use]
    pub fn pool_count(&self) -> usize {
        self.tenant
            .map_or_else(|| self.engine.pool_count(), |own| self.engine.pool_count_of_tenant(own))
    }

    // Jobs.

    /// Makes a query that selects jobs the caller may see. A tenant's query must name classes, which
    /// come from [`View::classes`].
    #[must_use]
    pub fn query(&self, mut query: ListQuery) -> ScopedQuery {
        if self.tenant.is_some() {
            let mut classes = query.classes.take().unwrap_or_default();
            classes.retain(|class| self.owns(*class));
            query.classes = Some(classes);
        }
        ScopedQuery(query)
    }

    /// Classes of the caller, or of the tenant that an operator names, or all; up to `most` from `from` on.
    /// Also returns where the next slice starts, if there is one.
    #[must_use]
    pub fn classes(
        &self,
        tenant: Option<&TenantId>,
        from: Option<usize>,
        most: usize,
        matches: impl Fn(&Class) -> bool,
    ) -> (Vec<ClassId>, Option<usize>) {
        match self.tenant.or(tenant) {
            Some(tenant) => {
                let matches = |class: &Class| self.scope.covers(class) && matches(class);
                self.engine.classes_of_tenant(tenant, from, most, matches)
            }
            None => self.engine.classes_slice(from.unwrap_or(0), most, matches),
        }
    }

    /// Available jobs of a query's classes, by number, as far as its page goes.
    #[must_use]
    pub fn available(&self, query: &ScopedQuery, descending: bool) -> Option<Vec<Seq>> {
        let query = &query.0;
        let classes = query.classes.as_deref()?;
        Some(self.engine.available(classes, query.after, descending, query.limit))
    }

    /// The active jobs of a query's classes, by number; `None` if more than `most` would be visited.
    #[must_use]
    pub fn active_seqs(&self, query: &ScopedQuery, most: usize) -> Option<Vec<Seq>> {
        let is_short = self.engine.active_count() <= most;
        is_short.then(|| self.engine.active_seqs(query.0.classes.as_deref()))
    }
}
