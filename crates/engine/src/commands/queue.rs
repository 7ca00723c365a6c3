//! An operator's hand on a queue.

use rota_model::QueueName;
use rota_model::mutation::Kind;

use crate::queue::{QueueIx, QueueRow};
use crate::scheduler::Reconfigured;
use crate::{Backpressure, Engine, EventKind, QueueSettings, Reply};

impl Engine {
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

    fn change_queue(
        &mut self,
        name: &QueueName,
        change: impl FnOnce(&mut QueueRow) -> Option<EventKind>,
    ) -> Reply {
        let ix = match self.queue_ix(name) {
            Ok(ix) => ix,
            Err(refusal) => return Reply::Refused(refusal),
        };
        let queue = self.queues.get_mut(ix);
        let event = change(&mut queue.row);
        let row = queue.row;
        self.put(Kind::Queue, name, &row);
        if let Some(event) = event {
            self.emit(event);
        }
        self.queue_changed(ix);
        self.queues_to_unblock.insert(ix);
        Reply::Queue(Box::new(self.queue_view(ix)))
    }

    /// What the scheduler should know of a queue.
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
