//! The engine's configuration, fixed for its lifetime.

use std::collections::BTreeMap;

use rota_model::{
    DeclaredLimit, Ending, FairnessScope, LimitKey, PoolConfig, PoolName, PruningPolicy,
    ReplayRule, RuleName, Starvation, TenantConfig, TenantId, Weight,
};

pub use rota_model::{Cost, FairStrategy, PriorityScope};

use crate::{AuditLimits, Cap, DeadLetterLimits, MetricBounds};

/// Everything that an operator can configure.
#[derive(Debug, Clone)]
pub struct Config {
    /// Reservation of a job, if neither the job nor the fetch sets one.
    pub visibility_ms: u64,
    /// The longest reservation that a fetch or heartbeat may ask for.
    pub max_visibility_ms: u64,
    /// A lower maximum for tenants' own workers.
    pub max_own_visibility_ms: u64,
    /// Execution timeout of a job that sets none.
    pub timeout_ms: u64,
    /// How long a worker that sends heartbeats may be silent before its jobs are released.
    pub heartbeat_timeout_ms: u64,
    /// How long a silent worker stays listed.
    pub forget_worker_after_ms: u64,
    pub retention: Retention,
    pub dead_letter: DeadLetterLimits,
    /// How often dead letters are pruned.
    pub prune_interval_ms: u64,
    /// Rules that replay jobs of the dead letter, in this order.
    pub replay_rules: BTreeMap<RuleName, ReplayRule>,
    /// How long an idle queue or tenant is kept.
    pub forget_idle_ms: u64,
    /// How long an API key is kept after it was revoked or has expired.
    pub forget_keys_ms: u64,
    /// A tenant with at most this many classes of unfinished jobs gets new rules at once; others
    /// are updated in slices.
    pub lanes_at_once: u32,
    pub caps: Caps,
    /// How many tenants and queues have metrics of their own.
    pub metrics: MetricBounds,
    /// The longest time for which a handler may pause a key.
    pub longest_pause_ms: u64,
    /// How often a job may report an external limit before that counts as a failure.
    pub most_pauses: u32,
    /// Delay of a rescheduled job if it is unknown when a slot will be free.
    pub reschedule_ms: u64,
    /// Each tenant has its own queues. Pools name them without the namespace. Limits shared by all
    /// tenants must be declared by an operator.
    pub queues_per_tenant: bool,
    /// Maximum number of stored bytes of a tenant that has no limit of its own.
    pub max_bytes: Option<u64>,
    /// The journal holds at least this many changes before counters are flushed.
    pub journal_entries: usize,
    /// How long tenants' usage is kept, by hour and by day.
    pub usage_hours_ms: u64,
    pub usage_days_ms: u64,
    pub audit: AuditLimits,
    pub fairness: Fairness,
    pub noisy: Noisy,
    pub starvation: Starvation,
    /// From the configuration file. Settings made through the API override these.
    pub tenants: BTreeMap<TenantId, TenantConfig>,
    pub pools: BTreeMap<PoolName, PoolConfig>,
    pub limits: BTreeMap<LimitKey, DeclaredLimit>,
}

/// Caps on what all tenants share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// All tenants. Only tenants that are not configured may be refused.
    pub tenants: usize,
    pub queues: Cap,
    /// Classes with unfinished jobs; ten times as many including finished ones.
    pub classes: Cap,
    /// Keys with a declaration, an override or a pause.
    pub rate_limits: Cap,
    /// Rate-limit keys that one tenant's unfinished jobs may use; each needs lanes of its own.
    pub rate_keys_per_tenant: usize,
    pub pools: Cap,
    pub workers: Cap,
    /// Bytes of what workers say about themselves, as JSON.
    pub worker_bytes: Cap,
    pub schedules: Cap,
    /// Bytes of schedules, as stored.
    pub schedule_bytes: Cap,
    pub schedule_runs: Cap,
    pub waiting_fetches: Cap,
    pub waiting_enqueues: Cap,
    /// Types of errors that have a counter in a dead letter.
    pub error_types: Cap,
    /// API keys.
    pub keys: Cap,
}

impl Default for Caps {
    fn default() -> Self {
        let cap = |total, per_tenant| Cap { total, per_tenant };
        Self {
            tenants: 200_000,
            queues: cap(10_000, 1_000),
            classes: cap(1_000_000, 10_000),
            rate_limits: cap(100_000, 1_000),
            rate_keys_per_tenant: 10_000,
            pools: cap(10_000, 100),
            workers: cap(100_000, 10_000),
            worker_bytes: cap(256 << 20, 16 << 20),
            schedules: cap(10_000, 1_000),
            schedule_bytes: cap(64 << 20, 4 << 20),
            schedule_runs: cap(100_000, 10_000),
            waiting_fetches: cap(7_000, 700),
            waiting_enqueues: cap(1_000, 100),
            error_types: cap(100_000, 200),
            keys: cap(10_000, 100),
        }
    }
}

