//! A FIFO of sequence numbers and job sizes, at eight bytes per job.

use std::collections::VecDeque;

use rota_model::Seq;

use super::size::Size;

const SMALLEST: usize = 4;
const LARGEST: usize = 1024;

/// A job: its sequence number in the upper 48 bits, its size in the lower 16.
#[derive(Clone, Copy)]
struct Entry(u64);

const SIZE_BITS: u32 = 16;

impl Entry {
    fn new(seq: Seq, size: Size) -> Self {
        debug_assert!(seq.0 >> (64 - SIZE_BITS) == 0, "a job's number has 48 bits");
        Self(seq.0 << SIZE_BITS | u64::from(size.code()))
    }

    fn seq(self) -> Seq {
        Seq(self.0 >> SIZE_BITS)
    }

    fn size(self) -> Size {
        Size::from_code(self.0 as u16)
    }
}

/// Blocks of growing size: a short FIFO stays small, and a long one is never copied into a larger
/// buffer.
///
/// The first block is separate, because nearly every access is to it. It has entries that were not
/// taken, unless the FIFO is empty.
#[derive(Default)]
pub(crate) struct Fifo {
    first: Vec<Entry>,
    /// Number of entries taken from the first block.
    taken: usize,
    rest: VecDeque<Vec<Entry>>,
    len: usize,
}

impl Fifo {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a job whose number is greater than all others.
    pub fn push(&mut self, seq: Seq, size: Size) {
        debug_assert!(self.last().is_none_or(|last| last < seq), "a FIFO is in order");
        let last = self.rest.back_mut().unwrap_or(&mut self.first);
        if last.len() < last.capacity() {
            last.push(Entry::new(seq, size));
        } else {
            let mut block = Vec::with_capacity((self.len / 2).clamp(SMALLEST, LARGEST));
            block.push(Entry::new(seq, size));
            match self.len == 0 {
                true => self.first = block,
                false => self.rest.push_back(block),
            }
        }
        self.len += 1;
    }

    pub fn first(&self) -> Option<Seq> {
        self.first.get(self.taken).map(|entry| entry.seq())
    }

    pub fn last(&self) -> Option<Seq> {
        self.rest.back().unwrap_or(&self.first).last().map(|entry| entry.seq())
    }

    pub fn pop(&mut self) -> Option<(Seq, Size)> {
        let entry = *self.first.get(self.taken)?;
        self.taken += 1;
        self.len -= 1;
        if self.taken == self.first.len() {
            self.first = self.rest.pop_front().unwrap_or_default();
            self.taken = 0;
        }
        Some((entry.seq(), entry.size()))
    }

    /// The size of a job, if it is in the FIFO.
    pub fn find(&self, seq: Seq) -> Option<Size> {
        let after = self.rest.partition_point(|block| block[0].seq() <= seq);
        let entries = self.block(after);
        let found = entries.binary_search_by_key(&seq, |entry| entry.seq()).ok()?;
        Some(entries[found].size())
    }

    /// Number of jobs before this one.
    pub fn rank(&self, seq: Seq) -> usize {
        let last = self.rest.partition_point(|block| block[0].seq() < seq);
        let whole: usize = (0..last).map(|index| self.block(index).len()).sum();
        whole + self.block(last).partition_point(|entry| entry.seq() < seq)
    }

    /// Numbers greater than this one, ascending.
    pub fn after(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let first = self.rest.partition_point(|block| block[0].seq() <= seq);
        (first..=self.rest.len()).flat_map(move |index| {
            let entries = self.block(index);
            let from = entries.partition_point(|entry| entry.seq() <= seq);
            entries[from..].iter().map(|entry| entry.seq())
        })
    }

