//! Pools that share their slots among tenants by weight (`fair`).

use std::collections::BTreeMap;

use crate::world::{World, job, pool};
use rota_engine::{Command, Config, Fetch, Reply, WaiterId};
use rota_model::{Seq, TenantId};
use serde_json::json;

/// Tenants whose own workers wait in the pool `p`, all the time, for the jobs that there are.
struct Slots {
    world: World,
    held: BTreeMap<&'static str, Vec<Seq>>,
    waiting: BTreeMap<WaiterId, &'static str>,
    next: u64,
}

impl Slots {
    fn new(concurrency: u32, fair: bool, weights: &[(&'static str, u32)]) -> Self {
        let mut world = World::with(Config::default());
        for (tenant, weight) in weights {
            world.tenant(tenant, json!({"fairness_weight": weight}));
        }
        world.put_pool("p", json!({"queues": ["a"], "concurrency": concurrency, "fair": fair}));
        Self { world, held: BTreeMap::new(), waiting: BTreeMap::new(), next: 0 }
    }

    fn enqueue(&mut self, tenant: &'static str, jobs: usize) {
        self.world.enqueue(&job(tenant).queue("a"), jobs);
        self.collect();
    }

    /// A fetch for up to `count` jobs, which waits if there are none for it.
    fn ask(&mut self, tenant: &'static str, count: usize) {
        self.next += 1;
        let fetch = Fetch {
            tenant: Some(TenantId::parse(tenant).unwrap()),
            pool: pool("p"),
            wait: Some((WaiterId(self.next), 600_000)),
            ..Fetch::of(vec![], count)
        };
        match self.world.apply(Command::Fetch(fetch)) {
            Reply::Fetched(claimed) => {
                self.held.entry(tenant).or_default().extend(claimed.iter().map(|job| job.seq));
            }
            Reply::Waiting => {
                self.waiting.insert(WaiterId(self.next), tenant);
            }
            other => panic!("{other:?}"),
        }
    }

    fn collect(&mut self) {
        for (id, reply) in std::mem::take(&mut self.world.woken) {
            let Reply::Fetched(claimed) = reply else { panic!("{reply:?}") };
            let tenant = self.waiting.remove(&id).unwrap();
            self.held.entry(tenant).or_default().extend(claimed.iter().map(|job| job.seq));
        }
    }

    /// One of the tenant's jobs ends, and its worker asks again.
    fn end_one(&mut self, tenant: &'static str) {
        let seq = self.held.get_mut(tenant).unwrap().remove(0);
        self.world.ack(seq);
        self.collect();
        self.ask(tenant, 1);
    }

    fn held(&self, tenant: &str) -> usize {
        self.held.get(tenant).map_or(0, Vec::len)
    }
}

/// A tenant has taken all slots while nobody else had work. Another gets work.
fn after_a_hog(fair: bool, weights: &[(&'static str, u32)], slots: u32) -> Slots {
    let mut world = Slots::new(slots, fair, weights);
    world.enqueue("hog", 500);
    for _ in 0..2 * slots {
        world.ask("hog", 1);
    }
    assert_eq!(world.held("hog"), slots as usize, "unused slots go to whoever has work");
    world.enqueue("quiet", 100);
    for _ in 0..slots {
        world.ask("quiet", 1);
    }
    assert_eq!(world.held("quiet"), 0, "no job is stopped");
    world
}

#[test]
fn a_hog_gives_up_slots_as_its_jobs_end_until_each_has_its_share() {
    let mut world = after_a_hog(true, &[("hog", 1), ("quiet", 1)], 8);
    for quiet in 1..=4 {
        world.end_one("hog");
        assert_eq!((world.held("hog"), world.held("quiet")), (8 - quiet, quiet));
    }
    for _ in 0..20 {
        world.end_one("hog");
        world.end_one("quiet");
        assert_eq!((world.held("hog"), world.held("quiet")), (4, 4));
    }
}

#[test]
fn slots_are_shared_in_proportion_to_the_weights() {
    let mut world = after_a_hog(true, &[("hog", 1), ("quiet", 3)], 8);
    for _ in 0..6 {
        world.end_one("hog");
    }
    assert_eq!((world.held("hog"), world.held("quiet")), (2, 6));
    for _ in 0..20 {
        world.end_one("quiet");
        world.end_one("hog");
        assert_eq!((world.held("hog"), world.held("quiet")), (2, 6));
    }
}

#[test]
fn without_fair_the_fetch_that_has_waited_longest_gets_the_slot() {
    let mut world = after_a_hog(false, &[("hog", 1), ("quiet", 1)], 8);
    for _ in 0..8 {
        world.end_one("hog");
    }
    assert_eq!((world.held("hog"), world.held("quiet")), (8, 0));
}

#[test]
fn several_slots_that_are_free_at_once_are_shared_one_by_one() {
    let mut world = Slots::new(0, true, &[("hog", 1), ("quiet", 3)]);
    world.enqueue("hog", 100);
    world.enqueue("quiet", 100);
    for tenant in ["hog", "quiet"] {
        world.ask(tenant, 100);
    }
    world.world.put_pool("p", json!({"queues": ["a"], "concurrency": 8, "fair": true}));
    world.collect();
    assert_eq!((world.held("hog"), world.held("quiet")), (2, 6));
}

#[test]
fn the_slots_of_each_tenant_are_known_after_a_restart() {
    let mut world = after_a_hog(true, &[("hog", 1), ("quiet", 1)], 8);
    world.end_one("hog");
    world.world.crash(0);
    world.waiting.clear();
    for _ in 0..8 {
        world.ask("hog", 1);
    }
    for _ in 0..8 {
        world.ask("quiet", 1);
    }
    for _ in 0..3 {
        world.end_one("hog");
    }
    assert_eq!((world.held("hog"), world.held("quiet")), (4, 4));
    world.end_one("hog");
    assert_eq!((world.held("hog"), world.held("quiet")), (4, 4));
}
