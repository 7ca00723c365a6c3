//! Counts of the recent past, by slots of equal length.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counts that can be added up.
pub(crate) trait Sum: Default + Copy {
    fn add(&mut self, other: Self);
}

impl Sum for i64 {
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

/// Counts by slot number: the current slot and those before it, `SLOTS` in all. Stored as a list of
/// slots, oldest first.
///
/// The latest slot is stored inline, because nearly every count is for it. Others take memory only
/// if something was counted in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Recent<T, const SLOTS: u32> {
    latest: Option<(u32, T)>,
    past: Vec<(u32, T)>,
}

impl<T: Sum, const SLOTS: u32> Recent<T, SLOTS> {
    pub fn add(&mut self, slot: u32, counts: T) {
        match &mut self.latest {
            Some((latest, sum)) if *latest == slot => sum.add(counts),
            Some((latest, _)) if *latest > slot => self.add_to_past(slot, counts),
            latest => {
                if let Some(before) = latest.replace((slot, counts)) {
                    self.past.retain(|(past, _)| past + SLOTS > slot);
                    self.past.reserve_exact(1);
                    self.past.push(before);
                }
            }
        }
    }

    fn add_to_past(&mut self, slot: u32, counts: T) {
        match self.past.binary_search_by_key(&slot, |past| past.0) {
            Ok(index) => self.past[index].1.add(counts),
            Err(index) => self.past.insert(index, (slot, counts)),
        }
    }

    /// The sum over this slot and the `SLOTS - 1` before it.
    pub fn sum(&self, slot: u32) -> T {
        let mut sum = T::default();
        let recent = self.slots().filter(|(past, _)| past + SLOTS > slot);
        recent.for_each(|(_, counts)| sum.add(counts));
        sum
    }

    /// Drops slots that [`Recent::sum`] would leave out, and frees the memory if none is left.
    pub fn trim(&mut self, slot: u32) {
        self.past.retain(|(past, _)| past + SLOTS > slot);
        self.latest.take_if(|(latest, _)| *latest + SLOTS <= slot);
        if self.past.is_empty() {
            self.past = Vec::new();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.latest.is_none() && self.past.is_empty()
    }

    /// Slots and their counts, oldest first.
    pub fn slots(&self) -> impl Iterator<Item = (u32, T)> {
        self.past.iter().copied().chain(self.latest)
    }
}

impl<T: Sum + Serialize, const SLOTS: u32> Serialize for Recent<T, SLOTS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.slots())
    }
}

impl<'de, T: Sum + Deserialize<'de>, const SLOTS: u32> Deserialize<'de> for Recent<T, SLOTS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut past = Vec::<(u32, T)>::deserialize(deserializer)?;
        let latest = past.pop();
        Ok(Self { latest, past })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(counts: &Recent<i64, 13>) -> Vec<(u32, i64)> {
        counts.slots().collect()
    }

    #[test]
    fn slots_may_be_added_in_any_order_and_give_their_memory_back() {
        let mut counts = Recent::<i64, 13>::default();
        for slot in [103, 101, 102, 101] {
            counts.add(slot, 1);
        }
        assert_eq!(slots(&counts), [(101, 2), (102, 1), (103, 1)]);
        counts.trim(114);
        assert_eq!(slots(&counts), [(102, 1), (103, 1)]);
        counts.trim(116);
        assert!(counts.is_empty() && counts.past.capacity() == 0);
    }

    #[test]
    fn no_more_slots_are_kept_than_are_summed() {
        let mut counts = Recent::<i64, 13>::default();
        for slot in 0..100 {
            counts.add(slot, 1);
            assert_eq!(counts.sum(slot), i64::from(slot + 1).min(13));
            assert!(slots(&counts).len() <= 13);
        }
        assert_eq!((counts.sum(105), counts.sum(112)), (7, 0));
    }

    #[test]
    fn they_are_written_as_a_list() {
        let mut counts = Recent::<i64, 13>::default();
        assert_eq!(serde_json::to_string(&counts).unwrap(), "[]");
        counts.add(7, 2);
        counts.add(9, 1);
        let json = serde_json::to_string(&counts).unwrap();
        assert_eq!(json, "[[7,2],[9,1]]");
        assert_eq!(serde_json::from_str::<Recent<i64, 13>>(&json).unwrap(), counts);
        assert!(serde_json::from_str::<Recent<i64, 13>>("[]").unwrap().is_empty());
    }
}
