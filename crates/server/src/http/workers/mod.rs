//! Routes for workers: fetch, heartbeat, registration; and the fields that they share.

mod fetch;
mod heartbeat;
mod registration;

pub(super) use fetch::fetch;
pub(super) use heartbeat::heartbeat;
pub(super) use registration::{deregister, deregister_by_path, register};

use rota_engine::{Preference, Registration};
use rota_model::pool::{check_named, check_weighted, parse_strategy, parse_weights};
use rota_model::{Millis, PoolName, QueueName, QueueStrategy, Rejection, WorkerId};
use serde::Deserialize;
use serde_json::Value;

use super::Access;
use super::error::ApiError;
use super::name_pages::json_bytes;

const MAX_QUEUES: usize = 100;
const MAX_LABELS: usize = 100;
/// The most bytes of what a worker says about itself.
const MAX_DESCRIPTION: usize = 64 << 10;

/// The description of a worker in registrations and heartbeats.
#[derive(Deserialize, Default)]
struct WorkerInfoBody {
    strategy: Option<Value>,
    weights: Option<Value>,
    hostname: Option<String>,
    pid: Option<u64>,
    queues: Option<Vec<String>>,
    concurrency: Option<u32>,
    labels: Option<Vec<String>>,
    pool: Option<String>,
    version: Option<String>,
    started_at: Option<String>,
    metadata: Option<Value>,
}

impl WorkerInfoBody {
    const MEMBERS: &[&str] = &[
        "strategy",
        "weights",
        "hostname",
        "pid",
        "queues",
        "concurrency",
        "labels",
        "pool",
        "version",
        "started_at",
        "metadata",
    ];

    fn registration(self, worker: WorkerId) -> Result<Registration, ApiError> {
        let queues = match self.queues {
            Some(names) if !names.is_empty() => queues(names)?,
            _ => Vec::new(),
        };
        let labels = self.labels.unwrap_or_default();
        if labels.len() > MAX_LABELS {
            return Err(ApiError::validation(
                "labels",
                format!("'labels' has {} entries; at most {MAX_LABELS} are kept.", labels.len()),
            ));
        }
        if self.concurrency == Some(0) {
            return Err(ApiError::validation("concurrency", "'concurrency' must be at least 1."));
        }
        let texts = [&self.hostname, &self.version].into_iter().flatten().chain(&labels);
        let described = texts.map(String::len).sum::<usize>()
            + self.metadata.as_ref().map_or(0, |metadata| json_bytes(metadata, 1));
        if described > MAX_DESCRIPTION {
            let text = format!(
                "The worker's hostname, version, labels and metadata have {described} bytes; at most \
                 {MAX_DESCRIPTION} are kept."
            );
            return Err(ApiError::validation("metadata", text).hint("Send less."));
        }
        let preference = preference(self.strategy, self.weights, &queues)?;
        Ok(Registration {
            worker,
            tenant: None,
            hostname: self.hostname,
            pid: self.pid,
            queues,
            concurrency: self.concurrency,
            labels,
            pool: self.pool.as_deref().map(pool).transpose()?,
            preference,
            version: self.version,
            started_at: self.started_at.as_deref().map(started_at).transpose()?,
            metadata: self.metadata,
        })
    }
}

/// How the worker wants its queues to be served. `named` are the queues of the same request; if it is
/// empty, the weights are for the queues of the worker's pool or registration and are not checked here.
fn preference(
    strategy: Option<Value>,
    weights: Option<Value>,
    named: &[QueueName],
) -> Result<Option<Preference>, ApiError> {
    let not_null = |value: Option<Value>| value.filter(|value| !value.is_null());
    let strategy =
        not_null(strategy).map(|value| parse_strategy(&value, "strategy")).transpose()?;
    let weights = not_null(weights).map(|value| parse_weights(&value)).transpose()?;
    if let Some(weights) = &weights {
        check_weighted(strategy, weights)?;
        if !named.is_empty() {
            check_named(weights, named)?;
        }
    }
    Ok(match (strategy, weights) {
        (None, None) => None,
        (strategy, weights) => Some(Preference {
            // Weights without a strategy imply the weighted one.
            strategy: strategy.unwrap_or(QueueStrategy::Weighted),
            weights: weights.unwrap_or_default(),
        }),
    })
}

fn queues(names: Vec<String>) -> Result<Vec<QueueName>, ApiError> {
    if names.is_empty() || names.len() > MAX_QUEUES {
        let text = format!("must name from 1 to {MAX_QUEUES} queues");
        return Err(Rejection::field("queues", text)
            .hint("Send \"queues\": [\"default\"].")
            .into());
    }
    let parse = |name: &String| {
        QueueName::parse(name).map_err(|e| Rejection::field("queues", format!("{e}")))
    };
    let mut parsed: Vec<QueueName> = Vec::with_capacity(names.len());
    for name in &names {
        let name = parse(name)?;
        if !parsed.contains(&name) {
            parsed.push(name);
        }
    }
    Ok(parsed)
}

fn visibility(
    app: &Access,
    ms: Option<u64>,
    seconds: Option<u64>,
) -> Result<Option<u64>, ApiError> {
    let tenant_max_ms = app.settings.tenancy.max_visibility_timeout.as_millis() as u64;
    let max_ms = app.rules.max_visibility_ms.min(app.tenant().map_or(u64::MAX, |_| tenant_max_ms));
    let seconds = seconds.map(|seconds| seconds.saturating_mul(1000));
    if let (Some(ms), Some(other)) = (ms, seconds)
        && ms != other
    {
        let text = "'visibility_timeout' and 'visibility_timeout_ms' say different things.";
        return Err(ApiError::validation("visibility_timeout", text));
    }
    match ms.or(seconds) {
        Some(ms) if ms == 0 || ms > max_ms => Err(ApiError::validation(
            "visibility_timeout_ms",
            format!("'visibility_timeout_ms' must be from 1 to {max_ms}."),
        )),
        other => Ok(other),
    }
}

fn worker_id(app: &Access, text: &str) -> Result<WorkerId, ApiError> {
    let id = WorkerId::parse(text).map_err(|e| Rejection::field("worker_id", e.to_string()))?;
    Ok(app.worker(id))
}

/// The time in UTC.
fn started_at(text: &str) -> Result<String, ApiError> {
    match Millis::parse_rfc3339(text) {
        Ok(time) => Ok(time.to_string()),
        Err(error) => Err(Rejection::field("started_at", error.to_string()).into()),
    }
}

fn pool(text: &str) -> Result<PoolName, ApiError> {
    Ok(PoolName::parse(text).map_err(|e| Rejection::field("pool", e.to_string()))?)
}
