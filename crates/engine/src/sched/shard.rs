//! One tenant's part of one queue.

use ahash::RandomState;
use rota_model::{Millis, State};

use super::{QueueIx, Size, TurnIx};
use crate::meters::MeterIx;
use crate::tenant::TenantIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShardIx(pub u32);

#[derive(Debug)]
pub(crate) struct Shard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    /// Where its jobs are counted for those who watch from outside.
    pub meter: MeterIx,
    pub paused: Option<Millis>,
    /// Living jobs by state.
    live: [u32; State::ALL.len()],
    /// Of the jobs that wait.
    pub bytes: u64,
    /// By level; few.
    pub turns: Vec<(i32, TurnIx)>,
}

impl Shard {
    pub fn count(&self, state: State) -> u64 {
        u64::from(self.live[usize::from(state.code())])
    }

    /// So many available jobs that a start has read.
    pub fn refill(&mut self, jobs: u64, bytes: u64) {
        self.live[usize::from(State::Available.code())] += jobs as u32;
        self.bytes += bytes;
    }

    pub fn enter(&mut self, state: State, size: Size) {
        self.live[usize::from(state.code())] += 1;
        if state != State::Active {
            self.bytes += size.bytes();
        }
    }

    pub fn leave(&mut self, state: State, size: Size) {
        self.live[usize::from(state.code())] -= 1;
        if state != State::Active {
            self.bytes -= size.bytes();
        }
    }

    /// Jobs that wait, in whatever way.
    pub fn depth(&self) -> u64 {
        State::WAITING.into_iter().map(|state| self.count(state)).sum()
    }
}

pub(crate) struct Shards {
    all: Vec<Shard>,
    by_owner: std::collections::HashMap<(QueueIx, TenantIx), ShardIx, RandomState>,
}

impl Shards {
    pub fn new(hasher: RandomState) -> Self {
        Self { all: Vec::new(), by_owner: std::collections::HashMap::with_hasher(hasher) }
    }

    pub fn find(&self, queue: QueueIx, tenant: TenantIx) -> Option<ShardIx> {
        self.by_owner.get(&(queue, tenant)).copied()
    }

    /// The shard, and whether it is new.
    pub fn get_or_make(
        &mut self,
        queue: QueueIx,
        tenant: TenantIx,
        meter: impl FnOnce() -> MeterIx,
    ) -> (ShardIx, bool) {
        if let Some(ix) = self.find(queue, tenant) {
            return (ix, false);
        }
        let ix = ShardIx(self.all.len() as u32);
        self.all.push(Shard {
            queue,
            tenant,
            meter: meter(),
            paused: None,
            live: [0; State::ALL.len()],
            bytes: 0,
            turns: Vec::new(),
        });
        self.by_owner.insert((queue, tenant), ix);
        (ix, true)
    }

    pub fn get(&self, ix: ShardIx) -> &Shard {
        &self.all[ix.0 as usize]
    }

    pub fn get_mut(&mut self, ix: ShardIx) -> &mut Shard {
        &mut self.all[ix.0 as usize]
    }
}
