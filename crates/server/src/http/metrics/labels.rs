//! Keys of limits as labels: as many as are allowed have their own, the first come first.

use std::collections::HashSet;
use std::sync::Arc;

use rota_engine::LimitMeter;

/// The label of all that have none of their own. No tenant, no queue and no key has this name.
pub(super) const OTHER: &str = "_other";

/// A key, and the tenant that it is counted for if that is one alone.
pub(super) type Key = (Arc<str>, Option<Arc<str>>);

pub(super) struct Keys {
    /// Once a key has its label it keeps it: a series that comes and goes tells nothing.
    own: HashSet<Key>,
    most: usize,
}

impl Keys {
    pub fn new(most: usize) -> Self {
        Self { own: HashSet::new(), most }
    }

    pub fn of(&mut self, meter: &LimitMeter) -> Key {
        let tenant = meter.name.tenant.as_deref();
        let tenant = tenant.map(|id| if meter.labelled { id } else { OTHER });
        self.named(&meter.name.key, tenant)
    }

    fn named(&mut self, key: &str, tenant: Option<&str>) -> Key {
        let label: Key = (key.into(), tenant.map(Into::into));
        if self.own.contains(&label) {
            return label;
        }
        if self.own.len() >= self.most {
            return (OTHER.into(), tenant.map(|_| OTHER.into()));
        }
        self.own.insert(label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keep_their_labels_and_the_rest_share_one() {
        let mut keys = Keys::new(2);
        let mut of = |key, tenant| {
            let (key, tenant) = keys.named(key, tenant);
            format!("{key} {}", tenant.as_deref().unwrap_or("-"))
        };
        assert_eq!([of("a", None), of("a", Some("t"))], ["a -", "a t"]);
        assert_eq!([of("b", None), of("a", Some("u"))], ["_other -", "_other _other"]);
        assert_eq!([of("a", Some("t")), of("a", None)], ["a t", "a -"]);
    }
}
