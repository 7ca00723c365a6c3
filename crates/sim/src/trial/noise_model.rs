//! A model of when a tenant is noisy and how it is throttled.
//!
//! At most every five seconds, it checks the tenants that were active in the last minute, have active jobs,
//! or were noisy. Each is compared with all tenants that were active in the last minute; for backlogs and
//! active jobs also with those that have jobs. A signal that was not there at the last check starts a
//! throttle, unless one is in effect. The throttle lowers the weight to the configured fraction, and ends
//! after its time, when it is released, or with the tenant. If it would lower nothing, and for as long as a
//! throttle lasts after a release, only the event is sent.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::Noisy;
use rota_model::{Millis, Weight};

const EVERY_MS: u64 = 5_000;
/// The last minute is counted in slots of five seconds: the one under way and the twelve before.
const SLOT_MS: i64 = 5_000;
const SLOTS: i64 = 13;
/// Averages of parts differ by less than this, depending on the order in which they are added up.
const ROUNDING: f64 = 1e-9;

pub(super) struct Model {
    pub rules: Noisy,
    pub parties: Vec<Party>,
    next_look: u64,
}

/// What is usual among all tenants.
#[derive(Default, Clone, Copy)]
struct Usual {
    together: bool,
    enqueuing: usize,
    enqueued: f64,
    errors: f64,
    depth: f64,
}

#[derive(Default)]
pub(super) struct Party {
    pub weight: Weight,
    pub depth: u64,
    pub active: u64,
    pub throttle: Option<Throttle>,
    spared_until: Option<Millis>,
    /// It did something since the last look. Or it was noisy then, had active jobs, or had done
    /// something in the minute before.
    touched: bool,
    signals: BTreeSet<&'static str>,
    slots: BTreeMap<i64, Did>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Throttle {
    pub reason: &'static str,
    pub original: Weight,
    pub effective: Weight,
    pub since: Millis,
    pub until: Millis,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Did {
    pub enqueued: u64,
    pub completed: u64,
    pub failed: u64,
}

/// What must happen at a tick.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub begun: BTreeSet<(usize, &'static str)>,
    pub expired: BTreeSet<usize>,
}

impl Model {
    pub fn new(rules: Noisy, count: usize) -> Self {
        let parties = (0..count).map(|_| Party::default()).collect();
        Self { rules, parties, next_look: 0 }
    }

    pub fn did(&mut self, n: usize, wall: Millis, did: Did) {
        let party = &mut self.parties[n];
        let sum = party.slots.entry(wall.0.div_euclid(SLOT_MS)).or_default();
        sum.enqueued += did.enqueued;
        sum.completed += did.completed;
        sum.failed += did.failed;
        party.touched = true;
    }

    /// The tenant was deleted: neither what it did lately nor how loud it was is remembered.
    pub fn deleted(&mut self, n: usize) {
        let party = &mut self.parties[n];
        (party.weight, party.throttle) = (Weight::default(), None);
        party.spared_until = None;
        party.signals.clear();
        party.slots.clear();
    }

    /// A throttle lowers the weight that there is.
    pub fn weighs(&mut self, n: usize, weight: Weight) {
        let party = &mut self.parties[n];
        party.weight = weight;
        if let Some(throttle) = &mut party.throttle {
            (throttle.original, throttle.effective) = (weight, part(weight, self.rules.factor));
        }
    }

    pub fn released(&mut self, n: usize, wall: Millis) {
        let party = &mut self.parties[n];
        party.spared_until = Some(wall.saturating_add_ms(self.rules.throttle_ms as i64));
        party.throttle = None;
        party.signals.clear();
    }

    pub fn tick(&mut self, at: u64, wall: Millis) -> Outcome {
        let mut outcome = Outcome::default();
        let touched: Vec<usize> =
            (0..self.parties.len()).filter(|n| self.parties[*n].touched).collect();
        if at >= self.next_look && !touched.is_empty() {
            self.next_look = at + EVERY_MS;
            self.look(&touched, wall, &mut outcome);
        }
        for (n, party) in self.parties.iter_mut().enumerate() {
            if party.throttle.take_if(|throttle| throttle.until <= wall).is_some() {
                party.signals.clear();
                outcome.expired.insert(n);
            }
        }
        outcome
    }

    fn look(&mut self, touched: &[usize], wall: Millis, outcome: &mut Outcome) {
        let usual = self.usual(wall);
        let all: Vec<_> = touched.iter().map(|n| (*n, self.signals_of(*n, usual, wall))).collect();
        for (n, signals) in all {
            let rules = self.rules;
            let party = &mut self.parties[n];
            party.touched = !signals.is_empty() || party.active > 0 || party.acted_lately(wall);
            if party.spared_until.take_if(|until| *until <= wall).is_some() {
                party.signals.clear();
            }
            let first = ORDER
                .into_iter()
                .find(|name| signals.contains(name) && !party.signals.contains(name));
            party.signals = signals;
            let Some(reason) = first else { continue };
            if party.throttle.is_some_and(|throttle| throttle.until > wall) {
                continue;
            }
            if party.throttle.take().is_some() {
                party.signals.clear();
                outcome.expired.insert(n);
            }
            outcome.begun.insert((n, reason));
            if party.spared_until.is_some() {
                continue;
            }
            let (original, effective) = (party.weight, part(party.weight, rules.factor));
            if effective >= original {
                continue;
            }
            let until = wall.saturating_add_ms(rules.throttle_ms as i64);
            party.throttle = Some(Throttle { reason, original, effective, since: wall, until });
        }
    }

