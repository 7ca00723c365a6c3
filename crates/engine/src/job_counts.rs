//! How many jobs live in one place: a queue, a tenant, a tenant's part of a queue.

use rota_model::State;

use crate::scheduler::Size;

#[derive(Debug, Clone, Copy, Default)]
pub struct JobCounts {
    live: [u32; LIVING],
    /// Of the jobs that wait.
    pub bytes: u64,
}

const LIVING: usize = State::WAITING.len() + 1;

impl JobCounts {
    /// Jobs that are in this state; of those that have ended, none live anywhere.
    #[must_use]
    pub fn count(&self, state: State) -> u64 {
        slot(state).map_or(0, |slot| u64::from(self.live[slot]))
    }

    /// Jobs that wait, in whatever way.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.total() - self.count(State::Active)
    }

    /// Jobs that wait, and their bytes.
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

    /// So many available jobs that a start has read.
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
