//! The tenants of a run and their limits, pools, quotas and bounds, drawn according to a theme.

use rota_engine::{
    Backpressure, Bounds, Config, Cost, FairStrategy, Fairness, Noisy, PriorityScope,
};
use rota_model::{
    FairnessScope, LimitKey, LimitNumbers, OnLimit, PoolName, Quota, Rate, RateLimit, Scope,
    Starvation, TenantConfig, TenantId, Weight,
};

use super::Theme;
use crate::rng::Rng;

#[derive(Debug, Clone)]
pub struct Population {
    pub theme: Theme,
    pub tenants: Vec<TenantId>,
    pub shape: Shape,
    /// One tenant to whom all that it brings is as urgent as can be.
    pub urgent: Option<TenantId>,
    /// One tenant whose jobs have nothing in common.
    pub hostile: Option<TenantId>,
    /// One of these for each limited policy.
    pub limits: Vec<RateLimit>,
    /// In a hundred jobs, how many are limited.
    pub limited: u64,
    /// Each job has a key of its own.
    pub key_per_job: bool,
    pub pools: Vec<PoolName>,
    pub quotas: bool,
    pub bounds: bool,
    /// Chances in proportion to other things that operators do.
    pub tenant_changes: u64,
    /// In a hundred failures, how many are of a limit elsewhere.
    pub limited_elsewhere: u64,
    /// In a hundred fetches, how many are for one tenant only.
    pub choosy: u64,
}

/// Whose jobs they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Alone,
    Giant,
    Even,
    Zipf,
}

impl Population {
    pub(super) fn draw(rng: &mut Rng, wanted: Option<Theme>) -> Self {
        let drawn = Theme::draw(rng);
        let theme = wanted.unwrap_or(drawn);
        let shape = match theme {
            Theme::Giant | Theme::Loud | Theme::Hostile => Shape::Giant,
            Theme::Zipf => Shape::Zipf,
            Theme::ManySmall | Theme::SharedKeys => Shape::Even,
            Theme::PoolScope => rng.one_of([Shape::Even, Shape::Zipf]),
            Theme::EverythingUrgent => rng.one_of([Shape::Giant, Shape::Even]),
            _ => rng.one_of([Shape::Alone, Shape::Giant, Shape::Even, Shape::Zipf]),
        };
        let count = match (theme, shape) {
            (Theme::ManySmall, _) => rng.between(8, 12),
            (_, Shape::Alone) => 1,
            _ => rng.between(2, 6),
        };
        let named = |n: u64| TenantId::parse(&format!("t{n}")).expect("the name is valid");
        let mut tenants = vec![TenantId::default_tenant()];
        tenants.extend((1..count).map(named));
        let limited = match theme {
            Theme::AllLimited => 100,
            Theme::SharedKeys | Theme::KeyPerJob | Theme::ChangingLimits => rng.one_of([60, 100]),
            Theme::Loud => 0,
            Theme::PoolScope => rng.one_of([0, 0, 0, 40]),
            _ => rng.one_of([0, 0, 40, 100]),
        };
        let mut limits: Vec<_> = (0..rng.between(1, 4)).map(|n| limit(rng, n)).collect();
        if theme == Theme::SharedKeys {
            limits.iter_mut().for_each(|limit| limit.scope = Scope::Global);
        }
        let urgent = tenants.first().filter(|_| theme == Theme::EverythingUrgent).cloned();
        let hostile = tenants.first().filter(|_| theme == Theme::Hostile).cloned();
        let pools = if theme.has_pools() || rng.percent(25) { rng.between(1, 3) } else { 0 };
        let pool = |n: u64| PoolName::parse(&format!("p{n}")).expect("the name is valid");
        // Enough reports that tenants pause their own parts of these keys.
        let own_parts = if theme == Theme::SharedKeys { 60 } else { 0 };
        Self {
            theme,
            tenants,
            shape,
            urgent,
            hostile,
            limits,
            limited,
            key_per_job: theme == Theme::KeyPerJob || limited > 0 && rng.percent(5),
            pools: (0..pools).map(pool).collect(),
            quotas: rng.percent(25),
            bounds: rng.percent(25),
            tenant_changes: match theme {
                Theme::ChangingLimits => 200,
                Theme::Loud => 40,
                _ => rng.one_of([0, 0, 15, 60]),
            },
            limited_elsewhere: rng.one_of([0, 0, 30]).max(own_parts),
            choosy: if theme == Theme::Hostile { 50 } else { rng.one_of([0, 0, 0, 20]) },
        }
    }

