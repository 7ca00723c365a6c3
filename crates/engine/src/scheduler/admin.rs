//! Small entry points for the engine: limits, gates and waiting fetches.

use rota_model::{LimitNumbers, Millis, OnLimit};

use super::Scheduler;
use super::fetches::NewWaiter;
use super::limits::{GateIx, LimitIx, LimitSettings, Partition};
use crate::queue::QueueIx;
use crate::{Fetch, WaiterId};

impl Scheduler {
    /// The limit of a partition, created if it does not exist.
    pub fn limit(&mut self, partition: &Partition) -> LimitIx {
        self.limits.get_or_make(partition)
    }

    /// Returns the gate for these numbers of a limit and counts one more user: a class or a queue,
    /// until it is given other gates.
    pub fn use_gate(
        &mut self,
        limit: LimitIx,
        numbers: LimitNumbers,
        on_limit: Option<OnLimit>,
    ) -> GateIx {
        self.limits.use_gate(limit, numbers, on_limit)
    }

    /// Forgets a limit without users and settings.
    pub fn forget_limit(&mut self, limit: LimitIx) {
        self.limits.forget(limit);
        self.paused_lanes.remove(&limit);
    }

    /// A limit with a pause or override that has expired by `now`.
    pub fn next_expired(&mut self, now: Millis) -> Option<LimitIx> {
        self.limits.pop_end(now)
    }

    /// Replaces the settings of a limit.
    pub(super) fn set_limit_settings(&mut self, limit: LimitIx, settings: LimitSettings) {
        let ends = [
            settings.pause.as_ref().map(|pause| pause.until),
            settings.replaced.map(|r| r.expires),
        ];
        ends.into_iter().flatten().for_each(|at| self.limits.ends_at(limit, at));
        let limit_state = self.limits.limit_mut(limit);
        let numbers =
            settings.declared.into_iter().chain(settings.replaced.map(|other| other.numbers));
        numbers.for_each(|numbers| limit_state.watch(numbers));
        limit_state.settings = settings;
        self.limit_changed(limit);
    }

    pub fn wait(
        &mut self,
        id: WaiterId,
        fetch: Fetch,
        deadline: u64,
        waits: NewWaiter,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) {
        self.fetches.add(id, fetch, deadline, waits, find);
    }

    pub fn stop_waiting(
        &mut self,
        id: WaiterId,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) -> Option<Fetch> {
        self.fetches.remove(id, find)
    }

    /// The fetch that was tried got nothing; another one is tried next.
    pub fn got_nothing(&mut self, id: WaiterId) {
        self.fetches.got_nothing(id);
    }
}