/// How tenants share queues and workers.
#[derive(Debug, Clone)]
pub struct Fairness {
    /// If false, jobs are served in order of arrival.
    pub enabled: bool,
    pub scope: FairnessScope,
    pub strategy: FairStrategy,
    pub cost: Cost,
    pub priority_scope: PriorityScope,
    pub default_weight: Weight,
    /// With `FairStrategy::Strict`: the concurrency of tenants that have none configured.
    pub default_concurrency: u32,
    /// Starts on a tenant's own workers count against its share on shared workers.
    pub charge_own_workers: bool,
}

impl Default for Fairness {
    fn default() -> Self {
        Self {
            enabled: true,
            scope: FairnessScope::Queue,
            strategy: FairStrategy::Weighted,
            cost: Cost::Job,
            priority_scope: PriorityScope::Global,
            default_weight: Weight::ONE,
            default_concurrency: 10,
            charge_own_workers: false,
        }
    }
}

/// When a tenant counts as noisy, and how it is throttled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noisy {
    pub detect: bool,
    pub throttle: bool,
    /// Waiting jobs, as a multiple of the median of tenants that have any.
    pub depth_ratio: f64,
    /// Enqueues per minute, as a multiple of the mean of tenants that enqueued.
    pub rate_ratio: f64,
    /// Fraction of all active jobs.
    pub active_share: f64,
    /// Error rate, as a multiple of the mean.
    pub error_ratio: f64,
    /// Below these minimums no tenant counts as noisy: its waiting jobs, its enqueues in the last
    /// minute, active jobs of all tenants, and its executions in the last minute.
    pub min_depth: u64,
    pub min_enqueued: u64,
    pub min_active: u64,
    pub min_executions: u64,
    /// A throttled tenant's weight or concurrency is multiplied by this.
    pub factor: f64,
    pub throttle_ms: u64,
}

impl Default for Noisy {
    fn default() -> Self {
        Self {
            detect: true,
            throttle: false,
            depth_ratio: 10.0,
            rate_ratio: 5.0,
            active_share: 0.5,
            error_ratio: 3.0,
            min_depth: 100,
            min_enqueued: 100,
            min_active: 10,
            min_executions: 20,
            factor: 0.2,
            throttle_ms: 300_000,
        }
    }
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

impl Config {
    /// The longest reservation for a tenant's own worker, or for a shared worker.
    pub(crate) fn longest_visibility_ms(&self, tenant: Option<&TenantId>) -> u64 {
        let for_own = tenant.map_or(u64::MAX, |_| self.max_own_visibility_ms);
        self.max_visibility_ms.min(for_own)
    }
}

impl Default for Config {
    fn default() -> Self {
        const MINUTE: u64 = 60_000;
        const DAY: u64 = 24 * 60 * MINUTE;
        Self {
            visibility_ms: 30 * MINUTE,
            max_visibility_ms: DAY,
            max_own_visibility_ms: 60 * MINUTE,
            timeout_ms: 30 * MINUTE,
            heartbeat_timeout_ms: 30_000,
            forget_worker_after_ms: 60 * MINUTE,
            retention: Retention {
                completed_ms: Some(7 * DAY),
                cancelled_ms: Some(7 * DAY),
                discarded_ms: Some(30 * DAY),
            },
            dead_letter: DeadLetterLimits {
                max_age_ms: 180 * DAY,
                max_count: 10_000,
                pruning: PruningPolicy::Delete,
            },
            prune_interval_ms: 5 * MINUTE,
            replay_rules: BTreeMap::new(),
            forget_idle_ms: 60 * MINUTE,
            forget_keys_ms: 30 * 24 * 60 * MINUTE,
            lanes_at_once: 256,
            caps: Caps::default(),
            metrics: MetricBounds::default(),
            longest_pause_ms: 60 * MINUTE,
            most_pauses: 100,
            reschedule_ms: 1_000,
            queues_per_tenant: false,
            max_bytes: None,
            journal_entries: 400_000,
            usage_hours_ms: 35 * DAY,
            usage_days_ms: 396 * DAY,
            audit: AuditLimits::default(),
            fairness: Fairness::default(),
            noisy: Noisy::default(),
            starvation: Starvation::default(),
            tenants: BTreeMap::new(),
            pools: BTreeMap::new(),
            limits: BTreeMap::new(),
        }
    }
}
