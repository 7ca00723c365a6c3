//! Parsing and validating job envelopes.
//!
//! The immutable members of an envelope become one JSON fragment, built from slices of the request.
//! Responses are that fragment, followed by the members that change. Members that only the server may
//! set are dropped here, so responses never contain forged ones.

mod fields;
mod fragment;
mod job_tenant;
mod options;
mod pinned;
mod retry;

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::value::RawValue;

pub use options::parse_priority;
pub use retry::parse_retry;

use crate::time::Present;
use crate::{
    Class, CronName, JobId, JobType, LimitKey, Millis, Policy, QueueName, Rejection, Scope,
    TenantId,
};
use fields::Fields;
use job_tenant::JobTenant;
use options::Options;

/// The supported version of the OJS specification.
pub const SPEC_VERSION: &str = "1.0";

/// A valid job that has not been accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The client's id, or else the one passed to the parser.
    pub id: JobId,
    /// Whether the client chose the id, which may then exist already.
    pub id_given: bool,
    /// The job's class.
    pub class: Class,
    /// The earliest start, which may be in the past.
    pub start_at: Option<Millis>,
    /// The latest start.
    pub expires: Option<Millis>,
    /// Whether the job waits for activation.
    pub pending: bool,
    /// Whether its sender's credentials prove its tenant. Limits of such jobs are the tenant's own,
    /// unless an operator has declared the key.
    pub proven: bool,
    /// JSON members without the enclosing braces.
    pub body: Bytes,
}

/// On whose behalf a job is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender<'a> {
    /// An operator, or a client that names no tenant.
    Operator,
    /// A client that names this tenant and proves nothing.
    Named(&'a TenantId),
    /// A client whose credentials are this tenant's.
    Proven(&'a TenantId),
}

impl<'a> Sender<'a> {
    /// The tenant that the sender names or proves.
    #[must_use]
    pub fn tenant(self) -> Option<&'a TenantId> {
        match self {
            Sender::Operator => None,
            Sender::Named(tenant) | Sender::Proven(tenant) => Some(tenant),
        }
    }

    /// The same sender, naming this tenant, whose job or schedule it changes.
    #[must_use]
    pub fn naming(self, tenant: &'a TenantId) -> Self {
        if self.is_proven() { Sender::Proven(tenant) } else { Sender::Named(tenant) }
    }

    /// Whether the sender's credentials prove its tenant.
    #[must_use]
    pub fn is_proven(self) -> bool {
        matches!(self, Sender::Proven(_))
    }
}

/// A client without credentials.
impl<'a> From<Option<&'a TenantId>> for Sender<'a> {
    fn from(tenant: Option<&'a TenantId>) -> Self {
        tenant.map_or(Sender::Operator, Sender::Named)
    }
}

/// The rules that envelopes are validated against.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Maximum size of an envelope in bytes.
    pub max_job_bytes: usize,
    /// How far ahead a job may be scheduled, in milliseconds.
    pub max_schedule_ms: i64,
    /// Maximum visibility timeout in milliseconds.
    pub max_visibility_ms: u64,
    /// Whether `metadata.test_directive` is used.
    pub test_directives: bool,
    /// The only types that jobs may have; `None` for all.
    pub allowed_types: Option<BTreeSet<JobType>>,
    /// This server's region. Jobs that must run in another one are rejected; `None` accepts all.
    pub region: Option<Box<str>>,
    /// How the job's tenant is determined.
    pub tenancy: Tenancy,
}

/// How a job's tenant is determined, and whether tenants have their own queues.
#[derive(Debug, Clone)]
pub struct Tenancy {
    /// The tenant of jobs that name none. Without a default, they are rejected.
    pub default: Option<TenantId>,
    /// Whether `meta.tenant_id` is read.
    pub in_body: bool,
    /// Whether a job without `meta.tenant_id` belongs to the caller's tenant. Naming another tenant
    /// than the caller's is an error in any case.
    pub of_request: bool,
    /// Whether each tenant has its own queues.
    pub namespaced: bool,
    /// The default scope of limits. For senders with a tenant's credentials it is the tenant.
    pub limit_scope: Scope,
}

