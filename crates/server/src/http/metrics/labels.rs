//! Labels for the keys of limits: the first ones have their own, the others share one.

use std::collections::HashMap;
use std::sync::Arc;

use rota_engine::{Asker, Cap, CapCounter, Capped, LimitMeter};
use rota_model::TenantId;

/// The label of all that have none of their own. No tenant, no queue and no key has this name.
pub(super) const OTHER: &str = "_other";

/// A key, and the tenant that it is counted for if that is one alone.
pub(super) type Key = (Arc<str>, Option<Arc<str>>);

pub(super) struct Keys {
    /// While a key exists it keeps its label: a series that comes and goes tells nothing.
    own: HashMap<Key, Labelled>,
    counter: CapCounter,
    /// The number of the scrape under way.
    scrape: u64,
}

/// A key with a label of its own.
struct Labelled {
    /// For whom it counts; `None` is an operator.
    owner: Option<TenantId>,
    /// The last scrape that came upon the key.
    seen: u64,
}

impl Keys {
    pub fn new(most: usize) -> Self {
        let counter = CapCounter::new(Capped::RateKeys, Cap::of_labels(most));
        Self { own: HashMap::new(), counter, scrape: 1 }
    }

    pub fn of(&mut self, meter: &LimitMeter) -> Key {
        let tenant = meter.name.tenant.as_deref();
        let tenant = tenant.map(|id| if meter.labelled { id } else { OTHER });
        let asker = Asker { tenant: meter.owner.as_ref(), configured: meter.configured };
        self.named(&meter.name.key, tenant, asker)
    }

    /// A scrape has come upon all keys: those that are gone give their labels back.
    pub fn end_scrape(&mut self) {
        let Self { own, counter, scrape } = self;
        own.retain(|_, labelled| {
            let exists = labelled.seen == *scrape;
            if !exists {
                counter.remove(labelled.owner.as_ref());
            }
            exists
        });
        *scrape += 1;
    }

    fn named(&mut self, key: &str, tenant: Option<&str>, asker: Asker<'_>) -> Key {
        let label: Key = (key.into(), tenant.map(Into::into));
        if let Some(labelled) = self.own.get_mut(&label) {
            labelled.seen = self.scrape;
            return label;
        }
        if self.counter.check(asker).is_err() {
            return (OTHER.into(), tenant.map(|_| OTHER.into()));
        }
        let owner = asker.tenant.cloned();
        self.counter.add(owner.as_ref());
        self.own.insert(label.clone(), Labelled { owner, seen: self.scrape });
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: &mut Keys, key: &str, tenant: Option<&str>, owner: Option<&str>) -> String {
        let owner = owner.map(|id| TenantId::parse(id).unwrap());
        let asker = Asker { tenant: owner.as_ref(), configured: false };
        let (key, tenant) = keys.named(key, tenant, asker);
        format!("{key} {}", tenant.as_deref().unwrap_or("-"))
    }

    #[test]
    fn the_first_keep_their_labels_and_the_rest_share_one() {
        let mut keys = Keys::new(2);
        let mut of = |key, tenant| of(&mut keys, key, tenant, None);
        assert_eq!([of("a", None), of("a", Some("t"))], ["a -", "a t"]);
        assert_eq!([of("b", None), of("a", Some("u"))], ["_other -", "_other _other"]);
        assert_eq!([of("a", Some("t")), of("a", None)], ["a t", "a -"]);
    }

    #[test]
    fn a_tenant_with_very_many_keys_leaves_labels_to_others() {
        let mut keys = Keys::new(100);
        let scrape = |keys: &mut Keys, many: std::ops::Range<usize>| {
            let all = many.map(|n| of(keys, &format!("k{n}"), None, Some("greedy")));
            let own = all.filter(|label| !label.starts_with(OTHER)).count();
            let late = ["x", "y"].map(|key| of(keys, key, None, Some("late")));
            keys.end_scrape();
            (own, late)
        };
        let late = || ["x -", "y -"].map(str::to_owned);
        assert_eq!(scrape(&mut keys, 0..10_000), (50, late()));
        // The same again; then the keys are gone and others have their labels.
        assert_eq!(scrape(&mut keys, 0..10_000), (50, late()));
        assert_eq!(scrape(&mut keys, 9_000..9_010), (0, late()));
        assert_eq!(scrape(&mut keys, 9_000..9_010), (10, late()));
    }
}
