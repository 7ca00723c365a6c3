//! The record of an API key: everything about a key but the key itself.

use std::fmt;
use std::sync::Arc;

use rota_model::{JobType, Millis, QueueName, TenantId};
use serde::{Deserialize, Serialize};

use crate::{Identity, KeyHash, KeyId, Method, Permissions};

/// A key as it is stored. Tenant, permissions, queues and types never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    pub id: KeyId,
    pub hash: KeyHash,
    pub name: KeyName,
    /// `None` for an operator's key, which is one with [`crate::Permission::Server`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    pub permissions: Permissions,
    /// The only queues that it is for; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Arc<[QueueName]>>,
    /// The only types of jobs that it may add; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_types: Option<Arc<[JobType]>>,
    pub created: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Millis>,
    /// Accurate to a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Millis>,
    /// The key that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_from: Option<KeyId>,
    /// The key that replaces this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<KeyId>,
    /// The server made it at its first start, or it came from the configuration. Its record is kept for
    /// good, so that a revoked key does not come back with the next start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bootstrap: bool,
}

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyState {
    Active,
    Expired,
    Revoked,
}

impl KeyState {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    #[must_use]
    pub fn state(&self, now: Millis) -> KeyState {
        match (self.revoked, self.expires) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(expires)) if expires <= now => KeyState::Expired,
            (None, _) => KeyState::Active,
        }
    }

    /// When it was revoked or expires, whichever is first.
    #[must_use]
    pub fn ends(&self) -> Option<Millis> {
        match (self.revoked, self.expires) {
            (Some(revoked), Some(expires)) => Some(revoked.min(expires)),
            (revoked, expires) => revoked.or(expires),
        }
    }

    /// What its holder may do.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            method: Method::ApiKey,
            subject: self.id.as_str().into(),
            tenant: self.tenant.clone(),
            permissions: self.permissions,
            queues: self.queues.clone(),
            job_types: self.job_types.clone(),
            expires: self.expires,
        }
    }
}

/// What people call a key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyName(Arc<str>);

impl KeyName {
    const MAX_CHARS: usize = 100;

    pub fn parse(text: &str) -> Result<Self, KeyNameError> {
        let length = text.chars().count();
        let is_blank = text.trim() != text || length == 0;
        if is_blank || length > Self::MAX_CHARS || text.chars().any(char::is_control) {
            return Err(KeyNameError);
        }
        Ok(Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// The message completes a sentence that begins with the field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 100 characters on one line, without spaces at its ends")]
pub struct KeyNameError;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyText, Permission, RANDOM_BYTES};

    fn key() -> ApiKey {
        let text = KeyText::new(&[5; RANDOM_BYTES]);
        ApiKey {
            id: text.id(),
            hash: text.hash(),
            name: KeyName::parse("orders").unwrap(),
            tenant: Some(TenantId::parse("acme").unwrap()),
            permissions: [Permission::Enqueue].into_iter().collect(),
            queues: Some([QueueName::parse("mail").unwrap()].into()),
            job_types: None,
            created: Millis(1_000),
            expires: Some(Millis(5_000)),
            revoked: None,
            last_used: None,
            rotated_from: None,
            successor: None,
            bootstrap: false,
        }
    }

    #[test]
    fn a_key_ends_when_it_expires_or_is_revoked() {
        let mut key = key();
        assert_eq!(key.state(Millis(4_999)), KeyState::Active);
        assert_eq!(key.state(Millis(5_000)), KeyState::Expired);
        key.revoked = Some(Millis(3_000));
        assert_eq!(key.state(Millis(2_000)), KeyState::Revoked);
        assert_eq!(key.ends(), Some(Millis(3_000)));
    }

    #[test]
    fn a_record_survives_json_and_does_not_contain_the_key() {
        let json = serde_json::to_string(&key()).unwrap();
        assert_eq!(serde_json::from_str::<ApiKey>(&json).unwrap(), key());
        let text = KeyText::new(&[5; RANDOM_BYTES]);
        assert!(!json.contains(text.reveal().rsplit('_').next().unwrap()));
        assert!(json.contains("\"permissions\":\"enqueue\""), "{json}");
    }

    #[test]
    fn names_are_short_and_on_one_line() {
        assert!(KeyName::parse("Orders (EU)").is_ok());
        for text in ["", " a", "a ", "a\nb", &"a".repeat(101)] {
            assert_eq!(KeyName::parse(text), Err(KeyNameError), "{text:?}");
        }
    }
}
