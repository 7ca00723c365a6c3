//! Checks that noisy tenants are throttled only for their own behaviour, as configured, and that they are still
//! served.

use std::collections::BTreeSet;

use rota_engine::{Command, Config, EventKind, Noisy, Reply};
use rota_model::{QueueName, Seq, TenantConfig, TenantId, Weight};

use super::engine_driver::{EngineDriver, class, tenant};
use super::noise_model::{Did, Model, Outcome, Throttle};
use crate::oracle::{Check, Rule, ensure};
use crate::rng::Rng;
use crate::sabotage::Sabotage;

const ROUNDS: usize = 200;
const DAY_MS: u64 = 86_400_000;
const MOST_WAITING: u64 = 1_500;

struct Trial {
    rng: Rng,
    driver: EngineDriver,
    model: Model,
    running: Vec<(Seq, usize)>,
    sabotage: Option<Sabotage>,
}

pub(super) fn run(mut rng: Rng, sabotage: Option<Sabotage>) -> Check {
    let rules = rules(&mut rng);
    let config = Config {
        noisy: falsified(rules, sabotage),
        visibility_ms: DAY_MS,
        timeout_ms: DAY_MS,
        ..Config::default()
    };
    let count = rng.between(2, 6) as usize;
    let driver = EngineDriver::new(config, rng.fork());
    let model = Model::new(rules, count);
    let mut trial = Trial { rng, driver, model, running: Vec::new(), sabotage };
    for _ in 0..ROUNDS {
        trial.round()?;
        trial.check_shown()?;
    }
    Ok(())
}

fn rules(rng: &mut Rng) -> Noisy {
    Noisy {
        detect: true,
        throttle: true,
        depth_ratio: rng.one_of([1.5, 3.0, 10.0]),
        rate_ratio: rng.one_of([1.5, 2.5, 5.0]),
        active_share: rng.one_of([0.3, 0.5, 0.8]),
        error_ratio: rng.one_of([1.2, 3.0]),
        min_depth: rng.one_of([1, 100]),
        min_enqueued: rng.one_of([20, 100]),
        min_active: rng.one_of([3, 10]),
        min_executions: rng.one_of([5, 20]),
        factor: rng.one_of([0.01, 0.2, 0.5]),
        throttle_ms: rng.one_of([10_000, 60_000, 300_000]),
    }
}

/// What the engine is told instead.
fn falsified(rules: Noisy, sabotage: Option<Sabotage>) -> Noisy {
    match sabotage {
        Some(Sabotage::LongThrottle) => Noisy { throttle_ms: 2 * rules.throttle_ms, ..rules },
        Some(Sabotage::HeavyThrottle) => Noisy { factor: rules.factor / 2.0, ..rules },
        Some(Sabotage::RashThrottle) => Noisy {
            depth_ratio: rules.depth_ratio / 2.0,
            active_share: rules.active_share / 2.0,
            ..rules
        },
        _ => rules,
    }
}

impl Trial {
    fn round(&mut self) -> Check {
        let n = self.rng.below(self.model.parties.len() as u64) as usize;
        match self.rng.weighted([30, 25, 25, 30, 3, 3, 3]) {
            0 => self.enqueue(n),
            1 => self.fetch(),
            2 => self.end(),
            3 => self.pass(),
            4 => self.release(n),
            5 => {
                let weight = Weight::new(self.rng.one_of([0.01, 0.5, 1.0, 7.0]));
                let config = TenantConfig { weight, ..TenantConfig::default() };
                self.driver.put_tenant(&tenant(n), config);
                self.model.weighs(n, weight.unwrap_or_default());
                Ok(())
            }
            _ => self.delete(n),
        }
    }

    fn enqueue(&mut self, n: usize) -> Check {
        let count = self.rng.one_of([1, 5, 30, 120, 400]);
        let waiting: u64 = self.model.parties.iter().map(|party| party.depth).sum();
        if waiting + count <= MOST_WAITING {
            self.driver.enqueue(n, &class(tenant(n), "sim.work"), count)?;
            self.model.parties[n].depth += count;
            let did = Did { enqueued: count, ..Did::default() };
            self.model.did(n, self.driver.wall(), did);
        }
        Ok(())
    }

