//! Creating queues and tenants, on first use and from the configuration.

use rota_model::mutation::RowKind;
use rota_model::{Millis, QueueName, TenantId};

use crate::caps::Asker;
use crate::idle::IdleCandidate;
use crate::queue::{QueueIx, QueueRow};
use crate::scheduler::limits::{LimitSettings, Partition};
use crate::scheduler::{PoolChange, Reconfigured};
use crate::tenant::TenantIx;
use crate::{ConfigOrigin, Engine, Refusal};

impl Engine {
    /// The queue's index. A missing queue is created, and owned by the tenant that creates it, if
    /// any.
    pub(crate) fn queue_ix(
        &mut self,
        name: &QueueName,
        by: Option<&TenantId>,
    ) -> Result<QueueIx, Refusal> {
        if let Some(ix) = self.queues.find_existing(name) {
            return Ok(ix);
        }
        let owner = Self::queue_owner(name, by);
        self.check_tenant(owner.as_ref())?;
        self.queues.check_cap(self.asker(owner.as_ref()), 0, 1)?;
        if let Some(id) = &owner {
            self.ensure_tenant(id);
        }
        let row = QueueRow { owner, ..QueueRow::new(self.wall()) };
        self.put(RowKind::Queue, name, &row);
        let ix = match self.queues.find(name) {
            Some(deleted) => deleted,
            None => self.add_queue(name.clone()),
        };
        self.queues.create(ix, row);
        self.scheduler.queue_created(name, ix);
        // In pool scope, the new queue's turns must be in the accounts of its pools from the first
        // job on.
        self.make_pool_accounts();
        self.update_queue_limit(name);
        Ok(ix)
    }

    /// Adds a queue to the tables. It does not exist for clients until its row is set.
    pub(crate) fn add_queue(&mut self, name: QueueName) -> QueueIx {
        let ix = self.queues.add(name.clone(), self.now.mono);
        self.check_idle_later(IdleCandidate::Queue(ix));
        self.scheduler.add_queue(ix);
        self.scheduler.queue_created(&name, ix);
        ix
    }

    pub(crate) fn add_tenant(&mut self, id: TenantId, created: Millis) -> TenantIx {
        let ix = self.tenants.add(id.clone(), created, self.now.mono);
        self.check_idle_later(IdleCandidate::Tenant(ix));
        let rules = self.rules_of(ix);
        self.scheduler.add_tenant(ix, id, rules);
        ix
    }

    /// Adds a tenant that another row names; its own row may follow.
    pub(crate) fn ensure_tenant_of_row(&mut self, id: &TenantId, created: Millis) {
        if self.tenants.find(id).is_none() {
            self.add_tenant(id.clone(), created);
        }
    }

    /// Applies the configured tenants, pools and limits.
    pub(crate) fn load_config(&mut self) {
        for (id, config) in self.config.tenants.clone() {
            // Configured tenants get metric labels before others.
            self.meters.give_label(&id, true);
            let ix = self.add_tenant(id, Millis(0));
            self.tenants.get_mut(ix).file = Some(config.into());
            self.tenants.note_configured();
            self.tenant_changed(ix);
        }
        for (name, pool) in self.config.pools.clone() {
            pool.queues.iter().for_each(|queue| {
                self.meters.give_queue_label(queue, Asker::OPERATOR);
            });
            let change = PoolChange { origin: ConfigOrigin::File, config: Some(pool) };
            self.scheduler.reconfigured(Reconfigured::Pool(name, change));
        }
        for (key, declaration) in self.config.limits.clone() {
            let queue = key.strip_prefix("queue:").and_then(|name| QueueName::stored(name).ok());
            if let Some(queue) = queue {
                self.meters.give_queue_label(&queue, Asker::OPERATOR);
            }
            let ix = self.scheduler.limit(&Partition { key, tenant: None });
            let row = LimitSettings::of_file(Some(declaration));
            self.scheduler.reconfigured(Reconfigured::LimitSettings(ix, row));
        }
    }
}
