//! Views of limits: single ones, pages of the list, and their metrics.

use rota_model::{Feedback, LimitKey, LimitNumbers, Millis, OnLimit, Rate, State, TenantId};

use crate::command::later;
use crate::scheduler::limits::{GateIx, Limit, LimitIx, Partition};
use crate::{Engine, LimitKind, Times};

/// Identifies a limit: a key, for all tenants or for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitName {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
    /// An operator has declared its numbers.
    pub declared: bool,
}

impl LimitName {
    /// A cursor after which a list continues.
    #[must_use]
    pub fn cursor(&self) -> String {
        Partition { key: self.key.clone(), tenant: self.tenant.clone() }.name()
    }

    #[must_use]
    pub fn from_cursor(cursor: &str) -> Option<Self> {
        let Partition { key, tenant } = Partition::parse(cursor)?;
        Some(Self { key, tenant, declared: false })
    }

    fn of(limit: &Limit) -> Self {
        let Partition { key, tenant } = limit.partition.clone();
        Self { key, tenant, declared: limit.settings.declared.is_some() }
    }
}

/// A slice of the list of limits.
#[derive(Debug, Default)]
pub struct LimitSlice {
    /// Matching limits, without the skipped ones.
    pub items: Vec<(LimitName, LimitView)>,
    /// The number of matching limits found, including skipped ones.
    pub found: usize,
    /// The last limit that was examined, if the list has more.
    pub stopped_at: Option<LimitName>,
}

/// A limit's metrics.
#[derive(Debug, Clone)]
pub struct LimitMeter {
    pub name: LimitName,
    /// Its tenant has a metric label of its own.
    pub labelled: bool,
    /// The tenant that its label is counted for; `None` is an operator.
    pub owner: Option<TenantId>,
    /// The owner was configured by an operator; see [`crate::Asker`].
    pub configured: bool,
    pub active: u64,
    pub waiting: u64,
    /// Times that jobs began to wait, by [`LimitKind`], since the process began.
    pub exceeded: [u64; LimitKind::ALL.len()],
    /// How long jobs waited; `None` if none has.
    pub waits: Option<Times>,
}

#[derive(Debug, Clone)]
pub struct LimitView {
    pub key: LimitKey,
    /// Set if the limit is for one tenant.
    pub tenant: Option<TenantId>,
    /// The effective numbers. If jobs carry different ones, the strictest of each.
    pub numbers: LimitNumbers,
    pub mixed: bool,
    pub on_limit: Option<OnLimit>,
    pub active: u64,
    /// Starts in the current window, and when there will be room again.
    pub started: Option<(u64, Option<Millis>)>,
    pub next_paced: Option<Millis>,
    /// Jobs that wait because the limit is reached.
    pub waiting: u64,
    pub paused_until: Option<Millis>,
    pub pause_reason: Option<String>,
    pub replaced: Option<(LimitNumbers, Millis)>,
    pub declared: Option<LimitNumbers>,
    /// Part of the declaration.
    pub feedback: Feedback,
    pub reason: Option<String>,
    /// Times that jobs began to wait, by [`LimitKind`], since the process began.
    pub exceeded: [u64; LimitKind::ALL.len()],
}

impl Engine {
    #[must_use]
    pub fn limit(&self, key: &LimitKey, tenant: Option<&TenantId>) -> Option<LimitView> {
        let partition = Partition { key: key.clone(), tenant: tenant.cloned() };
        self.scheduler.limits().find(&partition).map(|ix| self.limit_view(ix))
    }

    /// Pages through limits whose key begins with `prefix` and for which `wanted` is true: `take`
    /// of them after the first `skip`. Examines at most `most` limits.
    #[must_use]
    pub fn slice_of_limits(
        &self,
        after: Option<&LimitName>,
        prefix: &str,
        wanted: impl Fn(&LimitName) -> bool,
        (skip, take): (usize, usize),
        most: usize,
    ) -> LimitSlice {
        let mut slice = LimitSlice::default();
        for (looked_at, (ix, limit)) in self.limits_from(after, prefix).enumerate() {
            let name = LimitName::of(limit);
            if wanted(&name) {
                slice.found += 1;
                if slice.found > skip {
                    slice.items.push((name.clone(), self.limit_view(ix)));
                }
            }
            if slice.items.len() >= take || looked_at + 1 >= most {
                slice.stopped_at = Some(name);
                break;
            }
        }
        slice
    }

    /// The next limits whose key begins with `prefix`. Fewer than `most` means the end.
    #[must_use]
    pub fn limits_after(
        &self,
        after: Option<&LimitName>,
        prefix: &str,
        most: usize,
    ) -> Vec<LimitName> {
        let limits = self.limits_from(after, prefix).take(most);
        limits.map(|(_, limit)| LimitName::of(limit)).collect()
    }

    /// Metrics of the next limits. Fewer than `most` means the end.
    #[must_use]
    pub fn limit_meters(&self, after: Option<&LimitName>, most: usize) -> Vec<LimitMeter> {
        let meter = |(ix, limit): (LimitIx, &Limit)| LimitMeter {
            name: LimitName::of(limit),
            owner: self.key_owner(ix, limit).cloned(),
            configured: self.asker(self.key_owner(ix, limit)).configured,
            labelled: limit.partition.tenant.as_ref().is_some_and(|id| self.meters.has_label(id)),
            active: limit.active,
            waiting: self.waiting_for(ix),
            exceeded: self.limit_watch.times_exceeded(ix),
            waits: self.limit_watch.waits(ix),
        };
        self.limits_from(after, "").take(most).map(meter).collect()
    }

