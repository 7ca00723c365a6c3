//! Limits the rate at which events are pushed to one client. What must wait stays in the ring.

use std::time::Duration;

use tokio::time::Instant;

pub(super) struct Rate {
    /// 0 is no limit.
    per_second: u32,
    /// When the next event may be pushed.
    ready: Instant,
}

impl Rate {
    pub fn new(per_second: usize) -> Self {
        let per_second = u32::try_from(per_second).unwrap_or(u32::MAX);
        Self { per_second, ready: Instant::now() }
    }

    /// How many events may be pushed at once: those of a tenth of a second, and at least one.
    pub fn burst(&self) -> usize {
        match self.per_second {
            0 => usize::MAX,
            rate => (rate / 10).max(1) as usize,
        }
    }

    pub fn count(&mut self, pushed: usize) {
        if self.per_second > 0 {
            let pushed = u32::try_from(pushed).unwrap_or(u32::MAX);
            let took = Duration::from_secs(1) / self.per_second * pushed;
            self.ready = self.ready.max(Instant::now()) + took;
        }
    }

    /// Whether the next event has to wait.
    pub fn is_used_up(&self) -> bool {
        self.per_second > 0 && self.ready > Instant::now()
    }

    pub fn ready(&self) -> Instant {
        self.ready
    }
}
