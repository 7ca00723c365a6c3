//! What is said about limits: by operators, and by handlers that met one elsewhere.

use std::sync::Arc;

use rota_model::mutation::{Kind, Mutation};
use rota_model::{ClassId, LimitKey, Millis, Rate, TenantId};

use crate::command::{PutLimit, later};
use crate::scheduler::Reconfigured;
use crate::scheduler::limits::{Hold, LimitIx, LimitRow, Override, Partition};
use crate::{Engine, EventKind, LimitGlance, Refusal, Reply};

/// The most limits that may be there when another is spoken of.
const MOST_LIMITS: usize = 1_000_000;

impl Engine {
    pub(crate) fn put_limit(&mut self, put: PutLimit) -> Reply {
        let partition = Partition { key: put.key, tenant: put.tenant };
        let limits = self.scheduler.limits();
        if limits.find(&partition).is_none() && limits.len() >= MOST_LIMITS {
            return Reply::Refused(Refusal::TooManyLimits { limit: MOST_LIMITS });
        }
        let ix = self.scheduler.limit(&partition);
        let now = self.now.wall;
        let reason: Option<Arc<str>> = put.reason.map(Into::into);
        let mut row = self.scheduler.limits().limit(ix).row.clone();
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
        if let Some(until) = put.paused_until {
            let reason = reason.clone().unwrap_or_else(|| "operator".into());
            row.hold = (until > now).then_some(Hold { until, reason });
        }
        row.reason = reason.or(row.reason.take());
        self.say_of_limit(ix, row);
        let view = Box::new(self.limit_view(ix));
        self.forget_if_idle(ix);
        Reply::Limit(view)
    }

    pub(crate) fn clear_limit(&mut self, key: LimitKey, tenant: Option<TenantId>) -> Reply {
        let partition = Partition { key: key.clone(), tenant };
        let Some(ix) = self.scheduler.limits().find(&partition) else {
            return Reply::Refused(Refusal::UnknownLimit);
        };
        let for_all = limit_is_global(self, ix);
        let declared = self.config.limits.get(&key).copied().filter(|_| for_all);
        let row = LimitRow { declared, from_file: declared.is_some(), ..LimitRow::default() };
        self.say_of_limit(ix, row);
        let view = Box::new(self.limit_view(ix));
        self.forget_if_idle(ix);
        Reply::Limit(view)
    }

    /// Something else is said about a limit: it is written down and takes effect.
    fn say_of_limit(&mut self, ix: LimitIx, mut row: LimitRow) {
        if row.hold.is_none() && row.replaced.is_none() && row.declared.is_none() {
            row.reason = None;
        }
        let partition = self.scheduler.limits().limit(ix).partition.clone();
        let name = partition.name();
        let written = LimitRow {
            declared: row.declared.filter(|_| !row.from_file),
            from_file: false,
            ..row.clone()
        };
        if written == LimitRow::default() {
            self.out.mutations.push(Mutation::Remove(Kind::Limit, name.as_str().into()));
        } else {
            self.put(Kind::Limit, &name, &written);
        }
        self.scheduler.reconfigured(Reconfigured::Said(ix, row));
        if partition.tenant.is_none() {
            self.find_whom_it_holds(&partition.key);
        }
        // The limit may be forgotten next, and what it did is told before.
        self.tell_notices();
        self.limit_may_be_idle(ix);
    }

    /// Something that was said about a limit is over.
    pub(crate) fn expire_override(&mut self, ix: LimitIx) {
        let now = self.wall();
        let limits = self.scheduler.limits();
        if !limits.exists(ix) {
            return;
        }
        let mut row = limits.limit(ix).row.clone();
        row.hold.take_if(|hold| hold.until <= now);
        row.replaced.take_if(|other| other.expires <= now);
        if row != limits.limit(ix).row {
            self.say_of_limit(ix, row);
        }
    }

    /// A handler met the limit that its job's key stands for: nothing of the key starts until then.
    /// `None` when the job has no key.
    pub(crate) fn pause_key(
        &mut self,
        class: ClassId,
        until: Millis,
        reason: &str,
    ) -> Option<Millis> {
        let limit = self.classes.slot(class).class.policy.limit.clone()?;
        let gate = self.scheduler.gates_of(class).next()?;
        let longest = later(self.wall(), self.config.longest_pause_ms);
        let until = until.min(longest);
        let limits = self.scheduler.limits();
        let ix = limits.gate(gate).limit;
        let known = limits.limit(ix).row.hold.as_ref().map(|hold| hold.until);
        if known.is_none_or(|known| known < until) && until > self.wall() {
            let reason: Arc<str> = reason.into();
            let held = self.scheduler.limits().limit(ix);
            let tenant = held.partition.tenant.clone();
            let hold = Some(Hold { until, reason: reason.clone() });
            let row = LimitRow { hold, ..held.row.clone() };
            self.say_of_limit(ix, row);
            let (key, until) = (limit.key, Some(until));
            self.emit(EventKind::LimitAdjusted { key, tenant, until, reason });
        }
        Some(until)
    }

    /// How the limit of a class stands, for who has just enqueued a job of it.
    pub(crate) fn glance_at_limit(&self, class: ClassId) -> Option<LimitGlance> {
        let gate = self.scheduler.gates_of(class).next()?;
        let limits = self.scheduler.limits();
        let own = limits.gate(gate).numbers;
        let (wall, mono) = (self.wall(), self.scheduler.now().mono as i64);
        let limit = limits.limit(limits.gate(gate).limit);
        let numbers = limit.numbers(own, wall);
        let timed: Option<Rate> = numbers.rate.or(numbers.throttle);
        if let Some(rate) = timed {
            let (count, resets) = limit.look(rate, mono);
            let limit = u64::from(rate.limit);
            let resets = resets.map_or(0, |at| (at - mono).max(0) as u64);
            let remaining = limit.saturating_sub(count);
            return Some(LimitGlance { limit, remaining, resets: later(wall, resets) });
        }
        let most = numbers.concurrency?;
        let remaining = u64::from(most).saturating_sub(limit.active);
        Some(LimitGlance { limit: u64::from(most), remaining, resets: wall })
    }
}

fn limit_is_global(engine: &Engine, ix: LimitIx) -> bool {
    engine.scheduler.limits().limit(ix).partition.tenant.is_none()
}