    /// Whoever has jobs is served, throttled or not.
    fn fetch(&mut self) -> Check {
        for _ in 0..self.rng.between(1, 60) {
            let waiting = self.model.parties.iter().any(|party| party.depth > 0);
            let got = self.driver.fetch();
            ensure(got.is_some() == waiting, Rule::Waiting, || {
                format!("{got:?} was handed out, though jobs waiting is {waiting}")
            })?;
            let Some((seq, n)) = got else { return Ok(()) };
            self.running.push((seq, n));
            let party = &mut self.model.parties[n];
            (party.depth, party.active) = (party.depth - 1, party.active + 1);
            self.model.did(n, self.driver.wall(), Did::default());
        }
        Ok(())
    }

    fn end(&mut self) -> Check {
        for _ in 0..self.rng.between(1, 60) {
            if self.running.is_empty() {
                return Ok(());
            }
            let at = self.rng.below(self.running.len() as u64) as usize;
            let (seq, n) = self.running.swap_remove(at);
            // Each tenant is worse than the one before.
            let failed = self.rng.percent(15 * n as u64);
            self.driver.end(seq, !failed)?;
            self.model.parties[n].active -= 1;
            let (completed, failed) = (u64::from(!failed), u64::from(failed));
            self.model.did(n, self.driver.wall(), Did { enqueued: 0, completed, failed });
        }
        Ok(())
    }

    fn pass(&mut self) -> Check {
        self.driver.events.clear();
        let ms = self.rng.one_of([0, 400, 4_000, 6_000, 20_000, 70_000]);
        self.driver.pass(ms);
        let expected = self.model.tick(self.driver.at, self.driver.wall());
        let mut told = Outcome::default();
        for event in &self.driver.events {
            match event {
                EventKind::TenantThrottled { tenant, reason, .. }
                | EventKind::TenantNoisy { tenant, reason } => {
                    told.begun.insert((self.number(tenant), *reason));
                }
                EventKind::TenantThrottleReleased { tenant, reason: "expired" } => {
                    told.expired.insert(self.number(tenant));
                }
                _ => {}
            }
        }
        ensure(told == expected, Rule::Throttle, || format!("{told:?}, not {expected:?}"))?;
        if self.sabotage == Some(Sabotage::ThrottleAsPause)
            && let Some((n, _)) = told.begun.first()
        {
            self.driver.apply(Command::PauseShard(tenant(*n), QueueName::default_queue()));
        }
        Ok(())
    }

    fn release(&mut self, n: usize) -> Check {
        let throttled = self.model.parties[n].throttle.is_some();
        let reply = self.driver.apply(Command::ReleaseTenant(tenant(n), None));
        let released = matches!(reply, Reply::Tenant { .. });
        ensure(released == throttled, Rule::Throttle, || format!("{reply:?} of t{n}"))?;
        if released {
            self.model.released(n, self.driver.wall());
        }
        Ok(())
    }

    fn delete(&mut self, n: usize) -> Check {
        let party = &self.model.parties[n];
        let living = party.depth + party.active;
        let reply = self.driver.apply(Command::DeleteTenant(tenant(n), None));
        let refused = matches!(reply, Reply::Refused(_));
        ensure(refused || living == 0, Rule::Reply, || format!("{reply:?} of t{n}"))?;
        if !refused {
            self.model.deleted(n);
        }
        Ok(())
    }

    fn number(&self, id: &TenantId) -> usize {
        let count = self.model.parties.len();
        (0..count).find(|n| tenant(*n) == *id).unwrap_or(count)
    }

    fn check_shown(&self) -> Check {
        for (n, party) in self.model.parties.iter().enumerate() {
            let Some(view) = self.driver.engine.tenant(&tenant(n)) else { continue };
            let shown = view.throttle.as_ref().map(|shown| Throttle {
                reason: reasons().into_iter().find(|one| *one == shown.reason).unwrap_or(""),
                original: shown.original,
                effective: shown.effective,
                since: shown.since,
                until: shown.until,
            });
            let right = shown == party.throttle
                && view.weight == party.weight
                && view.effective_weight == party.effective_weight();
            ensure(right, Rule::Throttle, || {
                format!("t{n} is shown as {:?} {shown:?}, not {:?}", view.weight, party.throttle)
            })?;
        }
        Ok(())
    }
}

fn reasons() -> BTreeSet<&'static str> {
    super::noise_model::ORDER.into()
}