    /// The tenant that a key counts for: the one it belongs to, the one that declared it, or the
    /// first whose job used it.
    fn key_owner<'a>(&'a self, ix: LimitIx, limit: &'a Limit) -> Option<&'a TenantId> {
        let row = &limit.settings;
        let owner = limit.partition.tenant.as_ref().or(row.owner.as_ref());
        owner.or_else(|| self.limit_watch.first_tenant(ix).filter(|_| row.declared.is_none()))
    }

    fn limits_from<'a>(
        &'a self,
        after: Option<&LimitName>,
        prefix: &'a str,
    ) -> impl Iterator<Item = (LimitIx, &'a Limit)> {
        let after =
            after.map(|name| Partition { key: name.key.clone(), tenant: name.tenant.clone() });
        let following = after.map(|partition| self.scheduler.limits().after(partition));
        let first = following.is_none().then(|| self.scheduler.limits().from(prefix));
        let all = following.into_iter().flatten().chain(first.into_iter().flatten());
        all.take_while(move |(_, limit)| limit.partition.key.starts_with(prefix))
    }

    #[must_use]
    pub fn limit_count(&self) -> usize {
        self.scheduler.limits().len()
    }

    pub(crate) fn limit_view(&self, ix: LimitIx) -> LimitView {
        let (limit, wall, mono) =
            (self.scheduler.limits().limit(ix), self.wall(), self.scheduler.now().mono as i64);
        let of_jobs: Vec<LimitNumbers> =
            limit.gates.iter().map(|gate| self.scheduler.limits().gate(*gate).numbers).collect();
        let of_jobs: Vec<LimitNumbers> = of_jobs.into_iter().filter(|n| !n.is_empty()).collect();
        let mut mixed = of_jobs.windows(2).any(|two| two[0] != two[1]);
        let mut numbers = of_jobs.first().copied().unwrap_or_default();
        of_jobs.iter().for_each(|other| numbers = smallest(numbers, *other));
        let of_jobs = numbers;
        let numbers = limit.numbers(of_jobs, wall);
        // An override or declaration replaces the numbers of all jobs.
        mixed &= numbers == of_jobs && limit.settings.declared.is_none();
        let wall_time = |mono_at: i64| later(wall, mono_at.saturating_sub(mono).max(0) as u64);
        let pause = limit.settings.pause.as_ref().filter(|pause| pause.until > wall);
        LimitView {
            key: limit.partition.key.clone(),
            tenant: limit.partition.tenant.clone(),
            numbers,
            mixed,
            on_limit: limit
                .gates
                .iter()
                .find_map(|gate| self.scheduler.limits().gate(*gate).on_limit),
            active: limit.active,
            started: numbers.rate.map(|rate| {
                let (count, resets) = limit.count_in_period(rate, mono);
                (count, resets.map(wall_time))
            }),
            next_paced: numbers.throttle.map(|rate| limit.next_paced(rate).map_or(wall, wall_time)),
            waiting: self.waiting_for(ix),
            paused_until: pause.map(|pause| pause.until),
            pause_reason: pause.map(|pause| pause.reason.to_string()),
            replaced: limit
                .settings
                .replaced
                .filter(|other| other.expires > wall)
                .map(|other| (other.numbers, other.expires)),
            declared: limit.settings.declared,
            feedback: limit.settings.feedback,
            reason: limit.settings.reason.as_ref().map(|reason| reason.to_string()),
            exceeded: self.limit_watch.times_exceeded(ix),
        }
    }

    /// Jobs that wait because the limit is reached: jobs that name the key, and all jobs of the
    /// queue that a `queue:` key applies to.
    fn waiting_for(&self, ix: LimitIx) -> u64 {
        let limit = self.scheduler.limits().limit(ix);
        let named = limit.gates.iter().map(|gate| self.waiting_at(*gate)).sum();
        let queue = limit.partition.key.strip_prefix("queue:").and_then(|q| self.queues.find(q));
        let held = queue.filter(|ix| {
            self.scheduler.gate_of_queue(*ix).is_some_and(|gate| self.is_closed(gate))
        });
        let held = held.map(|ix| self.queues.get(ix));
        held.map_or(named, |queue| queue.count(State::Available).max(named))
    }

    fn is_closed(&self, gate: GateIx) -> bool {
        self.scheduler.limits().opening(gate, self.scheduler.now()).free == 0
    }

    fn waiting_at(&self, gate: GateIx) -> u64 {
        if self.is_closed(gate) { self.scheduler.limits().gate(gate).available } else { 0 }
    }
}

/// The stricter of each number.
fn smallest(a: LimitNumbers, b: LimitNumbers) -> LimitNumbers {
    fn least<T: Copy>(a: Option<T>, b: Option<T>, less: impl Fn(&T, &T) -> bool) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if less(&b, &a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
    let slower = |a: &Rate, b: &Rate| {
        u128::from(a.limit) * u128::from(b.period_ms)
            < u128::from(b.limit) * u128::from(a.period_ms)
    };
    LimitNumbers {
        concurrency: least(a.concurrency, b.concurrency, |a, b| a < b),
        rate: least(a.rate, b.rate, slower),
        throttle: least(a.throttle, b.throttle, slower),
    }
}