    pub(super) fn tenant(&self, rng: &mut Rng) -> TenantId {
        let most = self.tenants.len() as u64;
        let n = match self.shape {
            Shape::Alone => 0,
            Shape::Giant if rng.percent(80) => 0,
            Shape::Giant | Shape::Even => rng.below(most),
            // The second half as often as the first, and so on.
            Shape::Zipf => (0..most - 1).find(|_| rng.percent(50)).unwrap_or(most - 1),
        };
        self.tenants[n as usize].clone()
    }

    /// A limit of the hostile tenant: often a key that others use as well, always with other numbers.
    pub(super) fn hostile_limit(&self, rng: &mut Rng) -> Option<RateLimit> {
        let own = key(&format!("hostile-{}", rng.below(12)));
        let shared = self.limits.first().filter(|_| rng.percent(50)).map(|limit| limit.key.clone());
        let mut limit = limit(rng, 0);
        limit.key = shared.unwrap_or(own);
        for rate in [&mut limit.numbers.rate, &mut limit.numbers.throttle].into_iter().flatten() {
            rate.period_ms += rng.below(20);
        }
        rng.percent(70).then_some(limit)
    }

    pub(super) fn limit(&self, rng: &mut Rng) -> Option<RateLimit> {
        if !rng.percent(self.limited) {
            return None;
        }
        let mut limit = rng.pick(&self.limits).cloned()?;
        if self.key_per_job {
            limit.key = key(&format!("own-{}", rng.below(30)));
        }
        Some(limit)
    }
}

fn key(name: &str) -> LimitKey {
    LimitKey::parse(name).expect("the key is valid")
}

fn limit(rng: &mut Rng, n: u64) -> RateLimit {
    let names = [format!("k{n}"), "k0".into(), "queue:default".into()];
    let name = &names[rng.weighted([60, 35, 5])];
    RateLimit {
        key: key(name),
        numbers: numbers(rng),
        on_limit: [OnLimit::Wait, OnLimit::Reschedule, OnLimit::Drop][rng.weighted([80, 12, 8])],
        scope: rng.one_of([Scope::Global, Scope::Global, Scope::Tenant]),
    }
}

pub(super) fn rate(rng: &mut Rng) -> Rate {
    Rate {
        limit: rng.one_of([1, 2, 3, 5, 10]),
        period_ms: rng.one_of([100, 1_000, 1_000, 10_000, 60_000]),
    }
}

pub(super) fn numbers(rng: &mut Rng) -> LimitNumbers {
    let mut numbers = LimitNumbers::default();
    match rng.weighted([35, 30, 20, 15]) {
        0 => numbers.concurrency = Some(rng.one_of([1, 1, 2, 4])),
        1 => numbers.rate = Some(rate(rng)),
        2 => numbers.throttle = Some(rate(rng)),
        _ => {
            numbers.concurrency = Some(rng.between(1, 5) as u32);
            numbers.rate = Some(rate(rng));
        }
    }
    numbers
}

pub(super) fn tenant_config(rng: &mut Rng, quotas: bool) -> TenantConfig {
    let weight = rng.one_of([0.01, 0.5, 1.0, 1.0, 2.0, 3.0, 10.0, 1_000.0]);
    let mut config = TenantConfig {
        max_concurrency: rng.one_of([None, None, Some(0), Some(1), Some(3)]),
        weight: rng.one_of([None, Weight::new(weight)]),
        priority_boost: rng.one_of([0, 0, 0, -5, 7]),
        max_priority: rng.one_of([None, None, None, Some(0)]),
        ..TenantConfig::default()
    };
    if quotas {
        config.max_queue_depth = rng.one_of([None, Some(3), Some(10)]);
        config.max_scheduled = rng.one_of([None, Some(0), Some(2)]);
        config.max_enqueue_rate = rng.percent(50).then(|| rate(rng));
        config.quota = rng.one_of([None, Some(Quota::Hard), Some(Quota::Soft)]);
        // A copy: other choices stay what they were for a seed.
        config.max_bytes =
            rng.clone().fork().one_of([None, None, None, Some(20), Some(400), Some(4_000)]);
    }
    config
}

