//! Tokens that were verified, so that each is verified once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ahash::RandomState;
use rota_identity::Identity;
use rota_model::Millis;
use sha2::{Digest, Sha256};

/// The most tokens that are remembered; the oldest are forgotten first.
const MOST: usize = 10_000;

/// By the SHA-256 of a token, so that no token is kept.
pub(super) type TokenDigest = [u8; 32];

#[derive(Default)]
pub(super) struct VerifiedTokens {
    identities: HashMap<TokenDigest, Arc<Identity>, RandomState>,
    in_order: VecDeque<TokenDigest>,
}

impl VerifiedTokens {
    pub fn digest(token: &str) -> TokenDigest {
        Sha256::digest(token.as_bytes()).into()
    }

    /// The identity that a token proves, unless it has expired.
    pub fn get(&self, digest: &TokenDigest, now: Millis) -> Option<Arc<Identity>> {
        let identity = self.identities.get(digest)?;
        identity.expires.is_some_and(|end| end > now).then(|| identity.clone())
    }

    pub fn insert(&mut self, digest: TokenDigest, identity: Arc<Identity>) {
        if self.identities.insert(digest, identity).is_none() {
            self.in_order.push_back(digest);
        }
        if self.in_order.len() > MOST
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.identities.remove(&oldest);
        }
    }

    pub fn clear(&mut self) {
        self.identities.clear();
        self.in_order.clear();
    }
}

#[cfg(test)]
mod tests {
    use rota_identity::{Method, Permissions};

    use super::*;

    fn identity(expires: i64) -> Arc<Identity> {
        Arc::new(Identity {
            method: Method::Token,
            subject: "a".into(),
            tenant: None,
            permissions: Permissions::of_operator(),
            queues: None,
            job_types: None,
            expires: Some(Millis(expires)),
        })
    }

    #[test]
    fn tokens_are_remembered_until_they_expire_and_the_oldest_are_forgotten() {
        let mut tokens = VerifiedTokens::default();
        let digest = |number: usize| VerifiedTokens::digest(&number.to_string());
        for number in 0..MOST + 5 {
            tokens.insert(digest(number), identity(100));
        }
        assert_eq!(tokens.identities.len(), MOST);
        assert!(tokens.get(&digest(4), Millis(1)).is_none());
        assert!(tokens.get(&digest(5), Millis(99)).is_some());
        assert!(tokens.get(&digest(5), Millis(100)).is_none());
        tokens.clear();
        assert!(tokens.get(&digest(5), Millis(1)).is_none());
    }
}
