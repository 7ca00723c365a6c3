//! Which limits apply to which jobs, and the events when a limit is exceeded or released.

use rota_model::{
    Class, ClassId, JobType, LimitKey, LimitNumbers, QueueName, Scope, Seq, State, TenantId,
};

use crate::scheduler::limits::{Closed, ClosedNotice, GateIx, LimitIx, Partition};
use crate::scheduler::{Notice, Reconfigured};
use crate::{Engine, EventKind};

impl Engine {
    /// The gates of a class's own limit. Limits on its queue and type are separate.
    pub(crate) fn gates_for(&mut self, class: &Class) -> Box<[GateIx]> {
        let Some(limit) = &class.policy.limit else { return Box::default() };
        let tenant = (limit.scope == Scope::Tenant).then(|| class.tenant.clone());
        let partition = Partition { key: limit.key.clone(), tenant };
        let ix = self.scheduler.limit(&partition);
        [self.scheduler.use_gate(ix, limit.numbers, Some(limit.on_limit))].into()
    }

    /// The shared limit of this key, if it has settings.
    fn limit_with_settings(&self, key: &LimitKey) -> Option<LimitIx> {
        let limits = self.scheduler.limits();
        let ix = limits.find(&Partition { key: key.clone(), tenant: None })?;
        limits.limit(ix).has_settings().then_some(ix)
    }

    /// The settings of a key were added, changed or removed: updates the queue or type that a
    /// `queue:` or `type:` key applies to, or the tenant whose own part of a shared key it is.
    pub(crate) fn limit_scope_changed(&mut self, partition: &Partition) {
        let Partition { key, tenant } = partition;
        if let Some(tenant) = tenant {
            self.update_own_part(key, tenant);
            return;
        }
        if let Some(name) = key.strip_prefix("queue:").and_then(|q| QueueName::stored(q).ok()) {
            self.update_queue_limit(&name);
        }
        if let Some(kind) = key.strip_prefix("type:").and_then(|t| JobType::parse(t).ok()) {
            self.scheduler.reconfigured(Reconfigured::Type(kind));
        }
    }

    /// While a tenant's part of a key is paused, it applies to the tenant's jobs that share the key
    /// with others, too.
    fn update_own_part(&mut self, key: &LimitKey, tenant: &TenantId) {
        let Some(tenant_ix) = self.tenants.find(tenant) else { return };
        let own = Partition { key: key.clone(), tenant: Some(tenant.clone()) };
        let shared = Partition { key: key.clone(), tenant: None };
        let part = self.scheduler.limits().find(&own);
        let is_paused = |ix: &LimitIx| {
            let limit = self.scheduler.limits().limit(*ix);
            limit.settings.pause.is_some()
        };
        let part = part.filter(is_paused);
        let shared = match part {
            Some(_) => self.scheduler.limit(&shared),
            None => match self.scheduler.limits().find(&shared) {
                Some(shared) => shared,
                None => return,
            },
        };
        self.scheduler.reconfigured(Reconfigured::OwnPart { shared, tenant: tenant_ix, part });
        if part.is_none() {
            self.limit_may_be_idle(shared);
        }
    }

    /// Adds, refreshes or removes a queue's own gate, depending on whether its `queue:` limit has
    /// settings.
    pub(crate) fn update_queue_limit(&mut self, name: &QueueName) {
        let Some(ix) = self.queues.find(name) else { return };
        let wanted = self.limit_with_settings(&LimitKey::of_queue(name));
        let current = self.scheduler.gate_of_queue(ix);
        let gate = match (current, wanted) {
            (None, Some(limit)) => {
                Some(self.scheduler.use_gate(limit, LimitNumbers::default(), None))
            }
            (Some(_), None) => None,
            (current, _) => {
                if current.is_some() {
                    self.scheduler.reconfigured(Reconfigured::QueueLimitChanged(ix));
                }
                return;
            }
        };
        self.scheduler.reconfigured(Reconfigured::QueueGate(ix, gate));
    }

    /// Turns the scheduler's notices into events and statistics.
    pub(crate) fn emit_notices(&mut self) {
        for notice in self.scheduler.take_notices() {
            match notice {
                Notice::LimitExceeded { limit, class, closed } => {
                    self.emit_limit_exceeded(limit, class, &closed);
                }
                Notice::LimitReleased { limit, class, head, notified } => {
                    self.emit_limit_released(limit, class, head, notified);
                }
                Notice::TenantCapped(tenant) => self.emit_tenant_at_cap(tenant),
                Notice::GateGone(limit) => self.limit_may_be_idle(limit),
                Notice::QueueStarved { queue, for_ms } => {
                    let queue = self.queues.get_mut(queue);
                    queue.starved += 1;
                    queue.starves = true;
                    let name = queue.name.clone();
                    let available = queue.count(State::Available);
                    self.emit(EventKind::QueueStarved { queue: name, for_ms, available });
                }
            }
        }
    }

    /// A limit has stopped a job of this class from starting.
    fn emit_limit_exceeded(&mut self, ix: LimitIx, class: ClassId, closed: &Closed) {
        let limits = self.scheduler.limits();
        if !limits.exists(ix) {
            return;
        }
        self.limit_watch.count_exceeded(ix, closed.kind);
        let limit = limits.limit(ix);
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let (strategy, limit, current) = (closed.kind, closed.limit, closed.current);
        let class = self.classes.slot(class).class.clone();
        self.emit(EventKind::LimitExceeded { key, tenant, class, strategy, limit, current });
    }

    /// A limit lets jobs of this class start again.
    fn emit_limit_released(
        &mut self,
        ix: LimitIx,
        class: ClassId,
        head: Seq,
        (strategy, since): ClosedNotice,
    ) {
        let waited = self.scheduler.now().mono.saturating_sub(since);
        let limits = self.scheduler.limits();
        if !limits.exists(ix) {
            return;
        }
        self.limit_watch.record_wait(ix, waited);
        let limit = limits.limit(ix);
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let job = self.job_ref(head, class);
        self.emit(EventKind::LimitReleased { key, tenant, strategy, job });
    }
}
