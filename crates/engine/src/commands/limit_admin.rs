//! Changing the settings of limits: by operators, and by handlers that report a limit of an
//! external service.

use std::sync::Arc;

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{ClassId, Feedback, LimitKey, Millis, Rate, TenantId};

use crate::command::{PutLimit, later};
use crate::scheduler::Reconfigured;
use crate::scheduler::limits::{GateIx, KeyPause, LimitIx, LimitSettings, Override, Partition};
use crate::{CapReached, Engine, EventKind, LimitStatus, Refusal, Reply};

impl Engine {
    pub(crate) fn put_limit(&mut self, put: PutLimit) -> Reply {
        let partition = Partition { key: put.key, tenant: put.tenant };
        let owner = partition.owner();
        let ix = self.scheduler.limit(&partition);
        let now = self.now.wall;
        let reason: Option<Arc<str>> = put.reason.map(Into::into);
        let mut row = self.scheduler.limits().limit(ix).settings.clone();
        match put.numbers {
            Some((edit, Some(expires))) => {
                let old = row.replaced.filter(|other| other.expires > now);
                let numbers = edit.of(old.map(|other| other.numbers).unwrap_or_default());
                row.replaced = Some(Override { numbers, expires });
            }
            Some((edit, None)) => {
                let numbers = edit.of(row.declared.unwrap_or_default());
                row.declared = (!numbers.is_empty()).then_some(numbers);
                row.from_file = false;
            }
            None => {}
        }
        if let Some(feedback) = put.feedback {
            (row.feedback, row.from_file) = (feedback, false);
            if row.declared.is_none() {
                self.forget_if_idle(ix);
                return Reply::Refused(Refusal::NotDeclared);
            }
        }
        if row.declared.is_none() {
            row.feedback = Feedback::default();
        }
        if let Some(until) = put.paused_until {
            let reason = reason.clone().unwrap_or_else(|| "operator".into());
            row.pause = (until > now).then_some(KeyPause { until, reason });
        }
        row.reason = reason.or(row.reason.take());
        // The operator becomes the owner of a shared key, even if a tenant's handler paused it
        // first.
        row.owner = owner;
        if let Err(reached) = self.check_limit_cap(ix, &row) {
            self.forget_if_idle(ix);
            return Reply::Refused(reached.into());
        }
        self.set_limit_settings(ix, row);
        let view = Box::new(self.limit_view(ix));
        self.forget_if_idle(ix);
        Reply::Limit(view)
    }

    pub(crate) fn clear_limit(&mut self, key: LimitKey, tenant: Option<TenantId>) -> Reply {
        let partition = Partition { key: key.clone(), tenant };
        let Some(ix) = self.scheduler.limits().find(&partition) else {
            return Reply::Refused(Refusal::UnknownLimit);
        };
        self.reset_limit(ix);
        let view = Box::new(self.limit_view(ix));
        self.forget_if_idle(ix);
        Reply::Limit(view)
    }

    /// Removes the declarations and pauses of all limits that a tenant owns.
    pub(crate) fn clear_limits_of(&mut self, tenant: &TenantId) {
        for ix in self.limit_owners.of(tenant) {
            self.reset_limit(ix);
            self.forget_if_idle(ix);
        }
    }

    /// Resets a limit to what the configuration file declares.
    fn reset_limit(&mut self, ix: LimitIx) {
        let Partition { key, tenant } = &self.scheduler.limits().limit(ix).partition;
        let declared = self.config.limits.get(key).copied().filter(|_| tenant.is_none());
        self.set_limit_settings(ix, LimitSettings::of_file(declared));
    }

    /// Checks the cap on limits with settings, if the limit would become one.
    fn check_limit_cap(&self, ix: LimitIx, row: &LimitSettings) -> Result<(), CapReached> {
        let current = &self.scheduler.limits().limit(ix).settings;
        match current.written().is_none() && row.written().is_some() {
            true => {
                self.check_tenant(row.owner.as_ref())?;
                self.limit_owners.check_cap(self.asker(row.owner.as_ref()))
            }
            false => Ok(()),
        }
    }

