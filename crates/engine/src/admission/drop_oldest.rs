//! Choosing the oldest available jobs of a full queue or shard to be dropped for new ones. All are
//! chosen before the first is dropped, so nothing is lost if the new jobs do not fit after all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rota_model::{ClassId, Ending, Seq, State};

use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::{Engine, EventKind};

/// Jobs that one enqueue may drop in addition to the number it brings. A queue whose bound was
/// lowered far below its depth shrinks by this much with each enqueue.
const MOST_DROPPED: u64 = 10_000;

/// How far a bound would be exceeded.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Excess {
    pub jobs: u64,
    pub bytes: u64,
}

/// Jobs that are to be dropped.
#[derive(Default)]
pub(super) struct Drops {
    jobs: Vec<(Seq, ClassId)>,
    seqs: BTreeSet<Seq>,
}

/// Jobs of several lanes, the oldest first.
struct Oldest<'a, I: Iterator<Item = (Seq, ClassId)>> {
    engine: &'a Engine,
    /// The first job of each lane, sorted.
    heads: std::iter::Peekable<I>,
    /// The next job of each lane that a job was taken from.
    next: BinaryHeap<Reverse<(Seq, ClassId)>>,
}

impl Excess {
    pub fn is_none(self) -> bool {
        self.jobs == 0 && self.bytes == 0
    }

    fn minus(self, bytes: u64) -> Self {
        Self { jobs: self.jobs.saturating_sub(1), bytes: self.bytes.saturating_sub(bytes) }
    }
}

impl Drops {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl Engine {
    /// Chooses the oldest jobs of a shard. Returns whether they make enough room.
    pub(super) fn choose_from_shard(
        &self,
        drops: &mut Drops,
        shard: ShardIx,
        excess: Excess,
        added: u64,
    ) -> bool {
        let lanes = self.scheduler.lanes_of_shard(shard);
        let heads = lanes
            .filter_map(|class| Some((self.scheduler.lane(class)?.head()?, class)))
            .collect::<BTreeSet<_>>();
        self.choose(drops, heads.into_iter(), excess, added)
    }

    /// Chooses the oldest jobs of a queue, of any tenant; jobs that are already chosen count.
    /// Returns whether they make enough room.
    pub(super) fn choose_from_queue(
        &self,
        drops: &mut Drops,
        queue: QueueIx,
        mut excess: Excess,
        added: u64,
    ) -> bool {
        for (seq, class) in &drops.jobs {
            if self.classes.slot(*class).queue == queue {
                excess = excess.minus(self.waiting_bytes(*seq, *class));
            }
        }
        self.choose(drops, self.scheduler.heads(queue), excess, added)
    }

    fn choose(
        &self,
        drops: &mut Drops,
        heads: impl Iterator<Item = (Seq, ClassId)>,
        mut excess: Excess,
        added: u64,
    ) -> bool {
        let oldest = Oldest { engine: self, heads: heads.peekable(), next: BinaryHeap::new() };
        let mut left = MOST_DROPPED.saturating_add(added);
        for (seq, class) in oldest {
            if excess.is_none() || left == 0 {
                return true;
            }
            if drops.seqs.insert(seq) {
                drops.jobs.push((seq, class));
                excess = excess.minus(self.waiting_bytes(seq, class));
                left -= 1;
            }
        }
        excess.is_none()
    }

    fn waiting_bytes(&self, seq: Seq, class: ClassId) -> u64 {
        let size = self.scheduler.lane(class).and_then(|lane| lane.size_of(seq));
        size.map_or(0, |size| size.bytes())
    }

    pub(super) fn drop_jobs(&mut self, drops: Drops) {
        for (seq, class) in drops.jobs {
            self.leave_lane(seq, class);
            self.end(seq, class, Ending::Discarded, None);
            self.meter(class).dropped += 1;
            let job = self.job_ref(seq, class);
            let queue = job.class.queue.clone();
            self.emit(EventKind::QueueDropped { queue, job: job.clone() });
            let (reason, error) = ("dropped_by_backpressure", bytes::Bytes::new());
            let from = State::Available;
            self.emit(EventKind::Discarded { job, attempt: 0, reason, error, from });
        }
    }
}

impl<I: Iterator<Item = (Seq, ClassId)>> Iterator for Oldest<'_, I> {
    type Item = (Seq, ClassId);

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next.peek().map(|Reverse(job)| *job);
        let is_head = match (self.heads.peek(), next) {
            (Some(head), Some(next)) => *head < next,
            (head, _) => head.is_some(),
        };
        let job = if is_head { self.heads.next() } else { self.next.pop().map(|Reverse(j)| j) };
        let (seq, class) = job?;
        let behind = self.engine.scheduler.lane(class).map(|lane| lane.walk(Some(seq), false, 1));
        if let Some(&behind) = behind.as_deref().and_then(|seqs| seqs.first()) {
            self.next.push(Reverse((behind, class)));
        }
        Some((seq, class))
    }
}
