//! Checks fairness between tenants: while two tenants both have jobs that can be served at one priority of one
//! account, their dispatches divided by their weights differ by at most one job of each.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{TenantId, Weight};

use super::accounts::Account;
use super::violation::{Check, Rule, ensure};

type Place = (Account, i32);

#[derive(Clone, Default)]
pub struct Turns {
    /// Pairs of tenants, the smaller name first, that have both had something since.
    pairs: BTreeMap<Place, BTreeMap<(TenantId, TenantId), Pair>>,
    /// Tenants that were served out of turn, and in turn not since: others catch up with them, who
    /// may know nothing of by how much.
    ahead: BTreeSet<(Place, TenantId)>,
}

#[derive(Clone, Copy, Default)]
struct Pair {
    /// What the first has got, less what the second has.
    lead: f64,
    /// One job of each.
    one: f64,
    /// The same, once more for each disturbance.
    slack: f64,
}

impl Pair {
    /// One of the pair, or somebody else, is served. How far that one is ahead then.
    fn serve(&mut self, a: &TenantId, b: &TenantId, served: &TenantId, weight: Weight) -> f64 {
        if a == served {
            self.lead += share(weight);
            self.lead
        } else if b == served {
            self.lead -= share(weight);
            -self.lead
        } else {
            0.0
        }
    }
}

impl Pair {
    /// Being far ahead, by what was taken out of turn, is not remembered for longer than that.
    fn disturb(&mut self) {
        self.lead = self.lead.clamp(-self.slack, self.slack);
        self.slack += self.one;
    }
}

const ROUNDING: f64 = 1e-6;

impl Turns {
    /// Who has something to be served at a level now, and with which weight.
    pub fn present(&mut self, place: Place, tenants: &BTreeMap<TenantId, Weight>) {
        if tenants.len() < 2 {
            self.pairs.remove(&place);
            return;
        }
        let ahead = &self.ahead;
        let level = place.clone();
        let in_line = |id: &&TenantId| !ahead.contains(&(level.clone(), (*id).clone()));
        let pairs = self.pairs.entry(place).or_default();
        pairs.retain(|(a, b), _| tenants.contains_key(a) && tenants.contains_key(b));
        let tenants: BTreeMap<TenantId, Weight> =
            tenants.iter().filter(|(id, _)| in_line(id)).map(|(id, w)| (id.clone(), *w)).collect();
        for (a, first) in &tenants {
            let behind = (std::ops::Bound::Excluded(a), std::ops::Bound::Unbounded);
            for (b, second) in tenants.range::<TenantId, _>(behind) {
                let one = share(*first) + share(*second);
                let pair = Pair { lead: 0.0, one, slack: one };
                pairs.entry((a.clone(), b.clone())).or_insert(pair);
            }
        }
    }

    /// Levels at which somebody had something.
    pub fn places(&self) -> Vec<Place> {
        self.pairs.keys().cloned().collect()
    }

    /// A job of this tenant was handed out, in its turn.
    pub fn served(&mut self, place: &Place, tenant: &TenantId, weight: Weight) -> Check {
        self.ahead.remove(&(place.clone(), tenant.clone()));
        self.serve(place, tenant, weight, |_| true)
    }

    /// A job of this tenant was handed out, and only these others could have had their turn instead.
    /// That may put it ahead of the rest by any number.
    pub fn served_among(
        &mut self,
        place: &Place,
        tenant: &TenantId,
        weight: Weight,
        rivals: &BTreeSet<TenantId>,
    ) -> Check {
        self.ahead.insert((place.clone(), tenant.clone()));
        self.serve(place, tenant, weight, |other| rivals.contains(other))
    }

    /// A job of this tenant was handed out to somebody who wanted only its jobs.
    /// That may put it ahead by any number; it is not its turn before the others have caught up.
    pub fn out_of_turn(&mut self, place: &Place, tenant: &TenantId, weight: Weight) {
        self.ahead.insert((place.clone(), tenant.clone()));
        for ((a, b), pair) in self.pairs.get_mut(place).into_iter().flatten() {
            pair.serve(a, b, tenant, weight);
        }
    }

    fn serve(
        &mut self,
        place: &Place,
        tenant: &TenantId,
        weight: Weight,
        is_rival: impl Fn(&TenantId) -> bool,
    ) -> Check {
        let Some(pairs) = self.pairs.get_mut(place) else { return Ok(()) };
        let rule = match place.0 {
            Account::Queue(_) => Rule::Fair,
            Account::Pool(_) | Account::Set(_) => Rule::FairAcross,
        };
        for ((a, b), pair) in pairs {
            let ahead = pair.serve(a, b, tenant, weight);
            let most = pair.slack;
            let other = if a == tenant { b } else { a };
            ensure(ahead <= most + ROUNDING || !is_rival(other), rule, || {
                format!("at {place:?} {tenant} of {a} and {b} is {ahead} ahead, not {most}")
            })?;
        }
        Ok(())
    }

    /// This tenant has another weight than before.
    pub fn disturbed(&mut self, tenant: &TenantId, new: Weight) {
        for ((a, b), pair) in self.pairs.values_mut().flatten() {
            if a == tenant || b == tenant {
                pair.one += share(new);
                pair.disturb();
            }
        }
    }

    /// The process began anew. Over several queues, who was far ahead still is.
    pub fn restarted(&mut self) {
        for ((account, _), pairs) in &mut self.pairs {
            for pair in pairs.values_mut() {
                match account {
                    Account::Queue(_) => pair.disturb(),
                    Account::Pool(_) | Account::Set(_) => pair.slack += pair.one,
                }
            }
        }
    }
}

fn share(weight: Weight) -> f64 {
    1.0 / weight.value()
}
