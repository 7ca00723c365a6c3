//! Checks that a rate limit's starts are shared by weight among the tenants waiting for it, however many job
//! classes each has.
//!
//! All tenants begin together, and each always has jobs that wait for the key and nothing else. So the next
//! start belongs to the tenant with the fewest starts divided by its weight. A start is decided at once, so
//! nothing is in flight and no tolerance is needed. Jobs of one key that carry different numbers wait
//! separately, and a tenant that spreads its jobs over many numbers gains nothing.
//!
//! While somebody whom the key does not concern is served as well, rounds go by that those who wait
//! have no part in, and nobody saves up what it did not get. Then it holds of any two of them: `a` is
//! before `b` only while its tag, which each start moves on by 1/w(a), is not behind that of `b`,
//! which the last start of `b` left at most 1/w(b) ahead. So of `a` at most w(a)/w(b) jobs start
//! between two of `b`, one more because a start counts from where it began, and one for a tie.
//! Some of them have other jobs as well, which the key does not hold. That may cost them their place
//! while such a job is older, or while they are a job ahead of their turn; but not for good, or
//! whoever wants nothing but the key would have all of it.

use std::collections::BTreeMap;

use rota_engine::{Config, FairStrategy, Fairness};
use rota_model::{
    Class, LimitKey, LimitNumbers, Policy, Rate, RateLimit, Scope, TenantConfig, Weight,
};

use super::engine_driver::{EngineDriver, class, tenant};
use crate::oracle::{Check, Rule, ensure};
use crate::rng::Rng;
use crate::sabotage::Sabotage;

const STARTS: usize = 200;
/// More than anybody has.
const LOTS: usize = 100;
const BYSTANDER: usize = 100_000;
const FREE: usize = 200_000;
/// How often somebody that has other jobs may have to let others go first, beyond what its weight says.
const DETAINED: f64 = 10.0;
const ROUNDING: f64 = 1e-6;

struct Party {
    weight: f64,
    /// Kinds of jobs that wait apart, and how many of each do.
    lots: Vec<(Class, u64)>,
    /// Jobs that the key does not hold.
    free: Option<Class>,
    started: u64,
    /// Starts of each other since the last of its own.
    passed: BTreeMap<usize, u64>,
}

pub(super) fn run(mut rng: Rng, sabotage: Option<Sabotage>) -> Check {
    let strategy = match sabotage {
        Some(Sabotage::NoWeights) => FairStrategy::RoundRobin,
        _ => FairStrategy::Weighted,
    };
    let fairness = Fairness { strategy, ..Fairness::default() };
    let mut driver = EngineDriver::new(Config { fairness, ..Config::default() }, rng.fork());
    let rate = Rate { limit: rng.one_of([1, 2, 5]), period_ms: rng.one_of([1_000, 10_000]) };
    let throttled = rng.percent(30);
    // Somebody else, whom the key does not concern, and who is served meanwhile.
    let bystander = class(tenant(BYSTANDER), "sim.work");
    let busy = rng.percent(50);
    let mut parties: Vec<Party> = (0..rng.between(2, 5) as usize)
        .map(|n| {
            let weight = rng.one_of([0.5, 1.0, 1.0, 2.0, 3.0, 10.0]);
            let config = TenantConfig { weight: Weight::new(weight), ..TenantConfig::default() };
            let lots = if n == 0 { rng.between(3, 8) } else { rng.between(1, 3) };
            let lots = (0..lots).map(|lot| {
                let id = match sabotage {
                    Some(Sabotage::ClassesAsTenants) => tenant(LOTS * (n + 1) + lot as usize),
                    _ => tenant(n),
                };
                driver.put_tenant(&id, config.clone());
                (limited(class(id, "sim.work"), rate, throttled, lot as u32), 0)
            });
            let lots = lots.collect();
            let free = (busy && rng.percent(40)).then(|| class(tenant(n), "sim.other"));
            Party { weight, lots, free, started: 0, passed: BTreeMap::new() }
        })
        .collect();
    let mut free: Vec<u32> = vec![0; parties.len()];
    let mut starts = 0;
    let mut idle = 0;
    while starts < STARTS {
        for (n, party) in parties.iter_mut().enumerate() {
            for (lot, (class, waiting)) in party.lots.iter_mut().enumerate() {
                if *waiting > 1 {
                    continue;
                }
                driver.enqueue(n * LOTS + lot, class, 100)?;
                *waiting += 100;
            }
            if let Some(class) = party.free.as_ref().filter(|_| free[n] == 0) {
                driver.enqueue(FREE + n, class, 1)?;
                free[n] = 1;
            }
        }
        if busy && driver.engine.tenant(&bystander.tenant).is_none_or(|view| view.jobs.depth() < 2)
        {
            driver.enqueue(BYSTANDER, &bystander, 100)?;
        }
        let mut got = driver.fetch();
        while let Some((seq, place @ BYSTANDER..)) = got {
            if let Some(n) = place.checked_sub(FREE) {
                free[n] = 0;
            }
            driver.end(seq, true)?;
            got = if rng.percent(30) { None } else { driver.fetch() };
        }
        if let Some((seq, place)) = got {
            (starts, idle) = (starts + 1, 0);
            let (owner, lot) = (place / LOTS, place % LOTS);
            if busy {
                check_passed(&mut parties, owner, rate)?;
            } else {
                check_turn(&parties, owner)?;
            }
            parties[owner].started += 1;
            parties[owner].lots[lot].1 -= 1;
            if rng.percent(70) {
                driver.end(seq, true)?;
            }
        } else {
            idle += 1;
            let most = 8 + if busy { fetches_in_a_round(&parties) } else { 0 };
            ensure(idle <= most, Rule::Waiting, || {
                format!("nothing starts within {most} fetches at {rate:?}")
            })?;
            driver.pass(rate.period_ms / 4);
        }
    }
    Ok(())
}

