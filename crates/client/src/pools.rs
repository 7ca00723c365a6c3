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
    /// Unique on the server.
    pub name: String,
    /// The queues that its workers serve, in order.
    #[serde(default)]
    pub queues: Vec<String>,
    /// The most jobs active at once over all of its workers; `None` is no bound.
    pub concurrency: Option<u64>,
    /// How the queues take turns: `strict`, `round-robin`, `weighted` or `least-loaded`.
    pub strategy: Option<String>,
    /// By queue, for `weighted`.
    pub weights: Option<BTreeMap<String, f64>>,
    /// Nobody else is given jobs of its queues.
    #[serde(default)]
    pub isolated: bool,
    /// The least that each queue gets, as in force.
    pub starvation_prevention: Option<StarvationPrevention>,
    /// `queue` or `pool`: what a tenant's share is a share of.
    pub fairness_scope: Option<String>,
    /// The scope is the server's, because the pool has none of its own.
    #[serde(default)]
    pub fairness_scope_inherited: bool,
    /// Workers that are in the pool now.
    #[serde(default)]
    pub active_workers: u64,
    /// Jobs that its workers run now.
    #[serde(default)]
    pub active_jobs: u64,
    /// From 0 to 1.
    pub utilization: Option<f64>,
    /// `api` or `file`: who defined it.
    pub origin: Option<String>,
}

/// No queue of a pool is forgotten for long.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StarvationPrevention {
    /// Whether it is in force.
    #[serde(default)]
    pub enabled: bool,
    /// ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_interval: Option<String>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_dispatch_ratio: Option<f64>,
}

/// A pool to be made, or to be replaced.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewPool {
    /// The queues that its workers serve, in order.
    pub queues: Vec<String>,
    /// The most jobs active at once over all of its workers; `None` is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// `strict`, `round-robin`, `weighted` or `least-loaded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// By queue, for `weighted`; a queue without one has 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u64>,
    /// Whether workers outside the pool get no jobs of its queues.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// The least that each queue gets; `None` follows the server's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starvation_prevention: Option<StarvationPrevention>,
    /// `queue` or `pool`; the server's setting unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_scope: Option<String>,
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

    /// Creates the pool, or replaces it as a whole.
    pub async fn set_pool(&self, name: &str, pool: &NewPool) -> Result<WithJson<Pool>, Error> {
        let endpoint = self.endpoint(&["admin", "pools", name]);
        self.send_json(Method::PUT, endpoint, pool, Duration::ZERO).await?.read()
    }

    /// Deletes the pool. Its workers go on without one.
    pub async fn delete_pool(&self, name: &str) -> Result<WithJson<IgnoredAny>, Error> {
        self.delete(self.endpoint(&["admin", "pools", name])).await?.read()
    }
}
