//! API keys, on behalf of the caller.

use rota_engine::{Command, Reply, RotateKey};
use rota_identity::{ApiKey, KeyId};
use rota_model::{Millis, TenantId};

use super::{Access, Grantor, View};
use crate::http::error::ApiError;

impl Access {
    /// What the caller may give away.
    pub(in crate::http) fn grantor(&self) -> Grantor {
        Grantor::of(&self.caller)
    }

    /// The key, unless it is another tenant's. The owner of a key never changes, so what is done to it
    /// later is done on behalf of the same tenant.
    pub(in crate::http) async fn key(&self, name: &str) -> Result<ApiKey, ApiError> {
        // What is not an id may be a whole key, which must not be repeated.
        let id = KeyId::parse(name).ok_or_else(|| ApiError::not_found("key", "?"))?;
        let key = self.look(move |view| view.key(&id)).await?;
        key.ok_or_else(|| ApiError::not_found("key", name))
    }

    /// When a key was last used, including uses that are not written yet.
    pub(in crate::http) fn key_last_used(&self, key: &ApiKey) -> Option<Millis> {
        self.app.handle.keys().last_used(&key.id).max(key.last_used)
    }

    pub(in crate::http) async fn create_key(&self, key: ApiKey) -> Result<Reply, ApiError> {
        self.grantor().check_may_hold(&key)?;
        self.reply(Command::CreateKey(Box::new(key))).await
    }

    /// The caller gets the new key, so it must have the rights of the old one.
    pub(in crate::http) async fn rotate_key(
        &self,
        name: &str,
        rotate: impl FnOnce(KeyId) -> RotateKey,
    ) -> Result<Reply, ApiError> {
        let grantor = self.grantor();
        let old = self.key(name).await?;
        grantor.check_may_hold(&old)?;
        self.reply(Command::RotateKey(Box::new(rotate(old.id)))).await
    }

    pub(in crate::http) async fn revoke_key(&self, name: &str) -> Result<Reply, ApiError> {
        let key = self.key(name).await?;
        self.reply(Command::RevokeKey(key.id)).await
    }

    pub(in crate::http) async fn remove_key(&self, name: &str) -> Result<Reply, ApiError> {
        let key = self.key(name).await?;
        self.reply(Command::RemoveKey(key.id)).await
    }
}

impl View<'_> {
    /// The key, if it belongs to the caller or the caller is an operator.
    #[must_use]
    pub fn key(&self, id: &KeyId) -> Option<ApiKey> {
        let key = self.engine.key(id)?;
        let is_own = self.tenant.is_none() || key.tenant.as_ref() == self.tenant;
        (is_own && self.sees_queues_of(&key)).then_some(key)
    }

    /// Keys of the caller, or of the tenant that an operator names, or all: up to `most` after this id,
    /// without the first `skip`. Also returns how many there are.
    #[must_use]
    pub fn keys_after(
        &self,
        tenant: Option<&TenantId>,
        id: &str,
        skip: usize,
        most: usize,
    ) -> (Vec<ApiKey>, usize) {
        let tenant = self.tenant.or(tenant);
        if self.scope.queues.is_some() {
            // A tenant has few keys, and nobody counts them by queue.
            let all = self.engine.keys_after(tenant, "", 0, usize::MAX);
            let visible: Vec<ApiKey> =
                all.into_iter().filter(|key| self.sees_queues_of(key)).collect();
            let count = visible.len();
            let behind = visible.into_iter().filter(|key| key.id.as_str() > id);
            return (behind.skip(skip).take(most).collect(), count);
        }
        (self.engine.keys_after(tenant, id, skip, most), self.engine.key_count(tenant))
    }
}
