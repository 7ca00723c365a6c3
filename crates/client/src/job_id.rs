//! Ids that clients give to jobs.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A UUIDv7: the time in milliseconds, then random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobId(u128);

const VERSION: u128 = 0x7 << 76;
const VARIANT: u128 = 0b10 << 62;
/// The length of an id as text, and where its dashes are.
const LENGTH: usize = 36;
const DASHES: [usize; 4] = [8, 13, 18, 23];
/// The random bits: all but the time, the version and the variant.
const RANDOM: u128 = 0xfff << 64 | 0x3fff_ffff_ffff_ffff;

impl JobId {
    /// A new id with the present time.
    #[must_use]
    pub fn now() -> Self {
        Self::at(SystemTime::now())
    }

    /// A new id with this time.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let time = (since.as_millis() & 0xffff_ffff_ffff) << 80;
        Self(time | VERSION | VARIANT | fastrand::u128(..) & RANDOM)
    }

    /// Reads an id in its usual form: 36 characters, lower case, version 7.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text: &[u8; LENGTH] = text.as_bytes().try_into().ok()?;
        let mut bits = 0;
        for (at, byte) in text.iter().enumerate() {
            let digit = match byte {
                b'-' if DASHES.contains(&at) => continue,
                _ if DASHES.contains(&at) => return None,
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            bits = bits << 4 | u128::from(digit);
        }
        let is_v7 = bits & 0xf << 76 == VERSION && bits & 0b11 << 62 == VARIANT;
        is_v7.then_some(Self(bits))
    }

    /// A number that belongs to the id and is otherwise random.
    #[must_use]
    pub fn draw(self) -> u64 {
        (self.0 & 0x3fff_ffff_ffff_ffff) as u64
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; LENGTH];
        let mut left = self.0;
        for (at, byte) in text.iter_mut().enumerate().rev() {
            if !DASHES.contains(&at) {
                *byte = DIGITS[(left & 0xf) as usize];
                left >>= 4;
            }
        }
        f.pad(std::str::from_utf8(&text).expect("digits and dashes are ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_version_7_with_the_time_in_front() {
        let id = JobId::at(UNIX_EPOCH + Duration::from_millis(0x0123_4567_89ab));
        let text = id.to_string();
        assert!(text.starts_with("01234567-89ab-7"), "{text}");
        assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
        assert_eq!(JobId::parse(&text), Some(id));
        assert_ne!(JobId::now(), JobId::now());
    }

    #[test]
    fn other_texts_are_not_ids() {
        let id = JobId::now().to_string();
        for text in ["", "x", &id[1..], &id.to_uppercase(), &id.replace('-', "")] {
            assert_eq!(JobId::parse(text), None, "{text}");
        }
        assert_eq!(JobId::parse("01234567-89ab-4000-8000-000000000000"), None);
    }
}
