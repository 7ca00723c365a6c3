//! The chain of hashes that makes changes to the audit log visible.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// SHA-256 of an entry and of all entries before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AuditHash([u8; 32]);

/// The text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a hash of 64 hexadecimal digits")]
pub struct BadAuditHash;

impl AuditHash {
    /// The hash of the entry that follows the one with this hash.
    #[must_use]
    pub fn followed_by(self, json: &[u8]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(json).finalize().into())
    }

    /// The hash as it is stored.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash from its stored form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadAuditHash> {
        bytes.try_into().map(Self).map_err(|_| BadAuditHash)
    }

    /// The hash from 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, BadAuditHash> {
        if text.len() != 64 {
            return Err(BadAuditHash);
        }
        let mut bytes = [0; 32];
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(BadAuditHash);
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = (digit(digits[0])? * 16 + digit(digits[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for AuditHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AuditHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

/// Where the log begins and ends. Stored apart from the entries, so that entries cannot be cut off at
/// either end unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// Number of the oldest entry that is kept; `next` if there is none.
    pub first: u64,
    /// Hash of the entry before `first`, which retention has deleted; zeros if there never was one.
    pub anchor: AuditHash,
    /// Number of the next entry.
    pub next: u64,
    /// Hash of the newest entry; the anchor if there is none.
    pub last: AuditHash,
}

impl AuditHead {
    /// The row's name among the settings.
    pub const ROW: &'static str = "audit_log";

    /// Number of entries that are kept.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.next - self.first
    }

    /// Whether no entry is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the numbers and hashes agree with each other.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.first >= 1 && self.first <= self.next && (!self.is_empty() || self.last == self.anchor)
    }
}

impl Default for AuditHead {
    fn default() -> Self {
        let none = AuditHash::default();
        Self { first: 1, anchor: none, next: 1, last: none }
    }
}

/// What is wrong with a log, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// The content does not have the stored hash.
    #[error("entry {0} was changed: its content does not have its hash")]
    Changed(u64),
    /// Entries are missing before this one.
    #[error("entry {expected} is missing: entry {found} follows instead")]
    Missing {
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// The log ends before the entry that it should end with.
    #[error("entry {0} is missing: the log ends before it")]
    CutOff(u64),
    /// The last entry is not the one that was written last.
    #[error("entry {0}, the last one, is not the one that was written")]
    OtherEnd(u64),
    /// The row that says where the log begins and ends makes no sense.
    #[error(
        "the record of where the log begins and ends is damaged, so entry {0} cannot be checked"
    )]
    NoHead(u64),
}

impl AuditFault {
    /// The number of the first entry that is not as it was written.
    #[must_use]
    pub fn entry(&self) -> u64 {
        match self {
            Self::Missing { expected, .. } => *expected,
            Self::Changed(number)
            | Self::CutOff(number)
            | Self::OtherEnd(number)
            | Self::NoHead(number) => *number,
        }
    }
}

/// A walk along the chain, from its oldest entry on.
#[derive(Debug, Clone, Copy)]
pub struct AuditWalk {
    next: u64,
    hash: AuditHash,
}

impl AuditWalk {
    /// Starts at the oldest entry.
    pub fn start(head: &AuditHead) -> Result<Self, AuditFault> {
        if !head.is_sound() {
            return Err(AuditFault::NoHead(head.first));
        }
        Ok(Self { next: head.first, hash: head.anchor })
    }

    /// The number that must come next.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The hash of the entry before.
    #[must_use]
    pub fn hash(&self) -> AuditHash {
        self.hash
    }

    /// Checks the next entry. `json` is its canonical JSON.
    pub fn step(&mut self, number: u64, json: &[u8], hash: AuditHash) -> Result<(), AuditFault> {
        if number != self.next {
            return Err(AuditFault::Missing { expected: self.next, found: number });
        }
        let computed = self.hash.followed_by(json);
        if computed != hash {
            return Err(AuditFault::Changed(number));
        }
        (self.next, self.hash) = (number + 1, computed);
        Ok(())
    }

    /// Checks that the walk has reached the end.
    pub fn finish(self, head: &AuditHead) -> Result<(), AuditFault> {
        if self.next < head.next {
            return Err(AuditFault::CutOff(self.next));
        }
        if self.next > head.next || self.hash != head.last {
            return Err(AuditFault::OtherEnd(self.next - 1));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = Vec<(u64, Vec<u8>, AuditHash)>;

    /// A log of three entries, the first of which has been deleted.
    fn log() -> (AuditHead, Rows) {
        let anchor = AuditHash::default().followed_by(b"1");
        let second = anchor.followed_by(b"2");
        let third = second.followed_by(b"3");
        let head = AuditHead { first: 2, anchor, next: 4, last: third };
        (head, vec![(2, b"2".to_vec(), second), (3, b"3".to_vec(), third)])
    }

    fn walk(head: &AuditHead, rows: &[(u64, Vec<u8>, AuditHash)]) -> Result<(), AuditFault> {
        let mut walk = AuditWalk::start(head)?;
        for (number, json, hash) in rows {
            walk.step(*number, json, *hash)?;
        }
        walk.finish(head)
    }

    #[test]
    fn an_intact_log_is_accepted_also_after_its_beginning_was_deleted() {
        let (head, rows) = log();
        assert_eq!(walk(&head, &rows), Ok(()));
        assert_eq!(walk(&AuditHead::default(), &[]), Ok(()));
    }

    #[test]
    fn each_kind_of_damage_is_named_with_its_entry() {
        let (head, rows) = log();
        let with = |change: &dyn Fn(&mut Rows)| {
            let mut rows = rows.clone();
            change(&mut rows);
            walk(&head, &rows).unwrap_err()
        };
        assert_eq!(with(&|rows| rows[0].1[0] = b'x'), AuditFault::Changed(2));
        assert_eq!(with(&|rows| rows[1].2 = rows[0].2), AuditFault::Changed(3));
        assert_eq!(
            with(&|rows| drop(rows.remove(0))),
            AuditFault::Missing { expected: 2, found: 3 }
        );
        assert_eq!(with(&|rows| drop(rows.pop())), AuditFault::CutOff(3));
        // Written again, with hashes that fit.
        let rewritten = |rows: &mut Rows| {
            rows[1] = (3, b"x".to_vec(), rows[0].2.followed_by(b"x"));
        };
        assert_eq!(with(&rewritten), AuditFault::OtherEnd(3));
        let longer = |rows: &mut Rows| {
            rows.push((4, b"4".to_vec(), rows[1].2.followed_by(b"4")));
        };
        assert_eq!(with(&longer), AuditFault::OtherEnd(4));
        let unsound = AuditHead { next: 1, ..head };
        assert_eq!(walk(&unsound, &rows), Err(AuditFault::NoHead(2)));
    }

    #[test]
    fn a_hash_is_written_and_read_as_hexadecimal_digits() {
        let hash = AuditHash::default().followed_by(b"abc");
        assert_eq!(AuditHash::parse(&hash.to_string()), Ok(hash));
        // SHA-256 of 32 zero bytes and "abc", computed with another tool.
        let expected = "365aa7d8f7f9402c4b9434502b4cc89ddb09fe50d7cd95b493b834c62d5a5370";
        assert_eq!(hash.to_string(), expected);
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65), &"+1".repeat(32)]
        {
            assert!(AuditHash::parse(bad).is_err(), "{bad}");
        }
    }
}
