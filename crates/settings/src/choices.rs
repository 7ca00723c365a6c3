//! The choices that only the server has; the model has those that the engine and the store share.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How an active job is cancelled by a request that does not say how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CancelMode {
    /// At once; its worker learns of it.
    Immediate,
    /// By its worker, which is asked to.
    Cooperative,
}

/// A way in which callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthMode {
    /// Nobody has to prove anything.
    None,
    /// API keys.
    Keys,
    /// JSON Web Tokens.
    Jwt,
    /// Client certificates.
    Mtls,
}

/// Whose requests count together against a limit on requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// Those with the same credentials; without credentials, those of a tenant.
    Subject,
    /// All of a tenant.
    Tenant,
}

/// Where the tenant of a request is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TenantSource {
    /// `meta.tenant_id` of a job.
    Body,
    /// `X-OJS-Tenant`.
    Header,
    /// The caller's credentials.
    Credentials,
}

/// Whether clients have to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientAuth {
    Off,
    /// A client without one may have other credentials.
    Optional,
    Required,
}

/// The header in which trusted proxies name the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    XForwardedFor,
    Forwarded,
}

/// How far tenants are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Every queue has a shard per tenant, and shards are served fairly.
    Sharded,
    /// One queue for all tenants, first in, first out unless fairness is on.
    Shared,
    /// Every tenant has its own queues, and every request names its tenant.
    Namespace,
}
