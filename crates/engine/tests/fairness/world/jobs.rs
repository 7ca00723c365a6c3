//! Jobs, limits, caps and names, in few words.

use rota_engine::{Cap, Caps};
use rota_model::PoolName;
use serde_json::{Value, json};

/// A job to be enqueued.
#[derive(Clone)]
pub struct Job {
    pub tenant: &'static str,
    pub queue: &'static str,
    pub kind: &'static str,
    pub priority: i16,
    pub limit: Option<Value>,
    pub start_in: Option<i64>,
    pub size: usize,
}

pub fn job(tenant: &'static str) -> Job {
    Job { tenant, queue: "default", kind: "t", priority: 0, limit: None, start_in: None, size: 10 }
}

impl Job {
    pub fn queue(self, queue: &'static str) -> Self {
        Self { queue, ..self }
    }

    pub fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    pub fn priority(self, priority: i16) -> Self {
        Self { priority, ..self }
    }

    pub fn limit(self, limit: Value) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

pub fn concurrency(key: &str, most: u32) -> Value {
    json!({"key": key, "concurrency": most})
}

pub fn rate(key: &str, limit: u32, period: &str) -> Value {
    json!({"key": key, "rate": {"limit": limit, "period": period}})
}

pub fn pool(name: &str) -> Option<PoolName> {
    Some(PoolName::parse(name).unwrap())
}

/// A name that lasts as long as the test.
pub fn name(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

pub fn count(all: &[String], one: &str) -> usize {
    all.iter().filter(|name| *name == one).count()
}

/// So many queues for each tenant.
pub fn cap_queues(per_tenant: usize) -> Caps {
    Caps { queues: Cap { total: 100_000, per_tenant }, ..Caps::default() }
}

/// So many rate limits on the jobs of each tenant.
pub fn cap_keys(rate_keys_per_tenant: usize) -> Caps {
    Caps { rate_keys_per_tenant, ..Caps::default() }
}
