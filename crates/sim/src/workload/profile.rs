//! Which features a run uses. Each seed leaves some out, so that others are exercised more.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_engine::{AuditLimits, Cap, Caps, Config, DeadLetterLimits, MetricBounds, Retention};
use rota_model::policy::{Coefficient, Strategy};
use rota_model::{
    Exhaustion, Policy, PruningPolicy, QueueName, ReplayFilter, ReplayRule, RetryPolicy, RuleName,
};

use super::Theme;
use super::population::{self, Population};
use crate::rng::Rng;

#[derive(Debug, Clone)]
pub struct Profile {
    pub config: Config,
    pub population: Population,
    /// Pools choose for themselves what tenants have shares of.
    pub pool_scopes: bool,
    pub queues: Vec<QueueName>,
    pub policies: Vec<Arc<Policy>>,
    pub priorities: Vec<i16>,
    pub workers: u64,
    /// The most jobs that come or go together.
    pub batch: u64,
    pub appetite: u64,
    /// Chances in proportion to each other.
    pub producing: u64,
    pub working: u64,
    pub operating: u64,
    /// The rest are chances in a hundred.
    pub scheduled: u64,
    pub deadlines: u64,
    pub pending: u64,
    pub given_ids: u64,
    pub waiting_fetches: u64,
    pub failures: u64,
    pub broken_connections: u64,
    pub crons: bool,
    pub maintenance: bool,
    /// The chance that the view goes on, in proportion to others.
    pub view_pace: u64,
    /// The view may be so many batches behind the log.
    pub most_lag: usize,
    /// In a thousand steps.
    pub crashes: u64,
    pub disk_full: u64,
    pub clock_jumps: u64,
}

impl Profile {
    pub(super) fn draw(rng: &mut Rng, theme: Option<Theme>) -> Self {
        // Drawn from a generator apart, so that the rest of a seed's run stays what it was.
        let mut aside = rng.clone().fork();
        let theme = theme.or_else(|| match aside.below(100) {
            0..8 => Some(Theme::PoolScope),
            8..16 => Some(Theme::Hostile),
            _ => None,
        });
        let config = config(rng);
        let population = Population::draw(rng, theme);
        let config = Config { noisy: population::noisy(rng, population.theme), ..config };
        let (fairness, pool_scopes) =
            population::scopes(&mut aside, population.theme, config.fairness.clone());
        let lanes_at_once = aside.one_of([0, 2, 256]);
        let starvation = population::common_starvation(&mut aside, population.theme);
        let config = Config { fairness, lanes_at_once, starvation, ..config };
        let (batch, appetite) = match population.theme {
            Theme::Loud => (20, 12),
            Theme::Hostile => (8, 4),
            _ => (6, 4),
        };
        let queues = queues(rng, population.theme);
        let operating = match population.theme {
            Theme::ChangingLimits => 30,
            _ => rng.one_of([0, 3, 10, 25]),
        };
        let least = if population.theme.has_pools() { 35 } else { 15 };
        let producing = rng.between(least, 40);
        Self {
            config,
            population,
            pool_scopes,
            queues,
            policies: (0..rng.between(1, 4)).map(|_| policy(rng)).collect(),
            priorities: if rng.percent(50) { vec![0] } else { vec![-10, 0, 7] },
            workers: rng.between(1, 6),
            batch,
            appetite,
            producing,
            working: rng.between(30, 70),
            operating,
            scheduled: rng.one_of([0, 10, 40]),
            deadlines: rng.one_of([0, 10, 40]),
            pending: rng.one_of([0, 5, 20]),
            given_ids: rng.one_of([0, 30]),
            waiting_fetches: rng.one_of([0, 30, 80]),
            failures: rng.one_of([0, 20, 50]),
            broken_connections: rng.one_of([0, 5, 20]),
            crons: rng.percent(50),
            maintenance: rng.percent(50),
            view_pace: aside.one_of([3, 10, 30]),
            most_lag: aside.one_of([1, 6, 40]),
            crashes: rng.one_of([0, 5, 20]),
            disk_full: rng.one_of([0, 0, 20]),
            clock_jumps: rng.one_of([0, 10]),
        }
    }
}

