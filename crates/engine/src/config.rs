use rota_model::Ending;

/// What an operator may set. Fixed for the life of an engine.
#[derive(Debug, Clone)]
pub struct Config {
    /// The reservation of a job when neither it nor the fetch says.
    pub visibility_ms: u64,
    /// The longest reservation that a fetch or heartbeat may ask for.
    pub max_visibility_ms: u64,
    /// The execution time of a job that does not say.
    pub timeout_ms: u64,
    /// How long a worker that sends heartbeats may be silent before its jobs are taken back.
    pub heartbeat_timeout_ms: u64,
    /// How long a silent worker stays listed.
    pub forget_worker_after_ms: u64,
    pub retention: Retention,
    pub max_queues: usize,
    pub max_workers: usize,
    pub max_crons: usize,
}

/// How long finished jobs are kept; `None` keeps them for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub completed_ms: Option<u64>,
    pub cancelled_ms: Option<u64>,
    pub discarded_ms: Option<u64>,
}

impl Retention {
    #[must_use]
    pub fn of(&self, ending: Ending) -> Option<u64> {
        match ending {
            Ending::Completed => self.completed_ms,
            Ending::Cancelled => self.cancelled_ms,
            Ending::DeadLetter | Ending::Discarded | Ending::Expired => self.discarded_ms,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        const MINUTE: u64 = 60_000;
        const DAY: u64 = 24 * 60 * MINUTE;
        Self {
            visibility_ms: 30 * MINUTE,
            max_visibility_ms: DAY,
            timeout_ms: 30 * MINUTE,
            heartbeat_timeout_ms: 30_000,
            forget_worker_after_ms: 60 * MINUTE,
            retention: Retention {
                completed_ms: Some(7 * DAY),
                cancelled_ms: Some(7 * DAY),
                discarded_ms: Some(30 * DAY),
            },
            max_queues: 10_000,
            max_workers: 100_000,
            max_crons: 10_000,
        }
    }
}
