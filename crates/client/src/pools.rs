//! Pools of workers.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, WithJson};

/// Workers that share queues and a strategy.
#[derive(Debug, Clone, Deserialize)]
pub struct Pool {
    /// Unique among the pools of its owner.
    pub name: String,
    /// The tenant that it belongs to; `None` for the operator's.
    pub tenant_id: Option<String>,
    /// The tenants that may use an operator's pool. Only operators see it.
    pub tenants: Option<PoolTenants>,
    /// The queues that its workers serve, in order.
    #[serde(default)]
    pub queues: Vec<String>,
    /// Maximum number of active jobs over all workers of the pool; `None` is unlimited.
    pub concurrency: Option<u64>,
    /// How the queues take turns: `strict`, `round-robin`, `weighted` or `least-loaded`.
    pub strategy: Option<String>,
    /// Weights by queue, for `weighted`.
    pub weights: Option<BTreeMap<String, f64>>,
    /// Whether only the pool's workers get jobs of its queues.
    #[serde(default)]
    pub isolated: bool,
    /// Whether tenants whose workers wait for a slot get it by weight.
    #[serde(default)]
    pub fair: bool,
    /// The guaranteed part of each queue.
    pub starvation_prevention: Option<StarvationPrevention>,
    /// The scope within which tenants compete: `queue` or `pool`.
    pub fairness_scope: Option<String>,
    /// Whether the scope is the server's default.
    #[serde(default)]
    pub fairness_scope_inherited: bool,
    /// Number of workers in the pool; for a tenant, of its own pools only.
    pub active_workers: Option<u64>,
    /// Number of jobs that its workers are running; for a tenant, of its own pools only.
    pub active_jobs: Option<u64>,
    /// From 0 to 1.
    pub utilization: Option<f64>,
    /// `api` or `file`: who defined it.
    pub origin: Option<String>,
}

/// The tenants that may use an operator's pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PoolTenants {
    /// `*`: all tenants.
    All(String),
    /// These tenants.
    Listed(Vec<String>),
}

/// Starvation prevention: the guaranteed part of each queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StarvationPrevention {
    /// Whether it is enabled.
    #[serde(default)]
    pub enabled: bool,
    /// ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_interval: Option<String>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_dispatch_ratio: Option<f64>,
}

/// A pool to create or replace.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewPool {
    /// The queues that its workers serve, in order.
    pub queues: Vec<String>,
    /// Maximum number of active jobs over all workers of the pool; `None` is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// `strict`, `round-robin`, `weighted` or `least-loaded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Weights by queue, for `weighted`; the default is 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u64>,
    /// Whether workers outside the pool get no jobs of its queues.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// The guaranteed part of each queue; `None` uses the server's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starvation_prevention: Option<StarvationPrevention>,
    /// `queue` or `pool`; `None` uses the server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_scope: Option<String>,
    /// The tenants that may use an operator's pool; `None` uses the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<PoolTenants>,
    /// Whether tenants whose workers wait for a slot get it by weight.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fair: bool,
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<WithJson<Pool>>,
    #[serde(default)]
    pagination: Pagination,
}

impl Client {
    /// One page of the pools, by name.
    pub async fn pools(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Pool>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "pools"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// One pool.
    pub async fn pool(&self, name: &str) -> Result<WithJson<Pool>, Error> {
        self.get(self.endpoint(&["admin", "pools", name])).await?.read()
    }

    /// Creates or replaces a pool.
    pub async fn set_pool(&self, name: &str, pool: &NewPool) -> Result<WithJson<Pool>, Error> {
        let endpoint = self.endpoint(&["admin", "pools", name]);
        self.send_json(Method::PUT, endpoint, pool, Duration::ZERO).await?.read()
    }

    /// Deletes a pool. Its workers continue without one.
    pub async fn delete_pool(&self, name: &str) -> Result<WithJson<IgnoredAny>, Error> {
        self.delete(self.endpoint(&["admin", "pools", name])).await?.read()
    }
}
