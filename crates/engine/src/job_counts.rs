//! Counts of unfinished jobs by state, for a queue, tenant or shard.

use rota_model::State;

use crate::scheduler::Size;

#[derive(Debug, Clone, Copy, Default)]
pub struct JobCounts {
    live: [u32; LIVING],
    /// Bytes of waiting jobs.
    pub bytes: u64,
}

const LIVING: usize = State::WAITING.len() + 1;

impl JobCounts {
    /// Unfinished jobs in this state; 0 for terminal states.
    #[must_use]
    pub fn count(&self, state: State) -> u64 {
        slot(state).map_or(0, |slot| u64::from(self.live[slot]))
    }

    /// Waiting jobs in any state.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.total() - self.count(State::Active)
    }

    /// Waiting jobs, and their bytes.
    #[must_use]
    pub fn load(&self) -> (u64, u64) {
        (self.depth(), self.bytes)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.live.iter().map(|&count| u64::from(count)).sum()
    }

    pub(crate) fn enter(&mut self, state: State, size: Size) {
        let Some(slot) = slot(state) else { return };
        self.live[slot] += 1;
        if state != State::Active {
            self.bytes += size.bytes();
        }
    }

    pub(crate) fn leave(&mut self, state: State, size: Size) {
        let Some(slot) = slot(state) else { return };
        self.live[slot] -= 1;
        if state != State::Active {
            self.bytes -= size.bytes();
        }
    }

    pub(crate) fn add(&mut self, other: &JobCounts) {
        self.live.iter_mut().zip(other.live).for_each(|(live, more)| *live += more);
        self.bytes += other.bytes;
    }

    /// After a restart: adds available jobs.
    pub(crate) fn add_available(&mut self, jobs: u64, bytes: u64) {
        if let Some(slot) = slot(State::Available) {
            self.live[slot] += jobs as u32;
        }
        self.bytes += bytes;
    }
}

fn slot(state: State) -> Option<usize> {
    match state {
        State::Scheduled => Some(0),
        State::Available => Some(1),
        State::Pending => Some(2),
        State::Active => Some(3),
        State::Retryable => Some(4),
        State::Completed | State::Cancelled | State::Discarded => None,
    }
}
