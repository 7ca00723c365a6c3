//! Forgetting limits that no job uses, once their starts no longer count. Limits with settings
//! stay.

use std::collections::{BTreeSet, VecDeque};

use rota_model::ClassId;

use crate::Engine;
use crate::scheduler::Reconfigured;
use crate::scheduler::limits::LimitIx;

/// How long a class without jobs keeps its limit in use; often more jobs follow.
const IDLE_MS: u64 = 10_000;

/// What is to be checked, by time of the limits' clock in ms.
#[derive(Default)]
pub(crate) struct IdleLimits {
    /// Classes without jobs.
    classes: VecDeque<(u64, ClassId)>,
    /// Limits that may be unused.
    limits: BTreeSet<(u64, LimitIx)>,
}

impl IdleLimits {
    pub fn next(&self) -> Option<u64> {
        let class = self.classes.front().map(|&(at, _)| at);
        let limit = self.limits.first().map(|&(at, _)| at);
        class.into_iter().chain(limit).min()
    }

    fn pop_class(&mut self, now: u64) -> Option<ClassId> {
        let &(at, class) = self.classes.front()?;
        if at > now {
            return None;
        }
        self.classes.pop_front();
        Some(class)
    }

    fn pop_limit(&mut self, now: u64) -> Option<LimitIx> {
        let &(at, limit) = self.limits.first()?;
        if at > now {
            return None;
        }
        self.limits.pop_first();
        Some(limit)
    }
}

impl Engine {
    /// A class with a limit has no jobs left.
    pub(crate) fn limited_class_is_idle(&mut self, class: ClassId) {
        let at = self.scheduler.now().mono + IDLE_MS;
        self.idle_limits.classes.push_back((at, class));
    }

    /// A class with a limit has jobs again.
    pub(crate) fn use_limit_again(&mut self, class: ClassId) {
        if self.scheduler.key_gates(class).is_empty() {
            let about = self.classes.slot(class).class.clone();
            let gates = self.gates_for(&about);
            self.scheduler.reconfigured(Reconfigured::Gates(class, gates));
            let limits = self.scheduler.limits();
            for gate in self.scheduler.key_gates(class) {
                let limit = limits.gate(*gate).limit;
                if limits.limit(limit).partition.tenant.is_none() {
                    self.limit_watch.note_first_tenant(limit, &about.tenant);
                }
            }
        }
    }

    /// A limit may be unused: it is checked with the next tick.
    pub(crate) fn limit_may_be_idle(&mut self, limit: LimitIx) {
        self.idle_limits.limits.insert((self.scheduler.now().mono, limit));
    }

    /// After a restart: lists limits that are known by their past starts only.
    pub(crate) fn find_idle_limits(&mut self) {
        let unused = self.scheduler.limits().from("").filter(|(_, limit)| limit.gates.is_empty());
        let unused: Vec<LimitIx> = unused.map(|(ix, _)| ix).collect();
        unused.into_iter().for_each(|limit| self.limit_may_be_idle(limit));
    }

    /// Checks one class or limit that is due; false if there is none.
    pub(crate) fn forget_one_idle_limit(&mut self) -> bool {
        let now = self.scheduler.now().mono;
        if let Some(class) = self.idle_limits.pop_class(now) {
            self.stop_using_limit(class);
            return true;
        }
        let limit = self.idle_limits.pop_limit(now);
        limit.map(|limit| self.forget_if_idle(limit)).is_some()
    }

    fn stop_using_limit(&mut self, class: ClassId) {
        let is_idle = self.classes.contains(class) && self.classes.slot(class).live == 0;
        if is_idle && self.classes.slot(class).class.policy.limit.is_some() {
            let limits = self.scheduler.limits();
            let used = self.scheduler.key_gates(class).iter().map(|gate| limits.gate(*gate).limit);
            let used: Vec<LimitIx> = used.collect();
            self.scheduler.reconfigured(Reconfigured::Gates(class, Box::default()));
            let tenant = self.classes.slot(class).tenant;
            for limit in used {
                self.scheduler.forget_at_key(limit, tenant);
                self.limit_may_be_idle(limit);
            }
        }
    }

    /// Forgets a limit that no job uses and that has no settings, at once or when its starts no
    /// longer count.
    pub(crate) fn forget_if_idle(&mut self, ix: LimitIx) {
        let (limits, now) = (self.scheduler.limits(), self.scheduler.now());
        if !limits.exists(ix) || !limits.limit(ix).is_unused() {
            return;
        }
        match limits.limit(ix).remembered_until() {
            Some(until) if until > now.mono as i64 => {
                self.idle_limits.limits.insert((until as u64, ix));
            }
            _ => self.forget_limit(ix),
        }
    }
}
