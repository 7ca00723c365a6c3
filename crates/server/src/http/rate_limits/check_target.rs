//! Checks that a `PUT` to a rate limit affects some jobs, and that the caller may send it.

use rota_model::{JobType, LimitKey, QueueName};

use super::{
    CHANGE_QUEUE_LIMIT, CHANGE_TYPE_LIMIT, LimitEdit, Target, look, own_queue_target, partitions_of,
};
use crate::http::Access;
use crate::http::access::queue_needs_tenant;
use crate::http::error::ApiError;

/// The limit that a `PUT` to a key changes. An edit that would apply to no job is an error.
pub(super) async fn check_target(
    app: &Access,
    target: Target,
    edit: &LimitEdit,
) -> Result<Target, ApiError> {
    let scope = KeyScope::of(&target.key)?;
    if let Some(own_queue) = own_queue_target(app, &target.key, target.tenant.as_ref()) {
        return Ok(own_queue);
    }
    match (&target.tenant, scope) {
        (None, Some(KeyScope::Queue)) if app.is_namespaced() => return Err(queue_needs_tenant()),
        (None, Some(_)) => {}
        (None, None) => check_shared_key(app, &target, edit).await?,
        (Some(_), scope) => check_partition(app, &target, scope).await?,
    }
    Ok(target)
}

/// What a key with a reserved prefix applies to: all jobs of a queue or of a type, whichever keys the
/// jobs themselves carry.
#[derive(Clone, Copy)]
enum KeyScope {
    Queue,
    Type,
}

impl KeyScope {
    fn of(key: &LimitKey) -> Result<Option<Self>, ApiError> {
        let invalid = |part: &str, error: &dyn std::fmt::Display| {
            ApiError::validation("key", format!("The {part} of the key '{key}' {error}."))
        };
        if let Some(queue) = key.strip_prefix("queue:") {
            return match QueueName::parse(queue) {
                Ok(_) => Ok(Some(Self::Queue)),
                Err(error) => Err(invalid("queue", &error)),
            };
        }
        if let Some(kind) = key.strip_prefix("type:") {
            return match JobType::parse(kind) {
                Ok(_) => Ok(Some(Self::Type)),
                Err(error) => Err(invalid("job type", &error)),
            };
        }
        Ok(None)
    }

    /// What the key is, and how a change to it is described to a tenant.
    fn descriptions(self) -> (&'static str, &'static str) {
        match self {
            Self::Queue => ("the limit of a queue", CHANGE_QUEUE_LIMIT),
            Self::Type => ("the limit of a job type", CHANGE_TYPE_LIMIT),
        }
    }
}

/// Checks an edit of a tenant's partition of a key. The partition applies only to jobs that count the
/// key per tenant. It may be created before there are such jobs, unless the key applies to all tenants,
/// or jobs count it for all tenants together.
async fn check_partition(
    app: &Access,
    target: &Target,
    scope: Option<KeyScope>,
) -> Result<(), ApiError> {
    if look(app, target.key.clone(), target.tenant.clone()).await?.is_some() {
        return Ok(());
    }
    if let Some(scope) = scope {
        let (limit, change) = scope.descriptions();
        app.operator(change)?;
        let text = format!("'{}' is {limit} and applies to the jobs of all tenants.", target.key);
        return Err(ApiError::validation("tenant", text)
            .hint("Leave 'tenant' out, or PUT /ojs/v1/admin/tenants/{id} to limit a tenant."));
    }
    let shared = look(app, target.key.clone(), None).await?;
    if shared.is_some_and(|shared| shared.declared.is_some()) {
        return app.operator("Changing a limit that is declared for all tenants").map(|_| ());
    }
    // With credentials, keys are a tenant's own, and what others do with theirs is not its business.
    let key = target.key.clone();
    if app.sender().is_proven() || !app.look(move |view| view.is_shared_key(&key)).await? {
        return Ok(());
    }
    let text = format!(
        "Jobs count the key '{}' for all tenants together, so a tenant's part of it would hold no job.",
        target.key
    );
    Err(ApiError::validation("tenant", text).hint(
        "An operator can change the key without 'tenant'; jobs with \"scope\": \"tenant\" in their \
         rate_limit are counted for their tenant.",
    ))
}

/// Checks an edit of a key for all tenants. If jobs count the key per tenant, it has no shared counter,
/// so the edit would apply to none. An operator may declare the key all the same where jobs can share
/// only keys that are declared: under namespace isolation, and for callers with credentials.
async fn check_shared_key(app: &Access, target: &Target, edit: &LimitEdit) -> Result<(), ApiError> {
    let declares = (app.is_namespaced() || app.has_credentials()) && edit.declares();
    if declares || look(app, target.key.clone(), None).await?.is_some() {
        return Ok(());
    }
    if partitions_of(app, &target.key).await?.is_empty() {
        return Ok(());
    }
    let text = format!("The key '{}' is counted for each tenant separately.", target.key);
    Err(ApiError::validation("tenant", text).hint("Name a tenant with ?tenant=..."))
}