impl Default for Tenancy {
    fn default() -> Self {
        Self {
            default: Some(TenantId::default_tenant()),
            in_body: true,
            of_request: true,
            namespaced: false,
            limit_scope: Scope::Global,
        }
    }
}

/// Parses one envelope. `text` must have passed [`crate::json::check`]. `fresh_id` is the id if the
/// client gives none.
pub fn parse<'a>(
    text: &str,
    rules: &Rules,
    present: impl Into<Present>,
    fresh_id: JobId,
    sender: impl Into<Sender<'a>>,
) -> Result<NewJob, Rejection> {
    let sender = sender.into();
    if text.len() > rules.max_job_bytes {
        return Err(Rejection::too_large(format!(
            "the job has {} bytes; at most {} are accepted",
            text.len(),
            rules.max_job_bytes
        ))
        .hint("Store large data elsewhere and pass a reference in 'args'."));
    }
    let fields = Fields::read(text)?;
    let kind = job_type(fields.kind)?;
    check_allowed(&kind, rules)?;
    let args = array(fields.args, "args")?;
    check_spec_version(fields.specversion)?;
    if let Some(meta) = fields.meta {
        object(meta, "meta")?;
    }
    pinned::check(fields.meta, rules.region.as_deref())?;
    let (id, id_given) = match fields.id {
        Some(raw) => (
            JobId::parse(&string(raw, "id")?).map_err(|e| Rejection::field("id", e.to_string()))?,
            true,
        ),
        None => (fresh_id, false),
    };
    let job_tenant = JobTenant::of(fields.meta, &rules.tenancy, sender.tenant())?;
    let options = Options::read(&fields, rules, present.into(), sender)?;
    if let Some(limit) = &options.limit {
        check_key(&limit.key, &options.queue, &kind)?;
    }
    let body = fragment::build(&kind, args, &job_tenant.meta, &fields, &options);
    let tenant = job_tenant.tenant;
    let queue = match rules.tenancy.namespaced {
        true => options.queue.in_namespace(&tenant),
        false => options.queue,
    };
    Ok(NewJob {
        id,
        id_given,
        start_at: options.start_at.as_ref().map(|w| w.at),
        expires: options.expires.as_ref().map(|w| w.at),
        pending: options.pending,
        proven: sender.is_proven(),
        class: Class {
            queue,
            kind,
            tenant,
            priority: options.priority,
            policy: Policy {
                retry: options.retry,
                visibility_ms: options.visibility_ms,
                timeout_ms: options.timeout_ms,
                directive: options.directive,
                limit: options.limit,
            }
            .into(),
        },
        body,
    })
}

