//! The text of an API key, `rota_<id>_<secret>`, its id and its hash.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Every key begins with this, so that scanners recognise leaked keys.
pub const KEY_PREFIX: &str = "rota_";

/// Random bytes for a new key: 10 for its id and 32 (256 bits) for its secret.
pub const RANDOM_BYTES: usize = ID_BYTES + SECRET_BYTES;

const ID_BYTES: usize = 10;
const SECRET_BYTES: usize = 32;
/// Lengths in base 32: 5 bits per character.
const ID_CHARS: usize = 16;
const SECRET_CHARS: usize = 52;

/// No 0, 1, l and o: people read keys to each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The public part of a key. It is safe to log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; ID_CHARS]);

impl KeyId {
    pub fn parse(text: &str) -> Option<Self> {
        let chars: [u8; ID_CHARS] = text.as_bytes().try_into().ok()?;
        chars.iter().all(|c| ALPHABET.contains(c)).then_some(Self(chars))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }

    /// Before all ids.
    #[must_use]
    pub fn first() -> Self {
        Self([ALPHABET[0].min(b'2'); ID_CHARS])
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not the id of a key"))
    }
}

/// A key as its holder has it. It is shown once, when it is created, and never stored or logged.
#[derive(Clone)]
pub struct KeyText {
    id: KeyId,
    text: String,
}

impl KeyText {
    /// A new key from bytes of a cryptographic random number generator.
    #[must_use]
    pub fn new(random: &[u8; RANDOM_BYTES]) -> Self {
        let (id, secret) = random.split_at(ID_BYTES);
        let (id, secret) = (base32(id), base32(secret));
        let text = format!("{KEY_PREFIX}{id}_{secret}");
        Self::parse(&text).expect("a new key has the form of a key")
    }

    pub fn parse(text: &str) -> Result<Self, KeyTextError> {
        let rest = text.strip_prefix(KEY_PREFIX).ok_or(KeyTextError)?;
        let (id, secret) = rest.split_once('_').ok_or(KeyTextError)?;
        let id = KeyId::parse(id).ok_or(KeyTextError)?;
        if secret.len() != SECRET_CHARS || !secret.bytes().all(|c| ALPHABET.contains(&c)) {
            return Err(KeyTextError);
        }
        Ok(Self { id, text: text.to_owned() })
    }

    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The whole key, for its holder.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.text.as_bytes()).into())
    }
}

/// Only the id, so that a key that gets into a log is not exposed.
impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}_...", self.id)
    }
}

/// The text is not that of a key. Says nothing of it, because it may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("does not have the form rota_<id of 16 characters>_<secret of 52 characters>")]
pub struct KeyTextError;

/// The SHA-256 of a whole key. A slow hash would add nothing: 256 random bits cannot be guessed.
#[derive(Clone, Copy)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Of no key: stands in for the hash of an unknown key, so that the comparison is done anyway.
    pub const OF_NO_KEY: Self = Self([0; 32]);

    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other)
    }
}

impl Eq for KeyHash {}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

impl Serialize for KeyHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&hex)
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("not a SHA-256 in hexadecimal");
        let mut bytes = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return Err(wrong());
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = &hex[index * 2..index * 2 + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(char::from(ALPHABET[(bits >> count & 31) as usize]));
        }
    }
    if count > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - count) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u8) -> [u8; RANDOM_BYTES] {
        std::array::from_fn(|index| (index as u8).wrapping_mul(31).wrapping_add(seed))
    }

    #[test]
    fn a_new_key_has_a_prefix_an_id_and_a_secret_of_256_bits() {
        let key = KeyText::new(&random(7));
        let parts: Vec<&str> = key.reveal().split('_').collect();
        assert_eq!(parts[0], "rota");
        assert_eq!(parts[1], key.id().as_str());
        assert_eq!(parts[2].len() * 5 / 8, 32);
        assert_eq!(KeyText::parse(key.reveal()).unwrap().hash(), key.hash());
    }

    #[test]
    fn every_random_bit_changes_the_key() {
        let key = KeyText::new(&random(7));
        for bit in 0..RANDOM_BYTES * 8 {
            let mut other = random(7);
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(KeyText::new(&other).reveal(), key.reveal(), "bit {bit}");
            assert!(!KeyText::new(&other).hash().matches(&key.hash()), "bit {bit}");
        }
    }

    #[test]
    fn other_texts_are_not_keys() {
        let key = KeyText::new(&random(1)).reveal().to_owned();
        let texts = [
            String::new(),
            "rota_".into(),
            key[..key.len() - 1].to_owned(),
            format!("{key}a"),
            key.replace("rota_", "ROTA_"),
            key.to_uppercase(),
            format!("{}0", &key[..key.len() - 1]),
            format!("{}é", &key[..key.len() - 2]),
        ];
        for text in texts {
            assert_eq!(KeyText::parse(&text).map(|_| ()), Err(KeyTextError), "{text}");
        }
    }

    #[test]
    fn secrets_and_hashes_are_not_in_debug_output() {
        let key = KeyText::new(&random(3));
        let secret = key.reveal().rsplit('_').next().unwrap();
        let shown = format!("{key:?} {:?} {KeyTextError}", key.hash());
        assert!(shown.contains(key.id().as_str()) && !shown.contains(secret), "{shown}");
    }

    #[test]
    fn ids_and_hashes_survive_json() {
        let key = KeyText::new(&random(9));
        let json = serde_json::to_string(&(key.id(), key.hash())).unwrap();
        assert_eq!(
            serde_json::from_str::<(KeyId, KeyHash)>(&json).unwrap(),
            (key.id(), key.hash())
        );
        assert!(serde_json::from_str::<KeyHash>(&format!("\"{}\"", "é".repeat(32))).is_err());
    }

    #[test]
    fn no_id_is_before_the_first() {
        assert!(ALPHABET.iter().all(|c| *c >= KeyId::first().0[0]));
    }
}
