//! Hides the numbers in event ids from clients, because they count the events of all tenants.

use rota_model::{IdKey, Millis};
use twox_hash::XxHash3_64;

/// A permutation of 74 bits, the free ones of a UUIDv7, with the key of the data: a Feistel network. It
/// depends on the UUID's time too, so that nobody sees whether two ids have the same number.
pub(super) struct OpaqueNumbers {
    key: u64,
}

const HALF: u32 = 37;
const ROUNDS: u32 = 6;
/// The bits in a UUIDv7 before and behind the variant.
const HIGH: u128 = 0xfff;
const LOW: u128 = 0x3fff_ffff_ffff_ffff;
/// Larger numbers are none: nearly all ids that were made without the key are recognized by that.
const MAX: u128 = 1 << 45;

impl OpaqueNumbers {
    /// Another key follows from the one that seals job ids, so that the two tell nothing about each other.
    pub fn new(key: IdKey) -> Self {
        Self { key: XxHash3_64::oneshot_with_seed(key.0, b"numbers") }
    }

    /// The random bits of a UUIDv7, as `JobId::v7` takes them.
    pub fn hide(&self, number: u64, at: Millis) -> u128 {
        let (mut left, mut right) = halves(u128::from(number));
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.mix(round, at, right));
        }
        let hidden = join(left, right);
        hidden >> 62 << 64 | hidden & LOW
    }

    /// The number in a UUIDv7; `None` if none was hidden in it with this key.
    pub fn reveal(&self, uuid: u128) -> Option<u64> {
        let at = Millis((uuid >> 80) as i64);
        let (mut left, mut right) = halves((uuid >> 64 & HIGH) << 62 | uuid & LOW);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.mix(round, at, left), left);
        }
        let number = join(left, right);
        if number < MAX { u64::try_from(number).ok() } else { None }
    }

    fn mix(&self, round: u32, at: Millis, half: u64) -> u64 {
        let mut input = [0; 20];
        input[..8].copy_from_slice(&half.to_le_bytes());
        input[8..16].copy_from_slice(&at.0.to_le_bytes());
        input[16..].copy_from_slice(&round.to_le_bytes());
        XxHash3_64::oneshot_with_seed(self.key, &input) & half_mask()
    }
}

fn halves(value: u128) -> (u64, u64) {
    ((value >> HALF) as u64 & half_mask(), value as u64 & half_mask())
}

fn join(left: u64, right: u64) -> u128 {
    u128::from(left) << HALF | u128::from(right)
}

const fn half_mask() -> u64 {
    (1 << HALF) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_model::JobId;

    #[test]
    fn a_number_is_found_with_the_key_only() {
        let [ours, again, theirs] = [1, 1, 2].map(|key| OpaqueNumbers::new(IdKey(key)));
        for number in [0, 1, 2, 3, 1 << 20, (1 << 45) - 1] {
            let id = JobId::v7(7, ours.hide(number, Millis(7)));
            let uuid = u128::from_be_bytes(id.to_bytes());
            assert_eq!(again.reveal(uuid), Some(number));
            assert_eq!(theirs.reveal(uuid), None);
        }
    }

    #[test]
    fn numbers_that_follow_each_other_do_not_look_like_it() {
        let numbers = OpaqueNumbers::new(IdKey(3));
        let close = (0..1_000).filter(|&n| {
            let (a, b) = (numbers.hide(n, Millis(7)), numbers.hide(n + 1, Millis(7)));
            a.abs_diff(b) < 1 << 40
        });
        assert!(close.count() < 10);
        assert_ne!(numbers.hide(1, Millis(7)), numbers.hide(1, Millis(8)));
    }
}