    /// Numbers smaller than this one, descending.
    pub fn before(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let last = self.rest.partition_point(|block| block[0].seq() < seq);
        (0..=last).rev().flat_map(move |index| {
            let entries = self.block(index);
            let to = entries.partition_point(|entry| entry.seq() < seq);
            entries[..to].iter().rev().map(|entry| entry.seq())
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = (Seq, Size)> {
        let entries = (0..=self.rest.len()).flat_map(|index| self.block(index));
        entries.map(|entry| (entry.seq(), entry.size()))
    }

    /// The entries of a block. Block 0 is the first, without the entries that were taken.
    fn block(&self, index: usize) -> &[Entry] {
        match index.checked_sub(1) {
            None => &self.first[self.taken..],
            Some(index) => &self.rest[index],
        }
    }
}

impl FromIterator<(Seq, Size)> for Fifo {
    fn from_iter<I: IntoIterator<Item = (Seq, Size)>>(jobs: I) -> Self {
        let mut fifo = Fifo::default();
        jobs.into_iter().for_each(|(seq, size)| fifo.push(seq, size));
        fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fifo(seqs: impl IntoIterator<Item = u64>) -> Fifo {
        seqs.into_iter().map(|n| (Seq(n), Size::of(n))).collect()
    }

    #[test]
    fn keeps_order_over_many_blocks() {
        let mut fifo = fifo((0..10_000).map(|n| n * 3));
        for n in 0..5_000 {
            assert_eq!(fifo.first(), Some(Seq(n * 3)));
            assert_eq!(fifo.pop(), Some((Seq(n * 3), Size::of(n * 3))));
        }
        assert_eq!(fifo.len(), 5_000);
        assert!(fifo.find(Seq(4_999 * 3)).is_none(), "taken");
        assert_eq!(fifo.find(Seq(5_000 * 3)), Some(Size::of(15_000)));
        assert!(fifo.find(Seq(9_999 * 3)).is_some());
        assert!(fifo.find(Seq(5_000 * 3 + 1)).is_none() && fifo.find(Seq(40_000)).is_none());
        assert_eq!(fifo.iter().count(), 5_000);
        assert_eq!(fifo.iter().last().map(|(seq, _)| seq), fifo.last());
        assert_eq!((fifo.rank(Seq(15_000)), fifo.rank(Seq(15_001))), (0, 1));
        assert_eq!((fifo.rank(Seq(29_997)), fifo.rank(Seq(90_000))), (4_999, 5_000));
        while fifo.pop().is_some() {}
        assert_eq!((fifo.len(), fifo.first(), fifo.pop()), (0, None, None));
        fifo.push(Seq(1), Size::of(7));
        assert_eq!(fifo.pop(), Some((Seq(1), Size::of(7))));
    }

    #[test]
    fn walks_from_anywhere_in_both_directions() {
        let mut fifo = fifo((0..3_000).map(|n| n * 2));
        for _ in 0..7 {
            fifo.pop();
        }
        for start in [0, 1, 13, 14, 15, 100, 2_047, 4_096, 5_998, 5_999, 9_000] {
            let all: Vec<Seq> = fifo.iter().map(|(seq, _)| seq).collect();
            let after: Vec<Seq> = fifo.after(Seq(start)).collect();
            let expected: Vec<Seq> = all.iter().copied().filter(|s| s.0 > start).collect();
            assert_eq!(after, expected, "after {start}");
            let before: Vec<Seq> = fifo.before(Seq(start)).collect();
            let expected: Vec<Seq> = all.iter().rev().copied().filter(|s| s.0 < start).collect();
            assert_eq!(before, expected, "before {start}");
        }
    }

    #[test]
    fn a_short_one_is_small_and_a_long_one_costs_eight_bytes_each() {
        let bytes = |fifo: &Fifo| {
            let blocks = fifo.rest.iter().chain([&fifo.first]);
            blocks.map(|block| block.capacity() * 8).sum::<usize>()
        };
        assert!(bytes(&fifo([1])) <= 64);
        assert!(bytes(&fifo(0..1_000_000)) < 8_100_000);
    }
}
