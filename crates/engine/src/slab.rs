//! Large tables by index, which grow by pages: entries never move, and at most one page is spare.

use std::ops::{Index, IndexMut};

const PAGE: usize = 256;

pub(crate) struct PagedVec<T>(Vec<Vec<T>>);

impl<T> Default for PagedVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PagedVec<T> {
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * PAGE + last.len())
    }

    pub fn push(&mut self, value: T) {
        match self.0.last_mut().filter(|last| last.len() < PAGE) {
            Some(last) => last.push(value),
            None => self.0.push(vec![value]),
        }
    }

    /// Replaces an entry, or appends if `index` is the length.
    pub fn put(&mut self, index: usize, value: T) {
        debug_assert!(index <= self.len(), "indexes are assigned in order");
        match index == self.len() {
            true => self.push(value),
            false => self[index] = value,
        }
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index / PAGE)?.get(index % PAGE)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().flatten()
    }
}

impl<T> Index<usize> for PagedVec<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.0[index / PAGE][index % PAGE]
    }
}

impl<T> IndexMut<usize> for PagedVec<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.0[index / PAGE][index % PAGE]
    }
}

/// A table whose free indexes are reused.
pub(crate) struct Slab<T> {
    all: PagedVec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { all: PagedVec::default(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn add(&mut self, value: T) -> u32 {
        let index = self.free.pop().unwrap_or(self.all.len() as u32);
        self.all.put(index as usize, Some(value));
        index
    }

    pub fn remove(&mut self, index: u32) {
        if self.all[index as usize].take().is_some() {
            self.free.push(index);
        }
    }

    pub fn contains(&self, index: u32) -> bool {
        self.all.get(index as usize).is_some_and(Option::is_some)
    }

    pub fn get(&self, index: u32) -> &T {
        self.all[index as usize].as_ref().expect("an index is used only while its entry exists")
    }

    pub fn get_mut(&mut self, index: u32) -> &mut T {
        self.all[index as usize].as_mut().expect("an index is used only while its entry exists")
    }

    /// One more than the highest index ever used.
    pub fn end(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.all.iter()).filter_map(|(index, value)| Some((index, value.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.0.iter_mut().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_reused() {
        let mut slab = Slab::default();
        let all: Vec<u32> = (0..1_000).map(|n| slab.add(n)).collect();
        assert_eq!(all, (0..1_000).collect::<Vec<u32>>());
        slab.remove(300);
        slab.remove(700);
        slab.remove(700);
        assert!(!slab.contains(300) && slab.contains(301) && !slab.contains(5_000));
        assert_eq!((slab.add(1), slab.add(2), slab.add(3)), (700, 300, 1_000));
        assert_eq!((*slab.get(700), *slab.get(999), slab.end()), (1, 999, 1_001));
        assert_eq!(slab.iter().count(), 1_001);
    }
}
