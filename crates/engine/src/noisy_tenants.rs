//! Detecting and throttling noisy tenants: those that take far more than others.

use std::collections::VecDeque;

use rota_model::{Millis, State};

use crate::command::later;
use crate::median::Median;
use crate::tenant::{Tally, TenantIx};
use crate::{Engine, EventKind, FairStrategy, Throttle};

/// Time between two rounds of detection.
const ROUND_MS: u64 = 5_000;
/// Tenants measured or checked in one step.
const SLICE: usize = 512;

/// The tenants to check, and the typical values they are compared with. A round first measures all
/// listed tenants, then checks each.
#[derive(Default)]
pub(crate) struct NoiseDetector {
    /// Tenants for the next round, each listed once: those that did something in the last minute,
    /// have active jobs or were noisy. All of them define what is typical. A tenant's state may
    /// also change because the others do.
    next_tenants: Vec<TenantIx>,
    /// Tenants of this round that are still to be measured, then checked.
    to_measure: VecDeque<TenantIx>,
    to_check: VecDeque<TenantIx>,
    next_round_at: u64,
    totals: MinuteTotals,
    /// Tenants with unfinished jobs or activity in the last minute, when last measured.
    present: usize,
    /// Waiting jobs of tenants that have any, when last measured.
    depths: Median,
    typical: Typical,
}

/// Sums over all measured tenants, for the last minute.
#[derive(Default, Clone, Copy)]
struct MinuteTotals {
    enqueued: u64,
    enqueuing: usize,
    /// The sum of the tenants' error rates, and the number of tenants that executed jobs.
    errors: f64,
    executing: usize,
}

/// Typical values of a tenant.
#[derive(Default, Clone, Copy)]
struct Typical {
    depth: f64,
    enqueued: f64,
    errors: f64,
    enqueuing: usize,
}

/// A value that is above its threshold.
struct Signal {
    bit: u8,
    value: f64,
    threshold: f64,
}

/// A tenant is noisy now, throttled or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Noisiness {
    pub signal: &'static str,
    /// Waiting jobs, jobs enqueued in the last minute, active jobs, or the error rate.
    pub value: f64,
    pub threshold: f64,
    pub since: Millis,
}

impl NoiseDetector {
    pub fn next_round(&self) -> Option<u64> {
        if !self.to_measure.is_empty() || !self.to_check.is_empty() {
            return Some(0);
        }
        (!self.next_tenants.is_empty()).then_some(self.next_round_at)
    }
}

impl Engine {
    /// Lists a tenant for the next round, because its activity or job counts changed.
    pub(crate) fn schedule_noise_check(&mut self, ix: TenantIx) {
        if !std::mem::replace(&mut self.tenants.get_mut(ix).noise_check_due, true) {
            self.noise_detector.next_tenants.push(ix);
        }
    }

    /// Continues the current round, or begins the next, a slice at a time.
    pub(crate) fn detect_noisy_tenants(&mut self) {
        if !self.config.noisy.detect {
            for ix in std::mem::take(&mut self.noise_detector.next_tenants) {
                self.tenants.get_mut(ix).noise_check_due = false;
            }
            return;
        }
        let idle =
            self.noise_detector.to_check.is_empty() && self.noise_detector.to_measure.is_empty();
        if idle
            && self.noise_detector.next_round_at <= self.now.mono
            && !self.noise_detector.next_tenants.is_empty()
        {
            self.noise_detector.next_round_at = self.now.mono.saturating_add(ROUND_MS);
            self.noise_detector.to_measure =
                std::mem::take(&mut self.noise_detector.next_tenants).into();
            self.noise_detector.totals = MinuteTotals::default();
        }
        for _ in 0..SLICE {
            if let Some(ix) = self.noise_detector.to_measure.pop_front() {
                self.measure_tenant(ix);
            } else if let Some(ix) = self.noise_detector.to_check.pop_front() {
                self.check_noise(ix);
            } else {
                return;
            }
        }
    }