/// How often others may be served, at most, until it is the turn of whoever is first at the key: as
/// often as their weights say, and twice because a round may have just begun.
fn fetches_in_a_round(parties: &[Party]) -> u64 {
    let least = parties.iter().map(|party| party.weight).fold(1.0, f64::min);
    let all: f64 = parties.iter().map(|party| party.weight).sum();
    (2.0 * (all + 1.0) / least).ceil() as u64
}

/// The same key and rate for all; numbers that never matter keep the lots apart.
fn limited(class: Class, rate: Rate, throttled: bool, lot: u32) -> Class {
    let numbers = LimitNumbers {
        concurrency: Some(1_000_000 + lot),
        rate: (!throttled).then_some(rate),
        throttle: throttled.then_some(rate),
    };
    let limit = RateLimit {
        key: LimitKey::parse("shared").expect("the key is valid"),
        numbers,
        on_limit: rota_model::OnLimit::Wait,
        scope: Scope::Global,
    };
    let policy = Policy { limit: Some(limit), ..(*class.policy).clone() };
    Class { policy: policy.into(), ..class }
}

/// Among as many as may start at once, turns decide and not the key.
fn check_passed(parties: &mut [Party], served: usize, rate: Rate) -> Check {
    let weight = parties[served].weight;
    parties[served].passed.clear();
    for (n, other) in parties.iter_mut().enumerate().filter(|(n, _)| *n != served) {
        let passed = other.passed.entry(served).or_default();
        *passed += 1;
        let detained = if other.free.is_some() { DETAINED / other.weight.min(1.0) } else { 0.0 };
        let at_once = f64::from(rate.limit - 1);
        let most = weight / other.weight + 2.0 + at_once + detained;
        ensure(*passed as f64 <= most, Rule::Fair, || {
            format!("t{served} started {passed} jobs since the last of t{n}, {most} may")
        })?;
    }
    Ok(())
}

fn check_turn(parties: &[Party], served: usize) -> Check {
    let had = |party: &Party| party.started as f64 / party.weight;
    let least = parties.iter().map(had).fold(f64::INFINITY, f64::min);
    let own = had(&parties[served]);
    ensure(own <= least + ROUNDING, Rule::Fair, || {
        format!("t{served} had {own} starts by weight, another {least}")
    })
}
