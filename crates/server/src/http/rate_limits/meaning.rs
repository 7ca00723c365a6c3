//! Whether a word on a limit would mean anything, and who may say it.

use rota_model::{JobType, LimitKey, QueueName};

use super::{Said, Target, look, of_own_queue, parts_of};
use crate::http::App;
use crate::http::caller::{only_operators, queue_needs_tenant};
use crate::http::error::ApiError;

/// What a `PUT` to a key speaks of. What would hold no job is refused rather than kept.
pub(super) async fn target_of(app: &App, target: Target, said: &Said) -> Result<Target, ApiError> {
    let whole = Whole::of(&target.key)?;
    if let Some(own) = of_own_queue(app, &target.key, target.tenant.as_ref()) {
        return Ok(own);
    }
    match (&target.tenant, whole) {
        (None, Some(Whole::Queue)) if app.is_namespaced() => return Err(queue_needs_tenant()),
        (None, Some(_)) => {}
        (None, None) => refuse_unused(app, &target, said).await?,
        (Some(_), whole) => refuse_shadow(app, &target, whole).await?,
    }
    Ok(target)
}

/// Keys that mean all jobs of a queue or of a type, whatever the jobs carry.
#[derive(Clone, Copy)]
enum Whole {
    Queue,
    Type,
}

impl Whole {
    fn of(key: &LimitKey) -> Result<Option<Self>, ApiError> {
        let wrong = |what: &str, error: &dyn std::fmt::Display| {
            ApiError::validation("key", format!("The {what} of the key '{key}' {error}."))
        };
        if let Some(queue) = key.strip_prefix("queue:") {
            return match QueueName::parse(queue) {
                Ok(_) => Ok(Some(Self::Queue)),
                Err(error) => Err(wrong("queue", &error)),
            };
        }
        if let Some(kind) = key.strip_prefix("type:") {
            return match JobType::parse(kind) {
                Ok(_) => Ok(Some(Self::Type)),
                Err(error) => Err(wrong("job type", &error)),
            };
        }
        Ok(None)
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Queue => "The limit of a queue",
            Self::Type => "The limit of a job type",
        }
    }
}

/// A tenant's part of a key holds only jobs that count it for their tenant. Without such jobs it may
/// be meant for later ones, but not where the key is known to stand for something else.
async fn refuse_shadow(app: &App, target: &Target, whole: Option<Whole>) -> Result<(), ApiError> {
    if look(app, target.key.clone(), target.tenant.clone()).await?.is_some() {
        return Ok(());
    }
    if let Some(whole) = whole {
        only_operators(whole.in_words())?;
        let text = format!("{} holds the jobs of all tenants.", whole.in_words());
        return Err(ApiError::validation("tenant", text)
            .hint("Leave 'tenant' out, or PUT /ojs/v1/admin/tenants/{id} to limit a tenant."));
    }
    let shared = look(app, target.key.clone(), None).await?;
    if shared.is_some_and(|view| view.declared.is_some()) {
        only_operators("A limit that is declared for everyone")?;
    }
    Ok(())
}

/// A key that jobs count for their tenants has no counter of its own. In namespaces an operator may
/// declare one all the same, because only then may jobs use it.
async fn refuse_unused(app: &App, target: &Target, said: &Said) -> Result<(), ApiError> {
    let declares = app.is_namespaced() && said.declares();
    if declares || look(app, target.key.clone(), None).await?.is_some() {
        return Ok(());
    }
    if parts_of(app, &target.key).await?.is_empty() {
        return Ok(());
    }
    let text = format!("The key '{}' is counted for each tenant apart.", target.key);
    Err(ApiError::validation("tenant", text)
        .hint("Name the tenant whose part is meant: ?tenant=..."))
}
