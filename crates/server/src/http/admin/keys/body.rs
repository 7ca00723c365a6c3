//! The bodies of requests that create and rotate API keys.

use std::sync::Arc;
use std::time::Duration;

use rota_identity::{ApiKey, KeyName, KeyText, Permission, Permissions, Role, UnknownPermission};
use rota_model::{JobType, Millis, QueueName, Rejection, TenantId, duration, time};
use serde::Deserialize;

use crate::http::access::Grantor;
use crate::http::error::{ApiError, excerpt};

/// The most queues, or job types, of one key.
const MAX_NAMES: usize = 100;
/// The longest overlap of a rotation, in milliseconds: a year.
const MAX_OVERLAP_MS: i64 = 366 * 86_400_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBody {
    name: String,
    tenant_id: Option<String>,
    tenant: Option<String>,
    scopes: Option<Vec<String>>,
    role: Option<String>,
    queues: Option<Vec<String>>,
    job_types: Option<Vec<String>>,
    expires_at: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RotateBody {
    overlap: Option<String>,
    expires_at: Option<String>,
}

impl CreateBody {
    pub fn into_key(
        self,
        grantor: &Grantor,
        text: &KeyText,
        now: Millis,
    ) -> Result<ApiKey, ApiError> {
        let name = KeyName::parse(&self.name)
            .map_err(|error| Rejection::field("name", error.to_string()))?;
        let permissions = permissions(self.scopes.as_deref(), self.role.as_deref())?;
        let asked = tenant(self.tenant_id.as_deref(), self.tenant.as_deref())?;
        let lists = self.queues.is_some() || self.job_types.is_some();
        // A tenant's request for this scope is refused whatever else it asks for.
        if lists && grantor.tenant.is_none() && permissions.allow(Permission::Server) {
            let text = "must not be given with the scope 'server', which is for everything";
            return Err(Rejection::value("queues", text).into());
        }
        Ok(ApiKey {
            id: text.id(),
            hash: text.hash(),
            name,
            tenant: owner(grantor, asked, permissions)?,
            permissions,
            queues: names(self.queues, "queues", QueueName::parse)?,
            job_types: names(self.job_types, "job_types", JobType::parse)?,
            created: now,
            expires: grantor.end_of_key(expires(self.expires_at.as_deref(), now)?)?,
            revoked: None,
            last_used: None,
            rotated_from: None,
            successor: None,
            bootstrap: false,
        })
    }
}

impl RotateBody {
    /// How long the old key still works, in milliseconds.
    pub fn overlap_ms(&self, default: Duration) -> Result<u64, ApiError> {
        let Some(text) = &self.overlap else { return Ok(default.as_millis() as u64) };
        let ms = match text.as_str() {
            "0" => Ok(0),
            text => duration::parse_any(text),
        };
        let ms = ms.map_err(|error| Rejection::field("overlap", error.to_string()))?;
        if !(0..=MAX_OVERLAP_MS).contains(&ms) {
            return Err(Rejection::value("overlap", "must be at most 366 days").into());
        }
        Ok(ms as u64)
    }

    pub fn expires(&self, now: Millis) -> Result<Option<Millis>, ApiError> {
        expires(self.expires_at.as_deref(), now)
    }
}

fn permissions(scopes: Option<&[String]>, role: Option<&str>) -> Result<Permissions, ApiError> {
    let scopes = scopes.unwrap_or_default().iter().map(String::as_str);
    let named = Permissions::parse(scopes).map_err(|UnknownPermission(name)| {
        let all: Vec<&str> = Permission::ALL.into_iter().map(Permission::name).collect();
        Rejection::field("scopes", format!("has the unknown scope '{}'", excerpt(&name)))
            .hint(format!("The scopes are: {}.", all.join(", ")))
    })?;
    let of_role = match role {
        None => Permissions::NONE,
        Some(name) => Role::parse(name).map(Role::permissions).ok_or_else(|| {
            let all: Vec<&str> = Role::ALL.into_iter().map(Role::name).collect();
            Rejection::field("role", format!("is '{}'", excerpt(name)))
                .hint(format!("The roles are: {}.", all.join(", ")))
        })?,
    };
    let permissions = named.with(of_role);
    if permissions.is_empty() {
        return Err(Rejection::value("scopes", "must not be empty")
            .hint("Send 'scopes', such as [\"enqueue\"], or 'role', such as \"worker\".")
            .into());
    }
    Ok(permissions)
}

fn tenant(one: Option<&str>, other: Option<&str>) -> Result<Option<TenantId>, ApiError> {
    if one.is_some() && other.is_some() && one != other {
        return Err(Rejection::field("tenant", "differs from 'tenant_id'").into());
    }
    let Some(text) = one.or(other) else { return Ok(None) };
    let parsed = TenantId::parse(text).map(Some);
    parsed.map_err(|error| Rejection::field("tenant_id", error.to_string()).into())
}

/// The tenant that a new key belongs to; `None` for an operator's.
fn owner(
    grantor: &Grantor,
    asked: Option<TenantId>,
    permissions: Permissions,
) -> Result<Option<TenantId>, ApiError> {
    if let (Some(own), Some(asked)) = (&grantor.tenant, &asked)
        && own != asked
    {
        let text = format!("is '{asked}', but the request comes from the tenant '{own}'");
        return Err(Rejection::field("tenant_id", text).into());
    }
    let tenant = asked.or_else(|| grantor.tenant.clone());
    match (tenant, permissions.allow(Permission::Server)) {
        // For a tenant's request, that is refused as a scope that it does not have.
        (tenant, true) if grantor.tenant.is_some() => Ok(tenant),
        (Some(_), true) => Err(Rejection::value(
            "tenant_id",
            "must not be given with the scope 'server', which is for all tenants",
        )
        .into()),
        (None, true) => Ok(None),
        (Some(tenant), false) => Ok(Some(tenant)),
        (None, false) => Err(Rejection::value("tenant_id", "is required")
            .hint("Name the tenant of the key; only keys with the scope 'server' have none.")
            .into()),
    }
}

fn names<T: PartialEq, E: std::fmt::Display>(
    given: Option<Vec<String>>,
    field: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<Arc<[T]>>, ApiError> {
    let Some(given) = given else { return Ok(None) };
    if given.is_empty() || given.len() > MAX_NAMES {
        let text = format!("must have 1 to {MAX_NAMES} names");
        return Err(Rejection::value(field, text).hint("Leave it out to allow all.").into());
    }
    let mut all = Vec::with_capacity(given.len());
    for text in given {
        let name = parse(&text).map_err(|error| {
            Rejection::field(field, format!("has '{}', which {error}", excerpt(&text)))
        })?;
        if !all.contains(&name) {
            all.push(name);
        }
    }
    Ok(Some(all.into()))
}

fn expires(text: Option<&str>, now: Millis) -> Result<Option<Millis>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let when = time::parse_when(text, now.into())
        .map_err(|error| Rejection::field("expires_at", error.to_string()))?;
    if when.at <= now {
        return Err(Rejection::value("expires_at", "is in the past").into());
    }
    Ok(Some(when.at))
}
