//! Lists of very many things that are found by number. They grow by pages, so that none is moved and
//! no more than a page is spare.

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

    pub fn push(&mut self, one: T) {
        match self.0.last_mut().filter(|last| last.len() < PAGE) {
            Some(last) => last.push(one),
            None => self.0.push(vec![one]),
        }
    }

    /// Puts it where another was, or behind all others.
    pub fn put(&mut self, index: usize, one: T) {
        debug_assert!(index <= self.len(), "numbers are given in order");
        match index == self.len() {
            true => self.push(one),
            false => self[index] = one,
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

/// Things with numbers that are used again when they are gone.
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
    pub fn add(&mut self, one: T) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        self.all.put(number as usize, Some(one));
        number
    }

    pub fn remove(&mut self, number: u32) {
        if self.all[number as usize].take().is_some() {
            self.free.push(number);
        }
    }

    pub fn contains(&self, number: u32) -> bool {
        self.all.get(number as usize).is_some_and(Option::is_some)
    }

    pub fn get(&self, number: u32) -> &T {
        self.all[number as usize].as_ref().expect("a number is used while its thing is there")
    }

    pub fn get_mut(&mut self, number: u32) -> &mut T {
        self.all[number as usize].as_mut().expect("a number is used while its thing is there")
    }

    /// One more than the highest number that was ever given.
    pub fn end(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.all.iter()).filter_map(|(number, one)| Some((number, one.as_ref()?)))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.0.iter_mut().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slots = Slab::default();
        let all: Vec<u32> = (0..1_000).map(|n| slots.add(n)).collect();
        assert_eq!(all, (0..1_000).collect::<Vec<u32>>());
        slots.remove(300);
        slots.remove(700);
        slots.remove(700);
        assert!(!slots.contains(300) && slots.contains(301) && !slots.contains(5_000));
        assert_eq!((slots.add(1), slots.add(2), slots.add(3)), (700, 300, 1_000));
        assert_eq!((*slots.get(700), *slots.get(999), slots.end()), (1, 999, 1_001));
        assert_eq!(slots.iter().count(), 1_001);
    }
}
