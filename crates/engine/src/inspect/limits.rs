//! Looking at limits.

use rota_model::{LimitKey, LimitNumbers, Millis, OnLimit, Rate, TenantId};

use crate::command::later;
use crate::limit::{Limit, LimitIx, Partition};
use crate::{Engine, Strategy};

#[derive(Debug, Clone)]
pub struct LimitView {
    pub key: LimitKey,
    /// Counted for this tenant alone.
    pub tenant: Option<TenantId>,
    /// The numbers that hold jobs now, the smallest where jobs carry different ones.
    pub numbers: LimitNumbers,
    pub mixed: bool,
    pub on_limit: Option<OnLimit>,
    pub active: u64,
    /// Starts in the window, and when there will be room again.
    pub started: Option<(u64, Option<Millis>)>,
    pub next_paced: Option<Millis>,
    /// Jobs that wait because the limit is reached.
    pub waiting: u64,
    pub paused_until: Option<Millis>,
    pub pause_reason: Option<String>,
    pub replaced: Option<(LimitNumbers, Millis)>,
    pub declared: Option<LimitNumbers>,
    pub reason: Option<String>,
    /// By [`Strategy`], since the process began.
    pub exceeded: [u64; Strategy::ALL.len()],
}

impl Engine {
    #[must_use]
    pub fn limit(&self, key: &LimitKey, tenant: Option<&TenantId>) -> Option<LimitView> {
        let partition = Partition { key: key.clone(), tenant: tenant.cloned() };
        self.limits.find(&partition).map(|ix| self.limit_view(ix))
    }

    /// The partitions of a key, or of all keys with this beginning.
    #[must_use]
    pub fn limits(
        &self,
        prefix: &str,
        whole: bool,
        skip: usize,
        take: usize,
    ) -> (Vec<LimitView>, usize) {
        let meant = |limit: &Limit| match whole {
            true => *limit.partition.key == *prefix,
            false => limit.partition.key.starts_with(prefix),
        };
        let found: Vec<LimitIx> =
            self.limits.iter().filter(|(_, limit)| meant(limit)).map(|(ix, _)| ix).collect();
        let total = found.len();
        let page = found.into_iter().skip(skip).take(take).map(|ix| self.limit_view(ix));
        (page.collect(), total)
    }

    #[must_use]
    pub fn limit_count(&self) -> usize {
        self.limits.len()
    }

    pub(crate) fn limit_view(&self, ix: LimitIx) -> LimitView {
        let (limit, wall, mono) = (self.limits.limit(ix), self.wall(), self.now.mono as i64);
        let own: Vec<LimitNumbers> =
            limit.gates.iter().map(|gate| self.limits.gate(*gate).numbers).collect();
        let own: Vec<LimitNumbers> = own.into_iter().filter(|n| !n.is_empty()).collect();
        let mixed = own.windows(2).any(|two| two[0] != two[1]);
        let mut numbers = own.first().copied().unwrap_or_default();
        own.iter().for_each(|other| numbers = smallest(numbers, *other));
        let [first, second] = limit.numbers(numbers, wall);
        let numbers = smallest(first, second);
        let at = |mono_at: i64| later(wall, mono_at.saturating_sub(mono).max(0) as u64);
        let hold = limit.row.hold.as_ref().filter(|hold| hold.until > wall);
        let waiting = limit.gates.iter().map(|gate| self.waiting_at(*gate)).sum();
        LimitView {
            key: limit.partition.key.clone(),
            tenant: limit.partition.tenant.clone(),
            numbers,
            mixed,
            on_limit: limit.gates.iter().find_map(|gate| self.limits.gate(*gate).on_limit),
            active: limit.active,
            started: numbers.rate.map(|rate| {
                let (count, resets) = limit.look(rate, mono);
                (count, resets.map(at))
            }),
            next_paced: numbers.throttle.map(|rate| limit.next_paced(rate).map_or(wall, at)),
            waiting,
            paused_until: hold.map(|hold| hold.until),
            pause_reason: hold.map(|hold| hold.reason.to_string()),
            replaced: limit
                .row
                .replaced
                .filter(|other| other.expires > wall)
                .map(|other| (other.numbers, other.expires)),
            declared: limit.row.declared,
            reason: limit.row.reason.as_ref().map(|reason| reason.to_string()),
            exceeded: limit.exceeded,
        }
    }

    fn waiting_at(&self, gate: crate::limit::GateIx) -> u64 {
        let gate = self.limits.gate(gate);
        let (limit, now) = (self.limits.limit(gate.limit), self.now);
        if limit.is_closed(gate.numbers, now) { gate.available } else { 0 }
    }
}

/// What both allow.
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
