//! Checks the form and the end of throttles of noisy tenants. The trials check when a throttle must begin,
//! because they know everything that a tenant did.

use rota_engine::{Command, Engine, EventKind, FairStrategy, Throttle};
use rota_model::{Millis, TenantId, Weight};

use super::violation::{Check, Rule, ensure};
use super::world::World;
use crate::runtime::Step;

/// A tenant's weight is lowered until then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lowered {
    pub until: Millis,
}

impl World {
    /// What a step says about throttles. They are decided before anything is handed out.
    pub(super) fn hear_throttles(&mut self, step: &Step) -> Check {
        for event in &step.events {
            match &event.kind {
                EventKind::TenantThrottled { tenant, throttle, .. } => {
                    self.begin_throttle(tenant, throttle)?;
                }
                EventKind::TenantNoisy { tenant, .. } => {
                    let spared = self.is_spared(tenant);
                    let lowers = match self.lowered_cap(tenant) {
                        Some((cap, lowered)) => lowered < cap,
                        None => {
                            let lowered = self.lowered_weight(tenant) < self.given_weight(tenant);
                            self.config.fairness.enabled && lowered
                        }
                    };
                    let throttles = self.config.noisy.throttle && lowers;
                    ensure(spared || !throttles, Rule::Throttle, || {
                        "a noisy tenant was noticed and not throttled".into()
                    })?;
                }
                EventKind::TenantThrottleReleased { tenant, reason } => {
                    self.end_throttle(tenant, reason, &step.command)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin_throttle(&mut self, id: &TenantId, throttle: &Throttle) -> Check {
        let (rules, wall) = (self.config.noisy, self.wall);
        let was = self.tenants.entry(id.clone()).or_default().lowered;
        let original = self.given_weight(id);
        let right = rules.throttle
            && was.is_none()
            && !self.is_spared(id)
            && throttle.since == wall
            && throttle.until == wall.saturating_add_ms(rules.throttle_ms as i64)
            && throttle.original == original
            && throttle.effective == self.lowered_weight(id)
            && throttle.concurrency == self.lowered_cap(id);
        ensure(right, Rule::Throttle, || {
            format!("{id} of {original:?} was {was:?}: {throttle:?}")
        })?;
        let lowered = Lowered { until: throttle.until };
        self.tenants.entry(id.clone()).or_default().lowered = Some(lowered);
        self.turns.disturbed(id, throttle.effective);
        Ok(())
    }

    fn end_throttle(&mut self, id: &TenantId, reason: &str, command: &Command) -> Check {
        let was = self.tenants.entry(id.clone()).or_default().lowered.take();
        let over = was.is_some_and(|lowered| match reason {
            "expired" => lowered.until <= self.wall,
            _ => matches!(command, Command::ReleaseTenant(named, _) if named == id),
        });
        ensure(over, Rule::Throttle, || format!("{id} was released, {reason}: {was:?}"))?;
        if reason != "expired" {
            let until = self.wall.saturating_add_ms(self.config.noisy.throttle_ms as i64);
            self.tenants.entry(id.clone()).or_default().spared_until = Some(until);
        }
        let new = self.given_weight(id);
        self.turns.disturbed(id, new);
        Ok(())
    }

    /// The weight that an operator gave a tenant.
    pub(super) fn given_weight(&self, id: &TenantId) -> Weight {
        if self.config.fairness.strategy == FairStrategy::RoundRobin {
            return Weight::ONE;
        }
        self.tenant(id).weight.unwrap_or(self.config.fairness.default_weight)
    }

    /// What a throttle leaves of that.
    fn lowered_weight(&self, id: &TenantId) -> Weight {
        let hundredths = (self.given_weight(id).value() * 100.0).round();
        let part = (hundredths * self.config.noisy.factor).round().max(1.0);
        Weight::new(part / 100.0).expect("a part of a weight is one")
    }

    /// Of the concurrency, where each tenant has its own.
    fn lowered_cap(&self, id: &TenantId) -> Option<(u32, u32)> {
        if self.config.fairness.strategy != FairStrategy::Strict {
            return None;
        }
        let cap = self.given_cap(id)?;
        let part = (f64::from(cap) * self.config.noisy.factor).round() as u32;
        Some((cap, part.max(1).min(cap)))
    }

    /// The most jobs of a tenant that may be active.
    pub(super) fn cap_of(&self, id: &TenantId) -> Option<u32> {
        let lowered = self.tenants.get(id).and_then(|tenant| tenant.lowered);
        let lasts = lowered.is_some_and(|lowered| lowered.until > self.wall);
        let lowered = self.lowered_cap(id).filter(|_| lasts).map(|(_, lowered)| lowered);
        lowered.or_else(|| self.given_cap(id))
    }

    /// An operator has released a tenant by hand, and a throttle's time has not passed since.
    fn is_spared(&self, id: &TenantId) -> bool {
        let until = self.tenants.get(id).and_then(|tenant| tenant.spared_until);
        until.is_some_and(|until| until > self.wall)
    }

    /// The weight by which a tenant is served.
    pub(super) fn weight_of(&self, id: &TenantId) -> Weight {
        let lowered = self.tenants.get(id).and_then(|tenant| tenant.lowered);
        let lasts = lowered.filter(|lowered| lowered.until > self.wall);
        if lasts.is_some() { self.lowered_weight(id) } else { self.given_weight(id) }
    }

    pub(super) fn check_weights_shown(&self, engine: &Engine) -> Check {
        for id in engine.tenant_ids_after("", 0, usize::MAX) {
            let Some(view) = engine.tenant(&id) else { continue };
            let (given, now) = (self.given_weight(&id), self.weight_of(&id));
            let right = view.weight == given && view.effective_weight == now;
            ensure(right, Rule::Throttle, || {
                format!("{id} is served by {:?}, not {now:?}", view.effective_weight)
            })?;
        }
        Ok(())
    }

    /// No throttle is left whose time is over.
    pub(super) fn check_throttles_end(&self) -> Check {
        let over = |lowered: Lowered| lowered.until <= self.wall;
        let late = self.tenants.iter().find(|(_, tenant)| tenant.lowered.is_some_and(over));
        ensure(late.is_none(), Rule::Throttle, || {
            format!("{:?} is throttled beyond its time", late.map(|(id, _)| id))
        })
    }
}
