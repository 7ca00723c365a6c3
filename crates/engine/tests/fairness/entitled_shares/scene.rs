//! Tenants with jobs and workers, and the comparison of what is shown with what is dispatched.

use std::collections::BTreeMap;

use rota_engine::{Config, Fetch, Preference};
use rota_model::{FairnessScope, QueueName, QueueStrategy, Seq, TenantId};
use serde_json::json;

use crate::world::{World, concurrency, count, job, pool};

/// Dispatches on shared workers that are compared with what was shown before them.
pub const RUN: usize = 480;
/// How far a tenant may be from its share: a round of each account that is in use.
const SLACK: f64 = 6.0;

/// Some tenants with their jobs, and how jobs are fetched.
pub struct Scene {
    pub world: World,
    tenants: BTreeMap<&'static str, f64>,
    turn: usize,
}

impl Scene {
    pub fn new(scope: FairnessScope) -> Self {
        let mut config = Config::default();
        config.fairness.scope = scope;
        Self { world: World::with(config), tenants: BTreeMap::new(), turn: 0 }
    }

    pub fn in_queues() -> Self {
        Self::new(FairnessScope::Queue)
    }

    pub fn in_pools() -> Self {
        Self::new(FairnessScope::Pool)
    }

    /// A tenant that has enough jobs in each of these queues.
    pub fn tenant(mut self, id: &'static str, weight: u32, queues: &[&'static str]) -> Self {
        self.world.tenant(id, json!({"fairness_weight": weight}));
        for queue in queues {
            self.world.enqueue(&job(id).queue(queue), 2 * RUN);
        }
        self.tenants.insert(id, 0.0);
        self
    }

    /// Whose jobs wait for a key.
    pub fn at_key(mut self, id: &'static str, weight: u32, most: u32) -> Self {
        self.world.tenant(id, json!({"fairness_weight": weight}));
        self.world.enqueue(&job(id).queue("q").limit(concurrency("k", most)), 2 * RUN);
        self.tenants.insert(id, 0.0);
        self
    }

    pub fn pool(mut self, name: &str, queues: &[&str], scope: &str) -> Self {
        let pool = json!({"queues": queues, "strategy": "round-robin", "fairness_scope": scope});
        self.world.put_pool(name, pool);
        self
    }

    pub fn shown(&self) -> BTreeMap<&'static str, f64> {
        let mut shares = self.tenants.clone();
        for (id, shown) in &mut shares {
            *shown = self.world.engine.share(id).unwrap().entitled;
            assert_eq!(*shown, self.world.engine.tenant(id).unwrap().entitled);
        }
        let all: f64 = shares.values().sum();
        assert!(all < 1.0 + 1e-9, "together they are shown {all}");
        shares
    }

    /// What each gets of the next dispatches is what it was shown before them.
    pub fn holds(
        &mut self,
        expected: &[(&str, f64)],
        mut dispatch: impl FnMut(&mut World, usize) -> String,
    ) {
        let mut run = |scene: &mut Self, times: usize| -> Vec<String> {
            let one = |_| {
                scene.turn += 1;
                dispatch(&mut scene.world, scene.turn)
            };
            (0..times).map(one).collect()
        };
        // Accounts count by the dispatches of the last minute.
        run(self, 48);
        let shown = self.shown();
        let served = run(self, RUN);
        for (id, shown) in &shown {
            let (got, due) = (count(&served, id), shown * RUN as f64);
            assert!((got as f64 - due).abs() <= SLACK, "{id} got {got} and was shown {shown}");
        }
        for (id, part) in expected {
            assert!((shown[id] - part).abs() < 1e-9, "{id} is shown {}", shown[id]);
        }
    }
}

pub fn round_robin(fetch: &mut Fetch) {
    let strategy = QueueStrategy::RoundRobin;
    fetch.preference = Some(Preference { strategy, weights: Default::default() });
}

/// One job from these queues, started and finished.
pub fn from(queues: &'static [&'static str]) -> impl Fn(&mut World, usize) -> String {
    |world, _| world.next(queues, round_robin).unwrap().0
}

pub fn from_pool(name: &'static str) -> impl Fn(&mut World, usize) -> String {
    move |world, _| world.next(&[], |fetch| fetch.pool = pool(name)).unwrap().0
}

pub fn queue(name: &str) -> QueueName {
    QueueName::parse(name).unwrap()
}

/// Starts a job and leaves it running.
pub fn start(world: &mut World, queues: &[&str], tenant: &str) -> Seq {
    let own = TenantId::parse(tenant).unwrap();
    world.fetch_with(queues, 1, |fetch| fetch.tenant = Some(own))[0].seq
}