fn config(rng: &mut Rng) -> Config {
    let retention = rng.one_of([None, Some(0), Some(20_000), Some(120_000)]);
    // Drawn apart, so that the rest of a seed's run stays what it was.
    let mut aside = rng.clone().fork().fork();
    let plain = Config {
        dead_letter: DeadLetterLimits {
            max_age_ms: aside.one_of([0, 30_000, 10_000_000]),
            max_count: aside.one_of([0, 2, 10, 10_000]),
            pruning: PruningPolicy::Delete,
        },
        prune_interval_ms: aside.one_of([1, 20_000]),
        audit: AuditLimits {
            max_age_ms: aside.one_of([30_000, 10_000_000]),
            max_entries: aside.one_of([2, 20, 10_000]),
        },
        replay_rules: rules(&mut aside),
        visibility_ms: rng.one_of([5_000, 20_000, 60_000]),
        max_visibility_ms: 90_000,
        max_own_visibility_ms: 60_000,
        timeout_ms: rng.one_of([10_000, 40_000, 200_000]),
        heartbeat_timeout_ms: rng.one_of([5_000, 30_000]),
        forget_worker_after_ms: rng.one_of([40_000, 400_000]),
        retention: Retention {
            completed_ms: retention,
            cancelled_ms: retention,
            discarded_ms: retention.map(|ms| ms * 2),
        },
        forget_idle_ms: rng.one_of([15_000, 3_600_000]),
        caps: caps(rng),
        journal_entries: rng.one_of([1, 50, 100_000]),
        metrics: MetricBounds { tenants: 3, queues: 2, pairs: 5 },
        ..Config::default()
    };
    population::sharing(rng, plain)
}

/// Rules for the errors that workers report.
pub(super) fn rules(rng: &mut Rng) -> BTreeMap<RuleName, ReplayRule> {
    let mut rules = BTreeMap::new();
    for name in ["any", "some"].into_iter().take(rng.below(3) as usize) {
        let rule = ReplayRule {
            filter: ReplayFilter {
                error_type: (name == "some").then(|| "net.down".into()),
                ..ReplayFilter::default()
            },
            delay_ms: rng.one_of([0, 5_000, 60_000]),
            max_replays: rng.one_of([1, 3]),
            enabled: rng.percent(80),
        };
        rules.insert(RuleName::parse(name).expect("the name is valid"), rule);
    }
    rules
}

fn caps(rng: &mut Rng) -> Caps {
    let queues = rng.one_of([3, 100]);
    // Of their own, so that the rest of a run is drawn as it was before there were these caps.
    let mut other = rng.clone().fork();
    let mut cap =
        |totals: [usize; 2]| Cap { total: rng.one_of(totals), per_tenant: rng.one_of([1, 2, 100]) };
    Caps {
        tenants: 200_000,
        queues: Cap { total: queues, per_tenant: other.one_of([2, 100, 100]) },
        classes: Cap {
            total: other.one_of([20, 1_000, 1_000]),
            per_tenant: other.one_of([5, 1_000, 1_000]),
        },
        rate_limits: Cap { total: other.one_of([3, 100]), per_tenant: other.one_of([1, 2, 100]) },
        rate_keys_per_tenant: 10_000,
        pools: Cap { total: 1_000, per_tenant: 0 },
        workers: cap([3, 100]),
        schedules: cap([1, 100]),
        schedule_runs: cap([2, 100]),
        waiting_fetches: cap([3, 100]),
        waiting_enqueues: cap([2, 100]),
        error_types: Cap { total: other.one_of([2, 100]), per_tenant: other.one_of([1, 2, 100]) },
        keys: Cap { total: 100, per_tenant: 100 },
        ..Caps::default()
    }
}

fn queues(rng: &mut Rng, theme: Theme) -> Vec<QueueName> {
    let names = ["default", "mail", "bulk", "later"];
    let least = if theme.has_pools() { 2 } else { 1 };
    let count = rng.between(least, names.len() as u64) as usize;
    let parse = |name| QueueName::parse(name).expect("the names of queues are valid");
    names[..count].iter().map(|name| parse(*name)).collect()
}

fn policy(rng: &mut Rng) -> Arc<Policy> {
    let retry = RetryPolicy {
        max_attempts: rng.between(1, 4) as u32,
        initial_ms: rng.one_of([0, 100, 3_000]),
        max_ms: rng.one_of([2_000, 60_000]),
        coefficient: Coefficient(rng.one_of([1.0, 2.0, 3.5])),
        strategy: rng.one_of([
            Strategy::Constant,
            Strategy::Linear,
            Strategy::Exponential,
            Strategy::Polynomial,
        ]),
        jitter: rng.percent(50),
        non_retryable: if rng.percent(50) {
            ["bad.*".into(), "gone".into()].into()
        } else {
            Arc::default()
        },
        on_exhaustion: rng.one_of([
            Exhaustion::Unstated,
            Exhaustion::Discard,
            Exhaustion::DeadLetter,
        ]),
    };
    Arc::new(Policy {
        retry,
        visibility_ms: rng.one_of([None, None, Some(3_000), Some(40_000)]),
        timeout_ms: rng.one_of([None, None, Some(4_000), Some(60_000)]),
        directive: None,
        limit: None,
    })
}
