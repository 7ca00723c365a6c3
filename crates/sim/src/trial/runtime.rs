//! Checks that run time is shared by weight, however long jobs take.
//!
//! Let R be the run time of a tenant's finished jobs and F the estimates of those in flight, both
//! divided by its weight. A job is charged an estimate when it starts, which is corrected when it ends. So a
//! tenant has been charged R + F, and among tenants that began together and always have waiting jobs, the
//! next job belongs to the one charged least. When a job is given to `a` while `b` waits,
//!
//! ```text
//! R(a) <= R(a) + F(a) <= R(b) + F(b) <= R(b) + n(b) * E / w(b)
//! ```
//!
//! where n(b) is how many jobs of `b` are in flight and E the highest estimate possible: the longest
//! run so far, or a second while a type is unknown. Run times differ by a thousand times between
//! tenants here, so that who is not charged by time is ahead by more than that within a few jobs.
//! Whatever `a` may be ahead of `b` at another time is this and what its own jobs in flight will
//! have taken; nothing adds up.

use std::collections::BTreeMap;

use rota_engine::{Config, Cost, Fairness};
use rota_model::{Class, Seq, TenantConfig, Weight};

use super::engine_driver::{EngineDriver, class, tenant};
use crate::oracle::{Check, Rule, Violation, ensure};
use crate::rng::Rng;
use crate::sabotage::Sabotage;

const EXECUTIONS: usize = 500;
const UNKNOWN_MS: u64 = 1_000;
/// Of the arithmetic of weights.
const ROUNDING: f64 = 0.01;

struct Party {
    class: Class,
    weight: f64,
    usual_ms: u64,
    waiting: u64,
    spent_ms: u64,
    in_flight: u64,
}

pub(super) fn run(mut rng: Rng, sabotage: Option<Sabotage>) -> Check {
    let cost = if sabotage == Some(Sabotage::FlatCost) { Cost::Job } else { Cost::Runtime };
    let fairness = Fairness { cost, ..Fairness::default() };
    let mut driver = EngineDriver::new(Config { fairness, ..Config::default() }, rng.fork());
    let mut parties = parties(&mut rng, &mut driver);
    let slots = rng.between(1, 8) as usize;
    let mut longest = UNKNOWN_MS;
    let mut running: BTreeMap<(u64, Seq), (usize, u64)> = BTreeMap::new();
    for _ in 0..EXECUTIONS {
        for (n, party) in parties.iter_mut().enumerate() {
            if party.waiting < 2 {
                driver.enqueue(n, &party.class, 100)?;
                party.waiting += 100;
            }
        }
        if running.len() == slots {
            let ((ends, seq), (owner, ms)) = running.pop_first().expect("all slots are taken");
            driver.pass(ends - driver.at);
            driver.end(seq, rng.percent(90))?;
            longest = longest.max(ms);
            let party = &mut parties[owner];
            (party.spent_ms, party.in_flight) = (party.spent_ms + ms, party.in_flight - 1);
        }
        let Some((seq, owner)) = driver.fetch() else {
            return Err(Violation::new(Rule::Waiting, "jobs wait and none is handed out"));
        };
        check_turn(&parties, owner, longest)?;
        let usual = parties[owner].usual_ms;
        let ms = rng.between(usual / 2, usual * 3 / 2).max(1);
        running.insert((driver.at + ms, seq), (owner, ms));
        let party = &mut parties[owner];
        (party.waiting, party.in_flight) = (party.waiting - 1, party.in_flight + 1);
    }
    Ok(())
}

fn parties(rng: &mut Rng, driver: &mut EngineDriver) -> Vec<Party> {
    let one_type = rng.percent(50);
    (0..rng.between(2, 5) as usize)
        .map(|n| {
            let id = tenant(n);
            let weight = rng.one_of([0.5, 1.0, 1.0, 2.0, 5.0, 10.0]);
            let given = Weight::new(weight);
            driver.put_tenant(&id, TenantConfig { weight: given, ..TenantConfig::default() });
            let kind = if one_type { "sim.work".into() } else { format!("sim.work{n}") };
            // One of them at least is slow, and one quick.
            let usual_ms = match n {
                0 => 5_000,
                1 => 5,
                _ => rng.one_of([5, 50, 500, 5_000]),
            };
            let class = class(id, &kind);
            Party { class, weight, usual_ms, waiting: 0, spent_ms: 0, in_flight: 0 }
        })
        .collect()
}

fn check_turn(parties: &[Party], served: usize, longest: u64) -> Check {
    let had = |party: &Party| party.spent_ms as f64 / party.weight;
    let a = &parties[served];
    for (n, b) in parties.iter().enumerate().filter(|(n, _)| *n != served) {
        let most = had(b) + (b.in_flight * longest) as f64 / b.weight;
        ensure(had(a) <= most + ROUNDING, Rule::Fair, || {
            format!("t{served} had {} ms by weight and is served before t{n}: {most}", had(a))
        })?;
    }
    Ok(())
}