/// Writes the beginning of a job's JSON, up to the body.
pub fn write_head(out: &mut Vec<u8>, id: JobId) {
    out.extend_from_slice(br#"{"specversion":"1.0","id":""#);
    id.write(out);
    out.extend_from_slice(b"\",");
}

/// A stored body with another priority, and the priority before. All else keeps its bytes and order.
pub fn with_priority(body: &str, priority: i16) -> Result<(i16, Bytes), Rejection> {
    let text = format!("{{{body}}}");
    let mut members = crate::json::members(&text, "the job")?;
    let new = RawValue::from_string(priority.to_string()).expect("a number is JSON");
    let Some((_, value)) = members.iter_mut().find(|(name, _)| name == "priority") else {
        return Ok((0, format!("{body},\"priority\":{priority}").into()));
    };
    let previous = options::parse_priority(std::mem::replace(value, &new))?;
    let json = serde_json::to_string(&crate::json::Object(members)).expect("members are JSON");
    Ok((previous, Bytes::copy_from_slice(&json.as_bytes()[1..json.len() - 1])))
}

/// The body of one run of a schedule: the registered body, with the schedule's name and the time
/// added.
#[must_use]
pub fn body_of_run(body: &str, cron: &CronName, scheduled_for: Millis) -> Bytes {
    let mut out = Vec::with_capacity(body.len() + 128);
    out.extend_from_slice(body.as_bytes());
    out.extend_from_slice(b",\"metadata\":{\"cron_name\":");
    crate::json::write_str(&mut out, cron.local());
    out.extend_from_slice(b",\"cron_triggered_at\":\"");
    scheduled_for.write_rfc3339(&mut out);
    out.extend_from_slice(b"\"}");
    out.into()
}

/// Parses a queue name.
pub fn queue_name(raw: &RawValue, field: &'static str) -> Result<QueueName, Rejection> {
    QueueName::parse(&string(raw, field)?).map_err(|e| Rejection::field(field, e.to_string()))
}

/// Parses a JSON string.
pub fn string(raw: &RawValue, field: &'static str) -> Result<String, Rejection> {
    serde_json::from_str(raw.get()).map_err(|_| wrong_type(raw, field, "a string"))
}

fn job_type(raw: Option<&RawValue>) -> Result<JobType, Rejection> {
    let raw = raw.ok_or_else(|| {
        Rejection::field("type", "is required").hint("Name the kind of work, such as email.send.")
    })?;
    JobType::parse(&string(raw, "type")?).map_err(|e| Rejection::field("type", e.to_string()))
}

fn check_allowed(kind: &JobType, rules: &Rules) -> Result<(), Rejection> {
    match &rules.allowed_types {
        Some(allowed) if !allowed.contains(kind) => {
            let text = format!("is '{kind}', which this server does not accept");
            Err(Rejection::value("type", text)
                .hint("An operator lists the accepted types in jobs.allowed_types."))
        }
        _ => Ok(()),
    }
}

/// Keys with the prefix `queue:` or `type:` are only for jobs of that queue or type, because other jobs
/// could exhaust or pause them.
fn check_key(key: &LimitKey, queue: &QueueName, kind: &JobType) -> Result<(), Rejection> {
    let own = match key.split_once(':') {
        Some(("queue", _)) => LimitKey::of_queue(queue),
        Some(("type", _)) => LimitKey::of_type(kind),
        _ => return Ok(()),
    };
    if *key == own {
        return Ok(());
    }
    Err(Rejection::value("rate_limit.key", format!("'{key}' belongs to other jobs"))
        .hint(format!("Use '{own}', or a key without the prefix.")))
}

fn check_spec_version(raw: Option<&RawValue>) -> Result<(), Rejection> {
    let Some(raw) = raw else { return Ok(()) };
    let version = string(raw, "specversion")?;
    if version == SPEC_VERSION || version == "1.0.0" {
        return Ok(());
    }
    Err(Rejection::unsupported(
        "specversion",
        format!("is '{version}'; this server speaks {SPEC_VERSION}"),
    ))
}

fn array<'a>(raw: Option<&'a RawValue>, field: &'static str) -> Result<&'a RawValue, Rejection> {
    let raw = raw.ok_or_else(|| {
        Rejection::field(field, "is required").hint("Send a JSON array; it may be empty.")
    })?;
    if raw.get().starts_with('[') { Ok(raw) } else { Err(wrong_type(raw, field, "a JSON array")) }
}

fn object(raw: &RawValue, field: &'static str) -> Result<(), Rejection> {
    if raw.get().starts_with('{') { Ok(()) } else { Err(wrong_type(raw, field, "a JSON object")) }
}

fn wrong_type(raw: &RawValue, field: &'static str, expected: &str) -> Rejection {
    Rejection::field(field, format!("must be {expected}, not {}", crate::json::type_name(raw)))
}

#[cfg(test)]
mod tests;
