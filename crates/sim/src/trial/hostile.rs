//! Checks that a hostile tenant cannot make other clients' commands expensive.
//!
//! Each of its jobs has its own type, priority, limit key and numbers, and many of its fetches wait. Still, no
//! command may take more steps than what it names and what results from it justify.

use std::sync::Arc;

use rota_engine::{Cap, Caps, Command, Config, Fetch, Reply, WaiterId};
use rota_model::{
    Class, JobType, LimitKey, LimitNumbers, OnLimit, Policy, QueueName, Rate, RateLimit, Scope, Seq,
};

use super::engine_driver::{EngineDriver, class, tenant};
use crate::oracle::Check;
use crate::rng::Rng;
use crate::sabotage::Sabotage;

const QUEUES: u64 = 20;
const COMMANDS: u64 = 400;
const HOSTILE: usize = 0;
const QUIET: usize = 1;

pub(super) fn run(mut rng: Rng, sabotage: Option<Sabotage>) -> Check {
    let queues = Cap { total: 1_000, per_tenant: 1_000 };
    let config = Config { caps: Caps { queues, ..Caps::default() }, ..Config::default() };
    let mut driver = EngineDriver::new(config, rng.fork());
    driver.scans = sabotage == Some(Sabotage::Scan);
    let mut hostile =
        Hostile { kinds: rng.one_of([10, 1_000, 10_000]), waiters: 0, active: vec![] };
    for n in 0..COMMANDS {
        match rng.weighted([40, 15, 15, 10, 20]) {
            0 => {
                let class = hostile.class(&mut rng);
                let count = rng.one_of([1, 1, 50]);
                driver.enqueue(HOSTILE, &class, count)?;
            }
            1 => hostile.fetch(&mut driver, &mut rng, n),
            2 => hostile.settle(&mut driver, &mut rng)?,
            3 => driver.pass(rng.one_of([1, 200, 5_000])),
            _ => {
                driver.enqueue(QUIET, &class(tenant(QUIET), "sim.work"), 1)?;
                if let Some((seq, _)) = driver.fetch() {
                    driver.end(seq, true)?;
                }
            }
        }
    }
    driver.over_budget.map_or(Ok(()), Err)
}

struct Hostile {
    /// How many types, keys and periods it uses.
    kinds: u64,
    waiters: u64,
    active: Vec<Seq>,
}

impl Hostile {
    fn class(&self, rng: &mut Rng) -> Class {
        let queue = queue(rng.below(QUEUES));
        let kind = format!("sim.work{}", rng.below(self.kinds));
        let limit = rng.percent(80).then(|| self.limit(rng));
        let plain = class(tenant(HOSTILE), "sim.work");
        Class {
            queue,
            kind: JobType::parse(&kind).expect("the type is valid"),
            priority: rng.below(201) as i16 - 100,
            policy: Arc::new(Policy { limit, ..(*plain.policy).clone() }),
            ..plain
        }
    }

    /// One key with many numbers, or many keys.
    fn limit(&self, rng: &mut Rng) -> RateLimit {
        let n = if rng.percent(50) { 0 } else { rng.below(self.kinds) };
        let rate =
            Rate { limit: rng.one_of([1, 1_000_000]), period_ms: 1_000 + rng.below(self.kinds) };
        let mut numbers = LimitNumbers::default();
        match rng.below(3) {
            0 => numbers.concurrency = Some(1 + rng.below(self.kinds) as u32),
            1 => numbers.rate = Some(rate),
            _ => numbers.throttle = Some(rate),
        }
        RateLimit {
            key: LimitKey::parse(&format!("key-{n}")).expect("the key is valid"),
            numbers,
            on_limit: rng.one_of([
                OnLimit::Wait,
                OnLimit::Wait,
                OnLimit::Drop,
                OnLimit::Reschedule,
            ]),
            scope: rng.one_of([Scope::Global, Scope::Tenant]),
        }
    }

    /// It waits for its own jobs or for anybody's, in some queues or in all.
    fn fetch(&mut self, driver: &mut EngineDriver, rng: &mut Rng, n: u64) {
        let queues = rng.one_of([1, 3, QUEUES]);
        let from = rng.below(QUEUES);
        let queues = (0..queues).map(|at| queue((from + at) % QUEUES)).collect();
        let mut fetch = Fetch::of(queues, rng.one_of([1, 20]));
        fetch.tenant = rng.percent(70).then(|| tenant(HOSTILE));
        if rng.percent(60) {
            self.waiters += 1;
            fetch.wait = Some((WaiterId(n), 60_000));
        }
        if let Reply::Fetched(claims) = driver.apply(Command::Fetch(fetch)) {
            self.active.extend(claims.iter().map(|claim| claim.seq));
        }
    }

    fn settle(&mut self, driver: &mut EngineDriver, rng: &mut Rng) -> Check {
        let count = self.active.len().min(rng.one_of([1, 10]));
        for seq in self.active.drain(..count) {
            if driver.engine.active_job(seq).is_some() {
                driver.end(seq, rng.percent(50))?;
            }
        }
        Ok(())
    }
}

fn queue(n: u64) -> QueueName {
    let name = if n == 0 { "default".into() } else { format!("q{n}") };
    QueueName::parse(&name).expect("the name is valid")
}
