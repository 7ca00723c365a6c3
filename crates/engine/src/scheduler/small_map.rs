//! An ordered map or set that usually has at most one entry, which is stored inline instead of in a
//! tree.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

#[derive(Debug)]
pub(crate) enum SmallMap<K, V = ()> {
    One(Option<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self::One(None)
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        match self {
            Self::One(one) => usize::from(one.is_some()),
            Self::Many(many) => many.len(),
        }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::One(one) => one.as_ref().filter(|(k, _)| k == key).map(|(_, value)| value),
            Self::Many(many) => many.get(key),
        }
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::One(one) => one.as_mut().filter(|(k, _)| k == key).map(|(_, value)| value),
            Self::Many(many) => many.get_mut(key),
        }
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let (one, many) = match self {
            Self::One(one) => (one.as_mut(), None),
            Self::Many(many) => (None, Some(many.values_mut())),
        };
        one.map(|(_, value)| value).into_iter().chain(many.into_iter().flatten())
    }

    pub fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub fn first_entry(&self) -> Option<(&K, &V)> {
        match self {
            Self::One(one) => one.as_ref().map(|(key, value)| (key, value)),
            Self::Many(many) => many.first_key_value(),
        }
    }

    pub fn first(&self) -> Option<&K> {
        self.first_entry().map(|(key, _)| key)
    }

    pub fn last(&self) -> Option<&K> {
        match self {
            Self::One(one) => one.as_ref().map(|(key, _)| key),
            Self::Many(many) => many.last_key_value().map(|(key, _)| key),
        }
    }

    pub fn range(&self, range: impl RangeBounds<K>) -> impl Iterator<Item = (&K, &V)> {
        let (one, many) = match self {
            Self::One(one) => (one.as_ref().filter(|(k, _)| range.contains(k)), None),
            Self::Many(many) => (None, Some(many.range(range))),
        };
        one.map(|(key, value)| (key, value)).into_iter().chain(many.into_iter().flatten())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.range(..)
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Inserts a value and returns the old one.
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        self.make_room(&key);
        match self {
            Self::One(one) => one.replace((key, value)).map(|(_, old)| old),
            Self::Many(many) => many.insert(key, value),
        }
    }

    pub fn or_insert(&mut self, key: K, fresh: impl FnOnce() -> V) -> &mut V {
        self.make_room(&key);
        match self {
            Self::One(one) => &mut one.get_or_insert_with(|| (key, fresh())).1,
            Self::Many(many) => many.entry(key).or_insert_with(fresh),
        }
    }

    fn make_room(&mut self, key: &K) {
        if let Self::One(one) = self
            && let Some(other) = one.take_if(|(k, _)| k != key)
        {
            *self = Self::Many(BTreeMap::from([other]));
        }
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::One(one) => one.take_if(|(k, _)| k == key).map(|(_, value)| value),
            Self::Many(many) => {
                let removed = many.remove(key);
                if many.is_empty() {
                    *self = Self::One(None);
                }
                removed
            }
        }
    }
}

impl<K: Ord> SmallMap<K> {
    /// Inserts a key and returns whether it is new.
    pub fn insert(&mut self, key: K) -> bool {
        self.put(key, ()).is_none()
    }
}
