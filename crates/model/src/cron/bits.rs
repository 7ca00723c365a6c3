//! A bit set of the values of one field, or of the days of one month.

use std::ops::{BitAnd, BitOr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits(u64);

impl Bits {
    pub fn single(value: u8) -> Bits {
        Bits(1 << value)
    }

    pub fn insert(&mut self, value: u8) {
        *self = *self | Bits::single(value);
    }

    pub fn contains(self, value: u8) -> bool {
        self & Bits::single(value) != Bits::default()
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn first(self) -> Option<u8> {
        self.first_from(0)
    }

    /// The smallest member that is at least `floor`.
    pub fn first_from(self, floor: u8) -> Option<u8> {
        let left = self.0.checked_shr(u32::from(floor)).unwrap_or(0);
        (left != 0).then(|| floor + left.trailing_zeros() as u8)
    }
}

impl BitAnd for Bits {
    type Output = Bits;

    fn bitand(self, other: Bits) -> Bits {
        Bits(self.0 & other.0)
    }
}

impl BitOr for Bits {
    type Output = Bits;

    fn bitor(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }
}

impl FromIterator<u8> for Bits {
    fn from_iter<I: IntoIterator<Item = u8>>(values: I) -> Bits {
        values.into_iter().fold(Bits::default(), |bits, value| bits | Bits::single(value))
    }
}