    /// Replaces a limit's settings: writes or removes its row and applies the change.
    fn set_limit_settings(&mut self, ix: LimitIx, mut row: LimitSettings) {
        let written = row.written();
        if written.is_none() {
            (row.reason, row.owner) = (None, None);
        }
        let limit = self.scheduler.limits().limit(ix);
        let partition = limit.partition.clone();
        if let Some(before) = limit.settings.written() {
            self.limit_owners.remove(before.owner.as_ref(), ix);
        }
        let name = partition.name();
        if let Some(written) = written {
            if let Some(owner) = &written.owner {
                self.ensure_tenant(owner);
            }
            self.limit_owners.add(written.owner.as_ref(), ix);
            self.put(RowKind::Limit, &name, &written);
        } else {
            self.out.mutations.push(Mutation::Remove(RowKind::Limit, name.as_str().into()));
        }
        self.scheduler.reconfigured(Reconfigured::LimitSettings(ix, row));
        self.limit_scope_changed(&partition);
        // Emit the limit's events now: it may be forgotten next.
        self.emit_notices();
        self.limit_may_be_idle(ix);
    }

    /// Removes a pause or override that has expired.
    pub(crate) fn expire_override(&mut self, ix: LimitIx) {
        let now = self.wall();
        let limits = self.scheduler.limits();
        if !limits.exists(ix) {
            return;
        }
        let mut row = limits.limit(ix).settings.clone();
        row.pause.take_if(|pause| pause.until <= now);
        row.replaced.take_if(|other| other.expires <= now);
        if row != limits.limit(ix).settings {
            self.set_limit_settings(ix, row);
        }
    }

    /// A handler has reported an external limit: pauses the job's key until then, for
    /// `longest_pause_ms` at most. With a tenant's credentials (`proven`), only the tenant's own part
    /// of a shared key is paused, unless its declaration says otherwise. `None` if the job has no key,
    /// or its tenant has reached the cap on limits with settings.
    pub(crate) fn pause_key(
        &mut self,
        class: ClassId,
        until: Millis,
        reason: &str,
        proven: bool,
    ) -> Option<Millis> {
        let limit = self.classes.slot(class).class.policy.limit.clone()?;
        let gate = self.scheduler.gates_of(class).next()?;
        let longest = later(self.wall(), self.config.longest_pause_ms);
        let until = until.min(longest);
        let ix = self.limit_to_pause(class, gate, proven);
        let paused_until =
            self.scheduler.limits().limit(ix).settings.pause.as_ref().map(|pause| pause.until);
        if paused_until.is_none_or(|paused| paused < until) && until > self.wall() {
            let reason: Arc<str> = reason.into();
            let limit_state = self.scheduler.limits().limit(ix);
            let tenant = limit_state.partition.tenant.clone();
            let pause = Some(KeyPause { until, reason: reason.clone() });
            // The first owner of the settings stays the owner.
            let owner = match limit_state.settings.written() {
                Some(row) => row.owner,
                None => self.owner_of(class).cloned(),
            };
            let row = LimitSettings { pause, owner, ..limit_state.settings.clone() };
            if self.check_limit_cap(ix, &row).is_err() {
                self.forget_if_idle(ix);
                return None;
            }
            self.set_limit_settings(ix, row);
            let (key, until) = (limit.key, Some(until));
            self.emit(EventKind::LimitAdjusted { key, tenant, until, reason });
        }
        Some(until)
    }

    /// The limit that a report pauses: the job's, or its tenant's own part of it.
    fn limit_to_pause(&mut self, class: ClassId, gate: GateIx, proven: bool) -> LimitIx {
        let limits = self.scheduler.limits();
        let ix = limits.gate(gate).limit;
        let limit = limits.limit(ix);
        let own_part_only = proven && limit.settings.feedback == Feedback::Tenant;
        if limit.partition.tenant.is_some() || !own_part_only {
            return ix;
        }
        let tenant = Some(self.classes.slot(class).class.tenant.clone());
        self.scheduler.limit(&Partition { key: limit.partition.key.clone(), tenant })
    }

    /// The current use of a class's limit, for the answer to an enqueue.
    pub(crate) fn limit_status(&self, class: ClassId) -> Option<LimitStatus> {
        let gate = self.scheduler.gates_of(class).next()?;
        let limits = self.scheduler.limits();
        let of_job = limits.gate(gate).numbers;
        let (wall, mono) = (self.wall(), self.scheduler.now().mono as i64);
        let limit = limits.limit(limits.gate(gate).limit);
        let numbers = limit.numbers(of_job, wall);
        let timed: Option<Rate> = numbers.rate.or(numbers.throttle);
        if let Some(rate) = timed {
            let (count, resets) = limit.count_in_period(rate, mono);
            let limit = u64::from(rate.limit);
            let resets = resets.map_or(0, |at| (at - mono).max(0) as u64);
            let remaining = limit.saturating_sub(count);
            return Some(LimitStatus { limit, remaining, resets: later(wall, resets) });
        }
        let most = numbers.concurrency?;
        let remaining = u64::from(most).saturating_sub(limit.active);
        Some(LimitStatus { limit: u64::from(most), remaining, resets: wall })
    }
}
