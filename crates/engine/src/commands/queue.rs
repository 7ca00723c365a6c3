//! Operator commands on queues: create, pause, resume, configure, delete.

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{LimitKey, QueueName};

use crate::queue::{QueueIx, QueueRow};
use crate::scheduler::Reconfigured;
use crate::{Backpressure, Engine, EventKind, QueueSettings, Refusal, Reply};

impl Engine {
    pub(crate) fn create_queue(&mut self, name: QueueName, settings: QueueSettings) -> Reply {
        if self.queues.find_existing(&name).is_some() {
            return Reply::Refused(Refusal::QueueExists);
        }
        self.change_queue(&name, |queue| {
            (queue.settings, queue.requested) = (settings, true);
            None
        })
    }

    pub(crate) fn pause_queue(&mut self, name: QueueName) -> Reply {
        let now = self.wall();
        self.change_queue(&name, |queue| {
            let changed = queue.paused.is_none();
            queue.paused.get_or_insert(now);
            changed.then(|| EventKind::QueuePaused { queue: name.clone(), tenant: None })
        })
    }

    pub(crate) fn resume_queue(&mut self, name: QueueName) -> Reply {
        self.change_queue(&name, |queue| {
            queue
                .paused
                .take()
                .map(|_| EventKind::QueueResumed { queue: name.clone(), tenant: None })
        })
    }

    pub(crate) fn configure_queue(&mut self, name: QueueName, settings: QueueSettings) -> Reply {
        self.change_queue(&name, |queue| {
            queue.settings = settings;
            None
        })
    }

    pub(crate) fn delete_queue(&mut self, name: &QueueName) -> Reply {
        let Some(ix) = self.queues.find_existing(name) else {
            return Reply::Refused(Refusal::UnknownQueue);
        };
        let living = self.queues.get(ix).jobs.total();
        if living > 0 {
            return Reply::Refused(Refusal::QueueHasJobs { living });
        }
        let view = self.queue_view(ix);
        for tenant in std::mem::take(&mut self.queues.get_mut(ix).paused_by) {
            self.tenants.get_mut(tenant).row.paused.retain(|(paused, _)| paused != name);
            self.write_tenant(tenant);
            self.set_shard_pause(ix, tenant, None);
        }
        self.delete_minutes(ix);
        self.queues.delete(ix);
        self.out.mutations.push(Mutation::Remove(RowKind::Queue, (**name).into()));
        self.out.mutations.push(Mutation::ForgetHistoryOf((**name).into()));
        self.forget_dispatches(ix);
        self.clear_limit(LimitKey::of_queue(name), None);
        self.queue_changed(ix);
        // Enqueues that wait for room in it can go on.
        self.room_checks.add(ix);
        Reply::Queue(Box::new(view))
    }

    fn change_queue(
        &mut self,
        name: &QueueName,
        change: impl FnOnce(&mut QueueRow) -> Option<EventKind>,
    ) -> Reply {
        let ix = match self.queue_ix(name, None) {
            Ok(ix) => ix,
            Err(refusal) => return Reply::Refused(refusal),
        };
        let queue = self.queues.get_mut(ix);
        let event = change(&mut queue.row);
        let row = queue.row.clone();
        self.put(RowKind::Queue, name, &row);
        if let Some(event) = event {
            self.emit(event);
        }
        self.queue_changed(ix);
        self.room_checks.add(ix);
        Reply::Queue(Box::new(self.queue_view(ix)))
    }

    /// Passes a queue's settings to the scheduler.
    pub(crate) fn queue_changed(&mut self, queue: QueueIx) {
        let row = &self.queues.get(queue).row;
        let (paused, cap) = (row.paused.is_some(), row.settings.concurrency);
        let bounds = row.settings.bounds;
        let drops_oldest = bounds.is_some_and(|b| b.strategy == Backpressure::DropOldest);
        if bounds.is_some() {
            self.queues.note_bounded();
        }
        self.scheduler.reconfigured(Reconfigured::Queue { queue, paused, cap, drops_oldest });
    }
}
