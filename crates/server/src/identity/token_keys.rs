//! The keys that tokens are signed with. Each has one algorithm, whatever a token says.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use rota_identity::token::{TokenAlgorithm, TokenParts, TokenProblem};
use serde::Deserialize;
use serde_json::Value;

/// The most keys of one source.
const MAX_KEYS: usize = 100;
/// The most keys that are tried for a token without a key id.
const MAX_TRIES: usize = 16;
/// The length of a secret for HS256, in bytes.
const MIN_SECRET_BYTES: usize = 32;
/// The length of an uncompressed point on P-256, in bytes.
const P256_POINT_BYTES: usize = 65;

/// The keys of one or several sources.
#[derive(Clone, Default)]
pub struct TokenKeys(Vec<TokenKey>);

#[derive(Clone)]
struct TokenKey {
    id: Option<String>,
    algorithm: TokenAlgorithm,
    key: DecodingKey,
}

/// Why keys cannot be used. Completes a sentence that begins with their source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenKeysError {
    #[error(
        "has fewer than {MIN_SECRET_BYTES} bytes; HS256 needs a secret of at least 32 random bytes"
    )]
    ShortSecret,
    #[error(
        "has a key in PEM; a public key must never be the secret of HS256 (use auth.jwt_key_file)"
    )]
    SecretIsPem,
    #[error("has a private key; only public keys belong there")]
    PrivateKey,
    #[error("has no public key in PEM (RSA, P-256 or Ed25519)")]
    NoPem,
    #[error("is not a JSON Web Key Set")]
    NotJwks,
    #[error("has no key for RS256, ES256 or EdDSA")]
    NoKey,
    #[error("has more than {MAX_KEYS} keys")]
    TooMany,
}

impl TokenKeys {
    pub fn from_secret(bytes: &[u8]) -> Result<Self, TokenKeysError> {
        let secret = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
        if secret.windows(11).any(|part| part == b"-----BEGIN ") {
            return Err(TokenKeysError::SecretIsPem);
        }
        if secret.len() < MIN_SECRET_BYTES {
            return Err(TokenKeysError::ShortSecret);
        }
        let key = DecodingKey::from_secret(secret);
        Ok(Self(vec![TokenKey { id: None, algorithm: TokenAlgorithm::Hs256, key }]))
    }

    /// Any number of public keys in PEM, one after another.
    pub fn from_pem(text: &str) -> Result<Self, TokenKeysError> {
        const END: &str = "-----END PUBLIC KEY-----";
        if text.contains("PRIVATE KEY-----") {
            return Err(TokenKeysError::PrivateKey);
        }
        let blocks = text.split_inclusive(END).filter(|block| block.contains(END));
        let keys = blocks.map(|block| {
            let start = block.find("-----BEGIN PUBLIC KEY-----").ok_or(TokenKeysError::NoPem)?;
            key_of_pem(&block.as_bytes()[start..]).ok_or(TokenKeysError::NoPem)
        });
        let keys: Vec<TokenKey> = keys.collect::<Result<_, _>>()?;
        match keys.len() {
            0 => Err(TokenKeysError::NoPem),
            1..=MAX_KEYS => Ok(Self(keys)),
            _ => Err(TokenKeysError::TooMany),
        }
    }

    /// The usable keys of a set; others are for other services. Secrets are taken from files only.
    pub fn from_jwks(text: &str, secrets: bool) -> Result<Self, TokenKeysError> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_str(text).map_err(|_| TokenKeysError::NotJwks)?;
        if set.keys.len() > MAX_KEYS {
            return Err(TokenKeysError::TooMany);
        }
        // An empty set means what it says: no token is valid any more.
        let is_empty = set.keys.is_empty();
        let keys = set.keys.into_iter().filter_map(|key| key_of_jwk(key, secrets));
        let keys: Vec<TokenKey> = keys.collect();
        if keys.is_empty() && !is_empty { Err(TokenKeysError::NoKey) } else { Ok(Self(keys)) }
    }

    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks the signature of a token with the key that it names, by the algorithm of that key.
    pub fn verify(&self, parts: &TokenParts<'_>) -> Result<(), TokenProblem> {
        let named = |key: &&TokenKey| key.id.is_some() && key.id == parts.key_id;
        if parts.key_id.is_some() && self.0.iter().any(|key| named(&key)) {
            return try_keys(self.0.iter().filter(named), parts);
        }
        match &parts.key_id {
            // Keys in PEM and secrets have no id, so they are tried whatever the token names.
            Some(_) => try_keys(self.0.iter().filter(|key| key.id.is_none()), parts)
                .map_err(|_| TokenProblem::UnknownKey),
            None if self.0.is_empty() => Err(TokenProblem::UnknownKey),
            None => try_keys(self.0.iter(), parts),
        }
    }
}

fn try_keys<'k>(
    keys: impl Iterator<Item = &'k TokenKey>,
    parts: &TokenParts<'_>,
) -> Result<(), TokenProblem> {
    let mut problem = TokenProblem::Algorithm;
    for key in keys.filter(|key| key.algorithm == parts.algorithm).take(MAX_TRIES) {
        problem = TokenProblem::Signature;
        let algorithm = match key.algorithm {
            TokenAlgorithm::Hs256 => Algorithm::HS256,
            TokenAlgorithm::Rs256 => Algorithm::RS256,
            TokenAlgorithm::Es256 => Algorithm::ES256,
            TokenAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        let message = parts.message.as_bytes();
        if crypto::verify(parts.signature, message, &key.key, algorithm) == Ok(true) {
            return Ok(());
        }
    }
    Err(problem)
}

fn key_of_pem(pem: &[u8]) -> Option<TokenKey> {
    let with = |algorithm, key| Some(TokenKey { id: None, algorithm, key });
    if let Ok(key) = DecodingKey::from_rsa_pem(pem) {
        return with(TokenAlgorithm::Rs256, key);
    }
    if let Ok(key) = DecodingKey::from_ec_pem(pem) {
        let is_p256 = key.try_get_as_bytes().is_ok_and(|point| point.len() == P256_POINT_BYTES);
        return if is_p256 { with(TokenAlgorithm::Es256, key) } else { None };
    }
    with(TokenAlgorithm::EdDsa, DecodingKey::from_ed_pem(pem).ok()?)
}

fn key_of_jwk(value: Value, secrets: bool) -> Option<TokenKey> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let (algorithm, name) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (TokenAlgorithm::Rs256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (TokenAlgorithm::Es256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (TokenAlgorithm::EdDsa, KeyAlgorithm::EdDSA)
        }
        AlgorithmParameters::OctetKey(_) if secrets => (TokenAlgorithm::Hs256, KeyAlgorithm::HS256),
        _ => return None,
    };
    if jwk.common.key_algorithm.is_some_and(|given| given != name) {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let is_short = || key.try_get_as_bytes().is_ok_and(|secret| secret.len() < MIN_SECRET_BYTES);
    if algorithm == TokenAlgorithm::Hs256 && is_short() {
        return None;
    }
    Some(TokenKey { id: jwk.common.key_id, algorithm, key })
}
