//! Names that come from outside, checked once, at the edge.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
            pub fn parse(text: &str) -> Result<Self, NameError> {
                $check(text)?;
                Ok(Self(text.into()))
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
    /// What kind of work a job is: dot-separated segments such as `email.send`.
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

impl TenantId {
    /// The tenant of jobs that name none.
    #[must_use]
    pub fn default_tenant() -> Self {
        Self("_default".into())
    }
}

impl QueueName {
    /// The queue of jobs that name none.
    #[must_use]
    pub fn default_queue() -> Self {
        Self("default".into())
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

fn check_slug(text: &str, longest: usize) -> Result<(), ()> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let starts_well =
        text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (starts_well && text.len() <= longest && text.bytes().all(inner)).then_some(()).ok_or(())
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
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_' || b == b'.';
    if (1..=128).contains(&text.len()) && text.bytes().all(inner) {
        return Ok(());
    }
    Err(NameError("must be 1 to 128 letters, digits, '-', '_' and '.'"))
}

fn check_worker(text: &str) -> Result<(), NameError> {
    if (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(NameError("must be 1 to 255 printable ASCII characters without spaces"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_names() {
        for good in ["default", "email", "a", "0", "bulk-2.fast", &"q".repeat(128)] {
            assert!(QueueName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "Default", "my_queue!", "-invalid", ".x", "my queue", "ü", &"q".repeat(129)]
        {
            assert!(QueueName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn job_types() {
        for good in ["email.send", "a", "data.etl.transform", "dlq.test.list-first", "x_1.y2"] {
            assert!(JobType::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["", "Email.Send", "email send", "1email.send", "email@send!", "a..b", ".a", "a."]
        {
            assert!(JobType::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn worker_ids() {
        assert!(WorkerId::parse("worker_019539a4-b68c-7def").is_ok());
        for bad in ["", "two words", "line\nbreak", "ü"] {
            assert!(WorkerId::parse(bad).is_err(), "{bad}");
        }
    }
}
