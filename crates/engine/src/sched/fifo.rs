//! A FIFO of sequence numbers that costs eight bytes for each, whatever its length.

use std::collections::VecDeque;

use rota_model::Seq;

const SMALLEST: usize = 4;
const LARGEST: usize = 1024;

/// Blocks of growing size: a short FIFO stays small, and a long one never copies what it holds nor
/// reserves a doubled buffer for it.
#[derive(Default)]
pub(crate) struct Fifo {
    blocks: VecDeque<Vec<u64>>,
    /// How much of the first block has been taken.
    taken: usize,
    len: usize,
}

impl Fifo {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a number greater than all before it.
    pub fn push(&mut self, seq: Seq) {
        debug_assert!(self.last().is_none_or(|last| last < seq), "a FIFO is in order");
        let full = self.blocks.back().is_none_or(|block| block.len() == block.capacity());
        if full {
            let size = (self.len / 2).clamp(SMALLEST, LARGEST);
            self.blocks.push_back(Vec::with_capacity(size));
        }
        self.blocks.back_mut().expect("a block was just made sure of").push(seq.0);
        self.len += 1;
    }

    pub fn first(&self) -> Option<Seq> {
        self.blocks.front().map(|block| Seq(block[self.taken]))
    }

    pub fn last(&self) -> Option<Seq> {
        self.blocks.back().and_then(|block| block.last()).map(|&seq| Seq(seq))
    }

    pub fn pop(&mut self) -> Option<Seq> {
        let block = self.blocks.front()?;
        let seq = Seq(block[self.taken]);
        self.taken += 1;
        self.len -= 1;
        if self.taken == block.len() {
            self.blocks.pop_front();
            self.taken = 0;
        }
        Some(seq)
    }

    pub fn contains(&self, seq: Seq) -> bool {
        let after = self.blocks.partition_point(|block| block[0] <= seq.0);
        let Some(index) = after.checked_sub(1) else {
            return false;
        };
        let from = if index == 0 { self.taken } else { 0 };
        self.blocks[index][from..].binary_search(&seq.0).is_ok()
    }

    /// Numbers behind this one, rising.
    pub fn after(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let block = self.blocks.partition_point(|block| block.last().is_none_or(|&l| l <= seq.0));
        let rest = self.blocks.range(block..).enumerate();
        rest.flat_map(move |(i, numbers)| {
            let taken = if block + i == 0 { self.taken } else { 0 };
            let from = numbers.partition_point(|&n| n <= seq.0).max(taken);
            numbers[from..].iter().map(|&n| Seq(n))
        })
    }

    /// Numbers before this one, falling.
    pub fn before(&self, seq: Seq) -> impl Iterator<Item = Seq> {
        let blocks = self.blocks.partition_point(|block| block[0] < seq.0);
        (0..blocks).rev().flat_map(move |i| {
            let numbers = &self.blocks[i];
            let taken = if i == 0 { self.taken } else { 0 };
            let to = numbers.partition_point(|&n| n < seq.0).max(taken);
            numbers[taken..to].iter().rev().map(|&n| Seq(n))
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Seq> {
        let numbers = self.blocks.iter().flatten().skip(self.taken);
        numbers.map(|&seq| Seq(seq))
    }
}

impl FromIterator<Seq> for Fifo {
    fn from_iter<I: IntoIterator<Item = Seq>>(seqs: I) -> Self {
        let mut fifo = Fifo::default();
        seqs.into_iter().for_each(|seq| fifo.push(seq));
        fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_over_many_blocks() {
        let mut fifo: Fifo = (0..10_000).map(|n| Seq(n * 3)).collect();
        for n in 0..5_000 {
            assert_eq!(fifo.first(), Some(Seq(n * 3)));
            assert_eq!(fifo.pop(), Some(Seq(n * 3)));
        }
        assert_eq!(fifo.len(), 5_000);
        assert!(!fifo.contains(Seq(4_999 * 3)), "taken");
        assert!(fifo.contains(Seq(5_000 * 3)) && fifo.contains(Seq(9_999 * 3)));
        assert!(!fifo.contains(Seq(5_000 * 3 + 1)) && !fifo.contains(Seq(40_000)));
        assert_eq!(fifo.iter().count(), 5_000);
        assert_eq!(fifo.iter().last(), fifo.last());
        while fifo.pop().is_some() {}
        assert_eq!((fifo.len(), fifo.first(), fifo.pop()), (0, None, None));
        fifo.push(Seq(1));
        assert_eq!(fifo.pop(), Some(Seq(1)));
    }

    #[test]
    fn walks_from_anywhere_in_both_directions() {
        let mut fifo: Fifo = (0..3_000).map(|n| Seq(n * 2)).collect();
        for _ in 0..7 {
            fifo.pop();
        }
        for start in [0, 1, 13, 14, 15, 100, 2_047, 4_096, 5_998, 5_999, 9_000] {
            let all: Vec<Seq> = fifo.iter().collect();
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
        let bytes = |fifo: &Fifo| fifo.blocks.iter().map(|b| b.capacity() * 8).sum::<usize>();
        let short: Fifo = [Seq(1)].into_iter().collect();
        assert!(bytes(&short) <= 64);
        let long: Fifo = (0..1_000_000).map(Seq).collect();
        assert!(bytes(&long) < 8_100_000);
    }
}
