//! An operator's hand on a queue.

use rota_model::QueueName;
use rota_model::mutation::Kind;

use crate::sched::QueueIx;
use crate::{Engine, EventKind, QueueSettings, Reply};

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
        change: impl FnOnce(&mut crate::sched::QueueRow) -> Option<EventKind>,
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
        self.keep_heads(ix);
        self.relieved.push(ix);
        self.wake(ix);
        Reply::Queue(Box::new(self.queue_view(self.queues.get(ix))))
    }

    /// Waiting fetches may find something in this queue now.
    fn wake(&mut self, ix: QueueIx) {
        if !self.queues.get(ix).waiters.is_empty() {
            self.awake.push(ix);
        }
    }

    pub(crate) fn wake_all(&mut self) {
        self.waiters.all_aside().into_iter().for_each(|id| self.bring_back(id));
        for ix in self.queues.indexes() {
            self.wake(ix);
        }
    }
}
