//! Validated names of queues, job types, tenants, workers, pools, schedules and limits.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Valid although it does not match the pattern of tenant ids, so no other tenant can have this name.
const DEFAULT_TENANT: &str = "_default";

/// Why a name is invalid. The message completes a sentence that begins with the field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(&'static str);

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses a name from a client.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                $check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name!(
    /// The queue that a job waits in.
    QueueName,
    check_queue
);
name!(
    /// The type of a job: dot-separated segments such as `email.send`.
    JobType,
    check_type
);
name!(
    /// The customer that a job belongs to.
    TenantId,
    check_tenant
);
name!(
    /// The process that runs jobs.
    WorkerId,
    check_worker
);
name!(
    /// A group of workers.
    PoolName,
    check_queue
);
name!(
    /// A recurring schedule.
    CronName,
    check_cron
);
name!(
    /// The key of a limit, such as an API, a customer or a queue.
    LimitKey,
    check_limit_key
);

name!(
    /// A rule that replays jobs of the dead letter, or one that says whose a certificate is.
    RuleName,
    check_queue
);

impl TenantId {
    /// The tenant of jobs that name none.
    #[must_use]
    pub fn default_tenant() -> Self {
        Self(DEFAULT_TENANT.into())
    }
}

impl QueueName {
    /// The queue of jobs that name none.
    #[must_use]
    pub fn default_queue() -> Self {
        Self("default".into())
    }

    /// Before all names of queues.
    #[must_use]
    pub fn first() -> Self {
        Self("".into())
    }

    /// This queue in a tenant's namespace. Names from clients cannot contain a slash, so a client
    /// cannot name another tenant's queue.
    #[must_use]
    pub fn in_namespace(&self, tenant: &TenantId) -> Self {
        Self(format!("{tenant}/{self}").into())
    }

    /// The name without the namespace.
    #[must_use]
    pub fn local(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// The tenant in whose namespace the queue is, if any.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(tenant, _)| tenant)
    }

    /// Reads a stored name, which may have a namespace.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        if let Some((tenant, name)) = text.split_once('/') {
            check_tenant(tenant)?;
            check_queue(name)?;
            return Ok(Self(text.into()));
        }
        Self::parse(text)
    }
}

impl CronName {
    /// This schedule in a tenant's namespace. Schedules of the default tenant have no prefix, for
    /// compatibility.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> Self {
        match &**tenant {
            DEFAULT_TENANT => self.clone(),
            _ => Self(format!("{tenant}/{self}").into()),
        }
    }

    /// The name without the namespace.
    #[must_use]
    pub fn local(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Whether the schedule is in this tenant's namespace.
    #[must_use]
    pub fn belongs_to(&self, tenant: &TenantId) -> bool {
        let namespace = self.0.split_once('/').map_or(DEFAULT_TENANT, |(namespace, _)| namespace);
        *namespace == **tenant
    }

    /// Reads a stored name, which may have a namespace.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        if let Some((tenant, name)) = text.split_once('/') {
            check_tenant(tenant)?;
            check_cron(name)?;
            return Ok(Self(text.into()));
        }
        Self::parse(text)
    }
}

impl WorkerId {
    /// This worker in a tenant's namespace. The separator is a space, which names from clients cannot
    /// contain.
    #[must_use]
    pub fn in_namespace(&self, tenant: &TenantId) -> Self {
        Self(format!("{tenant} {self}").into())
    }

    /// The name without the namespace.
    #[must_use]
    pub fn local(&self) -> &str {
        self.0.split_once(' ').map_or(&self.0, |(_, name)| name)
    }

    /// The tenant in whose namespace the worker is, if any.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once(' ').map(|(tenant, _)| tenant)
    }

    /// Reads a stored name, which may have a namespace.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        if let Some((tenant, name)) = text.split_once(' ') {
            check_tenant(tenant)?;
            check_worker(name)?;
            return Ok(Self(text.into()));
        }
        Self::parse(text)
    }
}