pub(super) fn bounds(rng: &mut Rng) -> Bounds {
    Bounds {
        max_depth: rng.one_of([0, 3, 8]),
        max_bytes: rng.one_of([0, 0, 100, 400]),
        tenant_max_depth: rng.one_of([0, 0, 2]),
        tenant_max_bytes: 0,
        strategy: rng.one_of([Backpressure::Reject, Backpressure::Block, Backpressure::DropOldest]),
        warn_at: 800,
    }
}

pub(super) fn starvation(rng: &mut Rng, theme: Theme, queues: usize) -> Option<Starvation> {
    let chance = if theme == Theme::Pools { 80 } else { 40 };
    rng.percent(chance).then(|| Starvation {
        enabled: true,
        rotation_ms: rng.one_of([1_000, 3_600_000]),
        min_ratio: Some(
            rng.one_of([100_000, 250_000, 330_000]).min(1_000_000 / queues.max(1) as u32),
        ),
    })
}

/// What queues are guaranteed without a pool, and in pools that do not say. It fits all queues.
pub(super) fn common_starvation(rng: &mut Rng, theme: Theme) -> Starvation {
    let chance = if theme.has_pools() { 40 } else { 15 };
    Starvation {
        enabled: rng.percent(chance),
        rotation_ms: rng.one_of([1_000, 3_600_000]),
        min_ratio: rng.one_of([None, Some(100_000), Some(250_000)]),
    }
}

/// How tenants share, in a run.
pub(super) fn sharing(rng: &mut Rng, config: Config) -> Config {
    Config {
        fairness: Fairness {
            enabled: !rng.percent(15),
            strategy: [FairStrategy::Weighted, FairStrategy::RoundRobin, FairStrategy::Strict]
                [rng.weighted([70, 15, 15])],
            priority_scope: [PriorityScope::Global, PriorityScope::Tenant][rng.weighted([65, 35])],
            default_concurrency: 3,
            cost: [Cost::Job, Cost::Runtime][rng.weighted([90, 10])],
            ..Fairness::default()
        },
        longest_pause_ms: 30_000,
        most_pauses: rng.one_of([2, 100]),
        reschedule_ms: rng.one_of([100, 1_000]),
        ..config
    }
}

/// What tenants have shares of, what counts against them, and whether pools choose for themselves.
pub(super) fn scopes(rng: &mut Rng, theme: Theme, fairness: Fairness) -> (Fairness, bool) {
    let chance = if theme == Theme::PoolScope { 100 } else { 20 };
    let scope = if rng.percent(chance) { FairnessScope::Pool } else { FairnessScope::Queue };
    // Few seeds have workers of one tenant, and only there it makes a difference.
    let charge_own_workers = rng.percent(50);
    let pools_choose = rng.percent(25) && theme != Theme::PoolScope;
    let fairness = Fairness { scope, charge_own_workers, ..fairness };
    let fairness = match theme {
        Theme::PoolScope => Fairness { enabled: true, cost: Cost::Job, ..fairness },
        _ => fairness,
    };
    (fairness, pools_choose)
}

/// Where tenants are loud, they are soon found to be.
pub(super) fn noisy(rng: &mut Rng, theme: Theme) -> Noisy {
    if theme != Theme::Loud {
        return Noisy::default();
    }
    Noisy {
        throttle: rng.percent(90),
        active_share: rng.one_of([0.2, 0.5]),
        depth_ratio: 1.5,
        factor: rng.one_of([0.01, 0.2, 0.5]),
        throttle_ms: rng.one_of([3_000, 20_000, 200_000]),
        ..Noisy::default()
    }
}