    fn measure_tenant(&mut self, ix: TenantIx) {
        let exists = self.tenants.is_live(ix);
        let last = if exists { self.minute_of(ix) } else { Tally::default() };
        let tenant = self.tenants.get_mut(ix);
        tenant.noise_check_due = false;
        self.noise_detector.depths.set(ix, tenant.jobs.depth());
        self.noise_detector.to_check.push_back(ix);
        let present = tenant.jobs.total() > 0 || last != Tally::default();
        self.set_present(ix, present);
        let totals = &mut self.noise_detector.totals;
        totals.enqueued += u64::from(last.enqueued);
        totals.enqueuing += usize::from(last.enqueued > 0);
        let executions = f64::from(last.completed) + f64::from(last.failed);
        if executions > 0.0 {
            totals.errors += f64::from(last.failed) / executions;
            totals.executing += 1;
        }
        if self.noise_detector.to_measure.is_empty() {
            let all = self.noise_detector.totals;
            self.noise_detector.typical = Typical {
                depth: self.noise_detector.depths.value(),
                enqueued: all.enqueued as f64 / all.enqueuing.max(1) as f64,
                errors: all.errors / all.executing.max(1) as f64,
                enqueuing: all.enqueuing,
            };
        }
    }

    fn set_present(&mut self, ix: TenantIx, present: bool) {
        let was = std::mem::replace(&mut self.tenants.get_mut(ix).present, present);
        self.noise_detector.present =
            self.noise_detector.present + usize::from(present) - usize::from(was);
    }

    fn check_noise(&mut self, ix: TenantIx) {
        if !self.tenants.is_live(ix) {
            return;
        }
        let signals = self.signals_of(ix).fold(0, |all, signal| all | signal.bit);
        let active = self.tenants.get(ix).jobs.count(State::Active);
        if signals != 0 || active > 0 || self.minute_of(ix) != Tally::default() {
            self.schedule_noise_check(ix);
        }
        let now = self.wall();
        let tenant = self.tenants.get_mut(ix);
        tenant.noisy_since = (signals != 0).then(|| tenant.noisy_since.unwrap_or(now));
        if tenant.row.spared_until.take_if(|until| *until <= now).is_some() {
            // Noise that continued while it was spared counts as new.
            tenant.noisy = 0;
        }
        let new = signals & !std::mem::replace(&mut tenant.noisy, signals);
        if let Some((_, reason)) = SIGNALS.into_iter().find(|(bit, _)| new & bit != 0) {
            self.report_noisy(ix, reason);
        }
    }

    /// A tenant's first signal, in the order of [`SIGNALS`], if the last check found it noisy and it still is.
    pub(crate) fn noisiness(&self, ix: TenantIx) -> Option<Noisiness> {
        let since = self.tenants.get(ix).noisy_since?;
        let Signal { bit, value, threshold } = self.signals_of(ix).next()?;
        let reason = SIGNALS.into_iter().find(|(signal_bit, _)| *signal_bit == bit)?.1;
        let signal = reason.strip_suffix("_exceeded").unwrap_or(reason);
        Some(Noisiness { signal, value, threshold, since })
    }

    fn signals_of(&self, ix: TenantIx) -> impl Iterator<Item = Signal> + use<> {
        let (rules, typical) = (self.config.noisy, self.noise_detector.typical);
        // A tenant cannot be noisy without others to compare with.
        let (crowded, together) =
            (self.noise_detector.depths.len() > 1, self.noise_detector.present > 1);
        let (tenant, last) = (self.tenants.get(ix), self.minute_of(ix));
        let (depth, active) = (tenant.jobs.depth(), tenant.jobs.count(State::Active));
        let executions = f64::from(last.completed) + f64::from(last.failed);
        let errors = f64::from(last.failed) / executions.max(1.0);
        let (enqueued, all) = (f64::from(last.enqueued), self.active.len() as u64);
        let signal = |bit, counts, value, threshold| {
            (counts && value > threshold * (1.0 + ROUNDING)).then_some(Signal {
                bit,
                value,
                threshold,
            })
        };
        let deep = crowded && depth >= rules.min_depth;
        let busy = typical.enqueuing > 1 && enqueued >= rules.min_enqueued as f64;
        let many = together && all >= rules.min_active;
        let often = executions >= rules.min_executions as f64;
        let signals = [
            signal(DEPTH, deep, depth as f64, rules.depth_ratio * typical.depth),
            signal(RATE, busy, enqueued, rules.rate_ratio * typical.enqueued),
            signal(ACTIVE, many, active as f64, rules.active_share * all as f64),
            signal(ERRORS, often, errors, rules.error_ratio * typical.errors),
        ];
        signals.into_iter().flatten()
    }

