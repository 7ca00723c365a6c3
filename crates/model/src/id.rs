//! Job identifiers: the sequence number used inside Rota, and the UUIDv7 that clients see.

use std::fmt;

use crate::splitmix::mix;

/// A job's sequence number: its position in order of acceptance, and its key inside Rota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A job's public id: a UUIDv7, written in lower case with hyphens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(u128);

/// The text is not a UUIDv7 in lower case with hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a UUIDv7 in lower case with hyphens, such as 019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f"
)]
pub struct IdError;

/// The key that encrypts sequence numbers in ids, so that an id does not reveal how many jobs there
/// have been. Each data directory has its own.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct IdKey(pub u64);

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey")
    }
}

/// Bits of an id that hold the encrypted sequence number. The time and the remaining 26 random bits
/// make the ids of different servers distinct.
const SEALED_BITS: u32 = 48;
const SEALED: u64 = (1 << SEALED_BITS) - 1;
const TEXT_LEN: usize = 36;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const HEX: &[u8; 16] = b"0123456789abcdef";

impl JobId {
    /// Builds a UUIDv7 from a time and 74 of the random bits.
    #[must_use]
    pub fn v7(unix_ms: i64, random: u128) -> Self {
        let time = (u128::from(unix_ms.max(0) as u64) & 0xffff_ffff_ffff) << 80;
        let rand_a = (random >> 64) & 0xfff;
        let rand_b = random & 0x3fff_ffff_ffff_ffff;
        Self(time | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b)
    }

    /// Returns this id with an encrypted sequence number in it, so that the job can be found without
    /// an index.
    #[must_use]
    pub fn seal(self, key: IdKey, seq: Seq) -> Self {
        debug_assert!(seq.0 <= SEALED, "48 bits last for 89 years at 100,000 jobs per second");
        let rest = self.0 & !u128::from(SEALED);
        Self(rest | u128::from((seq.0 ^ mask(key, rest)) & SEALED))
    }

    /// Decrypts the sequence number. For an id that was not sealed with this key the result is
    /// arbitrary, so the caller must check that the job with this number has this id.
    #[must_use]
    pub fn unseal(self, key: IdKey) -> Seq {
        let rest = self.0 & !u128::from(SEALED);
        Seq((self.0 as u64 ^ mask(key, rest)) & SEALED)
    }

    /// Parses the canonical form only, so that every id has exactly one spelling.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let bytes = text.as_bytes();
        if bytes.len() != TEXT_LEN {
            return Err(IdError);
        }
        let mut value: u128 = 0;
        for (i, &b) in bytes.iter().enumerate() {
            if HYPHENS.contains(&i) {
                if b != b'-' {
                    return Err(IdError);
                }
                continue;
            }
            let digit = match b {
                b'0'..=b'9' => b - b'0',
                b'a'..=b'f' => b - b'a' + 10,
                _ => return Err(IdError),
            };
            value = value << 4 | u128::from(digit);
        }
        let version = (value >> 76) & 0xf;
        let variant = (value >> 62) & 0b11;
        if version == 7 && variant == 0b10 { Ok(Self(value)) } else { Err(IdError) }
    }

    /// Big-endian bytes, as stored.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Reads what [`JobId::to_bytes`] wrote.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Appends the 36 characters of the id.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut text = [b'-'; TEXT_LEN];
        let mut shift = 128;
        for (i, slot) in text.iter_mut().enumerate() {
            if HYPHENS.contains(&i) {
                continue;
            }
            shift -= 4;
            *slot = HEX[((self.0 >> shift) & 0xf) as usize];
        }
        out.extend_from_slice(&text);
    }
}

fn mask(key: IdKey, rest: u128) -> u64 {
    let half = mix((rest >> 64) as u64 ^ key.0);
    mix(half ^ rest as u64 ^ key.0.rotate_left(32))
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(TEXT_LEN);
        self.write(&mut text);
        f.write_str(std::str::from_utf8(&text).expect("an id is written in ASCII"))
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let text = "019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f";
        let id = JobId::parse(text).unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(JobId::from_bytes(id.to_bytes()), id);
    }

    #[test]
    fn generated_ids_are_version_seven_and_sort_by_time() {
        let early = JobId::v7(1_700_000_000_000, u128::MAX);
        let late = JobId::v7(1_700_000_000_001, 0);
        assert!(early < late);
        assert_eq!(JobId::parse(&early.to_string()), Ok(early));
    }

    #[test]
    fn only_the_key_unseals_an_id() {
        let key = IdKey(0x1234_5678_9abc_def0);
        for seq in [0, 1, 2, 1_000_000, SEALED] {
            let plain = JobId::v7(1_700_000_000_000, u128::from(seq) << 60 | 0x55);
            let sealed = plain.seal(key, Seq(seq));
            assert_eq!(JobId::parse(&sealed.to_string()), Ok(sealed));
            assert_eq!(sealed.unseal(key), Seq(seq));
            assert_ne!(sealed.unseal(IdKey(1)), Seq(seq));
            assert_eq!(sealed.0 >> SEALED_BITS, plain.0 >> SEALED_BITS);
        }
    }

    #[test]
    fn sealed_ids_of_the_same_millisecond_differ() {
        let plain = JobId::v7(1_700_000_000_000, 0);
        assert_ne!(plain.seal(IdKey(7), Seq(1)), plain.seal(IdKey(7), Seq(2)));
    }

    #[test]
    fn other_uuids_are_rejected() {
        for bad in [
            "",
            "not-a-uuid-at-all",
            "550e8400-e29b-41d4-a716-446655440000",
            "019461A8-1A2B-7C3D-8E4F-5A6B7C8D9E0F",
            "019461a8-1a2b-7c3d-ce4f-5a6b7c8d9e0f",
            "019461a81a2b7c3d8e4f5a6b7c8d9e0f0000",
        ] {
            assert_eq!(JobId::parse(bad), Err(IdError), "{bad}");
        }
    }
}
