//! Determining the tenant of a job from its `meta`, the caller and the default.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Tenancy, string};
use crate::{Rejection, RejectionKind, TenantId, json};

const FIELD: &str = "meta.tenant_id";

pub(super) struct JobTenant<'a> {
    pub tenant: TenantId,
    /// The job's `meta`, with the caller's tenant added if it names none.
    pub meta: Cow<'a, str>,
}

impl<'a> JobTenant<'a> {
    pub fn of(
        meta: Option<&'a RawValue>,
        rules: &Tenancy,
        caller: Option<&TenantId>,
    ) -> Result<Self, Rejection> {
        let meta = meta.map_or("{}", RawValue::get);
        let named = match tenant_in_meta(meta) {
            // If the body is not used, `meta.tenant_id` may be anything but another valid tenant.
            Err(_) if !rules.in_body => None,
            named => named?.filter(|named| rules.in_body || caller.is_some_and(|own| own != named)),
        };
        match (named, caller) {
            (Some(named), Some(caller)) if named != *caller => Err(Rejection::field(
                FIELD,
                format!("is '{named}', but the request comes from the tenant '{caller}'"),
            )
            .hint("Give the tenant once, or the same twice.")),
            (Some(tenant), _) => Ok(Self { tenant, meta: meta.into() }),
            (None, Some(caller)) if rules.of_request => {
                Ok(Self { tenant: caller.clone(), meta: with_tenant(meta, caller)?.into() })
            }
            (None, caller) => match &rules.default {
                Some(default) if caller.is_some_and(|own| own != default) => {
                    let problem = format!("is required: without it the job belongs to '{default}'");
                    Err(Rejection::field(FIELD, problem)
                        .hint("The header X-OJS-Tenant does not name the tenant of jobs here."))
                }
                Some(default) => Ok(Self { tenant: default.clone(), meta: meta.into() }),
                None => Err(Rejection::value(FIELD, "is required: every job has a tenant here")
                    .hint(match rules.of_request {
                        true => "Send it in 'meta' or in the header X-OJS-Tenant.",
                        false => "Send it in 'meta'.",
                    })),
            },
        }
    }
}

fn tenant_in_meta(meta: &str) -> Result<Option<TenantId>, Rejection> {
    // Fast path: many jobs have no tenant in `meta`, and hardly any has escaped keys.
    if !meta.contains("tenant_id") && !meta.contains('\\') {
        return Ok(None);
    }
    for (key, value) in json::members(meta, "'meta'")? {
        if key == "tenant_id" && value.get() != "null" {
            let text = string(value, FIELD)?;
            return TenantId::parse(&text)
                .map(Some)
                .map_err(|e| Rejection::field(FIELD, e.to_string()));
        }
    }
    Ok(None)
}

fn with_tenant(meta: &str, tenant: &TenantId) -> Result<String, Rejection> {
    let mut out = Vec::with_capacity(meta.len() + tenant.len() + 20);
    out.extend_from_slice(b"{\"tenant_id\":");
    json::write_str(&mut out, tenant);
    for (key, value) in json::members(meta, "'meta'")? {
        // A null `tenant_id` is replaced.
        if key != "tenant_id" {
            out.push(b',');
            json::write_str(&mut out, &key);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    out.push(b'}');
    String::from_utf8(out)
        .map_err(|_| Rejection::new(RejectionKind::Malformed, "'meta' is not UTF-8"))
}