    fn usual(&self, wall: Millis) -> Usual {
        let present =
            |party: &&Party| party.depth > 0 || party.active > 0 || party.acted_lately(wall);
        let lately: Vec<Did> = self.parties.iter().map(|party| party.last_minute(wall)).collect();
        let enqueuing = lately.iter().filter(|did| did.enqueued > 0).count();
        let enqueued = lately.iter().map(|did| did.enqueued).sum::<u64>();
        let failing: Vec<f64> = lately.iter().filter_map(Did::error_rate).collect();
        Usual {
            together: self.parties.iter().filter(present).count() > 1,
            enqueuing,
            enqueued: enqueued as f64 / enqueuing.max(1) as f64,
            errors: failing.iter().sum::<f64>() / failing.len().max(1) as f64,
            depth: median(&self.waiting()),
        }
    }

    /// How many jobs wait for each tenant that has any, in order.
    fn waiting(&self) -> Vec<u64> {
        let depths = self.parties.iter().map(|party| party.depth);
        let mut waiting: Vec<u64> = depths.filter(|depth| *depth > 0).collect();
        waiting.sort_unstable();
        waiting
    }

    fn signals_of(&self, n: usize, usual: Usual, wall: Millis) -> BTreeSet<&'static str> {
        let (rules, party) = (self.rules, &self.parties[n]);
        let own = party.last_minute(wall);
        let mut signals = BTreeSet::new();
        let deep = party.depth >= rules.min_depth
            && party.depth as f64 > rules.depth_ratio * usual.depth * (1.0 + ROUNDING);
        signals.extend((self.waiting().len() > 1 && deep).then_some(ORDER[0]));
        let most = rules.rate_ratio * usual.enqueued * (1.0 + ROUNDING);
        let busy = own.enqueued >= rules.min_enqueued && own.enqueued as f64 > most;
        signals.extend((usual.enqueuing > 1 && busy).then_some(ORDER[1]));
        let active: u64 = self.parties.iter().map(|party| party.active).sum();
        let greedy =
            active >= rules.min_active && party.active as f64 > rules.active_share * active as f64;
        signals.extend((usual.together && greedy).then_some(ORDER[2]));
        let enough = own.completed + own.failed >= rules.min_executions;
        let most = rules.error_ratio * usual.errors * (1.0 + ROUNDING);
        let broken = own.error_rate().is_some_and(|rate| rate > most);
        signals.extend((enough && broken).then_some(ORDER[3]));
        signals
    }
}

impl Party {
    pub fn effective_weight(&self) -> Weight {
        self.throttle.map_or(self.weight, |throttle| throttle.effective)
    }

    fn in_last_minute(&self, wall: Millis) -> impl Iterator<Item = (&i64, &Did)> {
        self.slots.range(wall.0.div_euclid(SLOT_MS) - SLOTS + 1..)
    }

    /// It enqueued, started or ended something in the last minute.
    fn acted_lately(&self, wall: Millis) -> bool {
        self.in_last_minute(wall).next().is_some()
    }

    fn last_minute(&self, wall: Millis) -> Did {
        self.in_last_minute(wall).fold(Did::default(), |sum, (_, did)| Did {
            enqueued: sum.enqueued + did.enqueued,
            completed: sum.completed + did.completed,
            failed: sum.failed + did.failed,
        })
    }
}

impl Did {
    fn error_rate(&self) -> Option<f64> {
        let all = self.completed + self.failed;
        (all > 0).then(|| self.failed as f64 / all as f64)
    }
}

/// Of numbers in order; of two, the smaller.
fn median(sorted: &[u64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        2 => sorted[0] as f64,
        n if n % 2 == 1 => sorted[n / 2] as f64,
        n => (sorted[n / 2 - 1] + sorted[n / 2]) as f64 / 2.0,
    }
}

/// In hundredths, and never nothing.
fn part(weight: Weight, factor: f64) -> Weight {
    let hundredths = (weight.value() * 100.0).round();
    Weight::new((hundredths * factor).round().max(1.0) / 100.0).expect("a part of a weight is one")
}

pub(super) const ORDER: [&str; 4] = [
    "queue_depth_ratio_exceeded",
    "enqueue_rate_ratio_exceeded",
    "active_job_ratio_exceeded",
    "error_rate_exceeded",
];
