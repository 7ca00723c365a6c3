//! An order by keys that grow elsewhere and are corrected late.

use std::collections::{BTreeMap, BTreeSet};

/// Orders positions by keys that never shrink. A key that has grown is noticed when its position comes
/// first, so that a change of a key need not visit the orders it is in.
#[derive(Default)]
pub(super) struct LateOrder<K> {
    order: BTreeSet<(K, u32)>,
    keys: BTreeMap<u32, K>,
}

impl<K: Ord + Copy> LateOrder<K> {
    pub fn insert(&mut self, position: u32, key: K) {
        self.remove(position);
        self.keys.insert(position, key);
        self.order.insert((key, position));
    }

    pub fn remove(&mut self, position: u32) {
        if let Some(key) = self.keys.remove(&position) {
            self.order.remove(&(key, position));
        }
    }

    pub fn clear(&mut self) {
        self.order.clear();
        self.keys.clear();
    }

    /// The position with the smallest key, if that key is `wanted`. `present` returns the current key
    /// of a position. If a key is not wanted, neither is any greater one.
    pub fn first(&mut self, wanted: impl Fn(K) -> bool, present: impl Fn(u32) -> K) -> Option<u32> {
        loop {
            let &(key, position) = self.order.first().filter(|(key, _)| wanted(*key))?;
            let now = present(position);
            if now <= key {
                return Some(position);
            }
            self.insert(position, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_has_grown_is_noticed_when_its_position_comes_first() {
        let mut order = LateOrder::default();
        let mut keys = [1, 2, 3];
        (0..).zip(keys).for_each(|(position, key)| order.insert(position, key));
        keys = [5, 4, 3];
        assert_eq!(order.first(|_| true, |position| keys[position as usize]), Some(2));
        order.remove(2);
        assert_eq!(order.first(|key| key < 4, |position| keys[position as usize]), None);
        assert_eq!(order.first(|key| key < 5, |position| keys[position as usize]), Some(1));
    }
}
