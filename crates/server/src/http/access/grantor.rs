//! What a caller may do with API keys.

use std::sync::Arc;

use axum::http::StatusCode;
use rota_identity::{ApiKey, Permission, Permissions};
use rota_model::{JobType, Millis, QueueName, TenantId};

use super::Caller;
use crate::http::error::ApiError;

/// Somebody who creates or looks after keys. Nobody can give away more than they have.
pub(in crate::http) struct Grantor {
    /// The tenant whose keys it looks after; `None` for an operator, who looks after all.
    pub tenant: Option<TenantId>,
    permissions: Permissions,
    queues: Option<Arc<[QueueName]>>,
    job_types: Option<Arc<[JobType]>>,
    /// When the credentials end.
    expires: Option<Millis>,
}

impl Grantor {
    pub(super) fn of(caller: &Caller) -> Self {
        let identity = caller.identity();
        Self {
            tenant: caller.tenant().cloned(),
            permissions: caller.permissions(),
            queues: identity.and_then(|identity| identity.queues.clone()),
            job_types: identity.and_then(|identity| identity.job_types.clone()),
            expires: identity.and_then(|identity| identity.expires),
        }
    }

    /// When a key ends that these credentials make: no later than they do themselves, so that short-lived credentials
    /// do not turn into lasting ones.
    pub fn end_of_key(&self, asked: Option<Millis>) -> Result<Option<Millis>, ApiError> {
        match (self.expires, asked) {
            (Some(own), Some(asked)) if asked > own => {
                let text = format!(
                    "The key would work until {asked}, and the credentials of this request only until {own}."
                );
                Err(forbidden(&text).detail("field", "expires_at"))
            }
            (own, asked) => Ok(asked.or(own)),
        }
    }

    /// Whether it may have this key in its hands: one with at most its own rights.
    pub fn check_may_hold(&self, key: &ApiKey) -> Result<(), ApiError> {
        if self.tenant.is_none() && self.permissions.allow(Permission::Server) {
            return Ok(());
        }
        let missing: Vec<&str> = key
            .permissions
            .iter()
            .filter(|one| !self.permissions.allow(*one))
            .map(Permission::name)
            .collect();
        if !missing.is_empty() {
            let text = format!(
                "The key would have scopes that the credentials of this request do not have: {}.",
                missing.join(", ")
            );
            return Err(forbidden(&text).detail("field", "scopes"));
        }
        if !is_within(&self.queues, &key.queues) {
            let text =
                "The key would be for queues that the credentials of this request are not for.";
            return Err(forbidden(text).detail("field", "queues"));
        }
        if !is_within(&self.job_types, &key.job_types) {
            let text =
                "The key would be for job types that the credentials of this request are not for.";
            return Err(forbidden(text).detail("field", "job_types"));
        }
        Ok(())
    }
}

/// Whether all that is given is held. `None` is everything.
fn is_within<T: PartialEq>(held: &Option<Arc<[T]>>, given: &Option<Arc<[T]>>) -> bool {
    match (held, given) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(held), Some(given)) => given.iter().all(|one| held.contains(one)),
    }
}

fn forbidden(text: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("Nobody can give away more than they have; ask an operator.")
}