impl PoolName {
    /// This pool as a tenant's own. The separator is a space, which names from clients cannot contain.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> Self {
        Self(format!("{tenant} {self}").into())
    }

    /// The name without its owner.
    #[must_use]
    pub fn local(&self) -> &str {
        self.0.split_once(' ').map_or(&self.0, |(_, name)| name)
    }

    /// The tenant that the pool belongs to; `None` for the operator's.
    #[must_use]
    pub fn owner(&self) -> Option<TenantId> {
        self.owner_name().map(|tenant| TenantId(tenant.into()))
    }

    /// The id of [`PoolName::owner`].
    #[must_use]
    pub fn owner_name(&self) -> Option<&str> {
        self.0.split_once(' ').map(|(tenant, _)| tenant)
    }

    /// Reads a stored name, which may have an owner.
    pub fn stored(text: &str) -> Result<Self, NameError> {
        if let Some((tenant, name)) = text.split_once(' ') {
            check_tenant(tenant)?;
            check_queue(name)?;
            return Ok(Self(text.into()));
        }
        Self::parse(text)
    }
}

impl LimitKey {
    /// The key of the limit on a whole queue.
    #[must_use]
    pub fn of_queue(queue: &QueueName) -> Self {
        Self(format!("queue:{queue}").into())
    }

    /// The key of the limit on a job type.
    #[must_use]
    pub fn of_type(kind: &JobType) -> Self {
        Self(format!("type:{kind}").into())
    }

    /// The tenant in whose namespace the limited queue is, if any.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.strip_prefix("queue:")?.split_once('/').map(|(tenant, _)| tenant)
    }

    /// The key without the namespace.
    #[must_use]
    pub fn local(&self) -> Self {
        match self.0.split_once('/') {
            Some((_, queue)) => Self(format!("queue:{queue}").into()),
            None => self.clone(),
        }
    }

    /// Reads a stored key.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }
}

fn check_queue(text: &str) -> Result<(), NameError> {
    check_slug(text, 128).map_err(|()| {
        NameError(
            "must be 1 to 128 characters of lower-case letters, digits, '-' and '.', \
             starting with a letter or digit",
        )
    })
}

fn check_cron(text: &str) -> Result<(), NameError> {
    check_slug(text, 255).map_err(|()| {
        NameError(
            "must be 1 to 255 characters of lower-case letters, digits, '-' and '.', \
             starting with a letter or digit",
        )
    })
}

fn check_slug(text: &str, max_length: usize) -> Result<(), ()> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let has_valid_start =
        text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (has_valid_start && text.len() <= max_length && text.bytes().all(inner)).then_some(()).ok_or(())
}

fn check_type(text: &str) -> Result<(), NameError> {
    let segment = |s: &str| {
        s.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
            && s.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
    };
    if text.len() <= 255 && text.split('.').all(segment) {
        return Ok(());
    }
    Err(NameError(
        "must be dot-separated segments of lower-case letters, digits, '_' and '-', \
         each starting with a letter, 255 characters at most, such as email.send",
    ))
}

fn check_tenant(text: &str) -> Result<(), NameError> {
    if text == DEFAULT_TENANT || is_key(text, 128) {
        return Ok(());
    }
    Err(NameError(
        "must be 1 to 128 letters, digits, '.', '_', ':' and '-', starting with a letter or digit",
    ))
}

fn check_limit_key(text: &str) -> Result<(), NameError> {
    if is_key(text, 200) {
        return Ok(());
    }
    Err(NameError(
        "must be 1 to 200 letters, digits, '.', '_', ':' and '-', starting with a letter or digit",
    ))
}

fn is_key(text: &str, max_length: usize) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
    let has_valid_start = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    has_valid_start && text.len() <= max_length && text.bytes().all(inner)
}

fn check_worker(text: &str) -> Result<(), NameError> {
    if (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(NameError("must be 1 to 255 printable ASCII characters without spaces"))
}

#[cfg(test)]
mod tests;