    fn report_noisy(&mut self, ix: TenantIx, reason: &'static str) {
        let (rules, now) = (self.config.noisy, self.wall());
        if self.tenants.get(ix).throttled(now).is_some() {
            return;
        }
        // End an expired throttle first; otherwise its end would also remove the new one.
        self.end_throttle(ix, "expired");
        let spared = self.tenants.get(ix).row.spared_until.is_some_and(|until| until > now);
        let tenant = self.tenants.get(ix).id.clone();
        let (original, until) = (self.weight_of(ix), later(now, rules.throttle_ms));
        let effective = original.times(rules.factor);
        let concurrency = self.lowered_cap(ix);
        let lowers = match concurrency {
            Some((cap, lowered)) => lowered < cap,
            None => effective < original,
        };
        if spared || !lowers || !self.can_throttle() {
            self.emit(EventKind::TenantNoisy { tenant, reason });
            return;
        }
        let reason_kept = reason.into();
        let throttle =
            Throttle { reason: reason_kept, original, effective, concurrency, since: now, until };
        self.tenants.throttle_ends.insert((until, ix));
        self.tenants.get_mut(ix).row.throttle = Some(throttle.clone().into());
        self.tenant_changed(ix);
        self.write_tenant(ix);
        self.emit(EventKind::TenantThrottled { tenant, reason, throttle });
    }

    /// With neither weights nor per-tenant concurrency there is nothing to lower.
    fn can_throttle(&self) -> bool {
        let fairness = &self.config.fairness;
        self.config.noisy.throttle
            && (fairness.enabled || fairness.strategy == FairStrategy::Strict)
    }

    /// With `FairStrategy::Strict`: the tenant's concurrency, and the lowered one.
    fn lowered_cap(&self, ix: TenantIx) -> Option<(u32, u32)> {
        let strict = self.config.fairness.strategy == FairStrategy::Strict;
        let cap = self.configured_cap(ix).filter(|_| strict)?;
        let part = (f64::from(cap) * self.config.noisy.factor).round() as u32;
        Some((cap, part.max(1).min(cap)))
    }

    /// Recomputes a throttle after a change of the tenant's configuration.
    pub(crate) fn update_throttle(&mut self, ix: TenantIx) {
        let (original, factor) = (self.weight_of(ix), self.config.noisy.factor);
        let concurrency = self.lowered_cap(ix);
        if let Some(throttle) = &mut self.tenants.get_mut(ix).row.throttle {
            (throttle.original, throttle.effective) = (original, original.times(factor));
            throttle.concurrency = concurrency;
        }
    }

    /// Ends a tenant's throttle, if it has one.
    pub(crate) fn end_throttle(&mut self, ix: TenantIx, reason: &'static str) {
        let tenant = self.tenants.get_mut(ix);
        let Some(throttle) = tenant.row.throttle.take() else { return };
        tenant.noisy = 0;
        let tenant = tenant.id.clone();
        self.tenants.throttle_ends.remove(&(throttle.until, ix));
        self.tenant_changed(ix);
        self.write_tenant(ix);
        self.emit(EventKind::TenantThrottleReleased { tenant, reason });
    }

    /// A tenant is gone: removes its noise state and throttle.
    pub(crate) fn clear_noise_state(&mut self, ix: TenantIx) {
        self.noise_detector.depths.set(ix, 0);
        self.set_present(ix, false);
        let tenant = self.tenants.get_mut(ix);
        (tenant.noisy, tenant.noisy_since, tenant.row.spared_until) = (0, None, None);
        if let Some(throttle) = tenant.row.throttle.take() {
            self.tenants.throttle_ends.remove(&(throttle.until, ix));
        }
        self.tenant_changed(ix);
    }

    /// Ends one expired throttle; false if there is none.
    pub(crate) fn end_due_throttle(&mut self, now: Millis) -> bool {
        let Some(&(at, ix)) = self.tenants.throttle_ends.first() else { return false };
        if at > now {
            return false;
        }
        self.tenants.throttle_ends.pop_first();
        self.end_throttle(ix, "expired");
        true
    }
}

/// Tolerance for rounding: a mean depends on the order of summation.
const ROUNDING: f64 = 1e-9;

const DEPTH: u8 = 1;
const RATE: u8 = 2;
const ACTIVE: u8 = 4;
const ERRORS: u8 = 8;
const SIGNALS: [(u8, &str); 4] = [
    (DEPTH, "queue_depth_ratio_exceeded"),
    (RATE, "enqueue_rate_ratio_exceeded"),
    (ACTIVE, "active_job_ratio_exceeded"),
    (ERRORS, "error_rate_exceeded"),
];
