use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::base_url::Endpoint;
use crate::page::Pagination;
use crate::{Client, Error, Kept, Page, PageAt, Rate, Setting};

/// The limits of a key, or of one tenant's part of it.
#[derive(Debug, Clone, Deserialize)]
pub struct RateLimit {
    pub key: String,
    /// `global` or `tenant`.
    pub scope: Option<String>,
    pub tenant_id: Option<String>,
    pub concurrency: Option<ConcurrencyUse>,
    pub rate: Option<RateUse>,
    pub throttle: Option<ThrottleUse>,
    /// What becomes of a job that is over the limit: `wait`, `reschedule` or `drop`.
    pub on_limit: Option<String>,
    #[serde(default)]
    pub waiting_count: u64,
    pub paused_until: Option<String>,
    pub pause_reason: Option<String>,
    #[serde(rename = "override")]
    pub overridden: Option<Override>,
    /// An operator has declared the key.
    #[serde(default)]
    pub declared: bool,
    /// What holds beside the numbers that jobs carry.
    pub declaration: Option<Declaration>,
    /// Why the numbers were set.
    pub reason: Option<String>,
    /// Its jobs carry different numbers; the smallest are shown.
    #[serde(default)]
    pub mixed: bool,
    /// Of each tenant, when the key is counted by tenant.
    pub partitions: Option<Vec<Kept<RateLimit>>>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ConcurrencyUse {
    pub limit: Option<u64>,
    #[serde(default)]
    pub active: u64,
    pub available: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RateUse {
    pub limit: Option<u64>,
    pub period: Option<String>,
    #[serde(default)]
    pub current_count: u64,
    pub window_resets_at: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ThrottleUse {
    pub limit: Option<u64>,
    pub period: Option<String>,
    pub next_allowed_at: Option<String>,
}

/// What holds beside the numbers that jobs carry; the narrower wins.
#[derive(Debug, Clone, Deserialize)]
pub struct Declaration {
    pub concurrency: Option<u64>,
    pub rate: Option<Rate>,
    pub throttle: Option<Rate>,
}

/// What counts instead of all other numbers of the key.
#[derive(Debug, Clone, Deserialize)]
pub struct Override {
    pub concurrency: Option<u64>,
    pub rate: Option<Rate>,
    pub throttle: Option<Rate>,
    pub expires_at: Option<String>,
    pub reason: Option<String>,
}

/// What an operator says about a key.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewRateLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Setting<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Setting<Rate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Setting<Rate>>,
    /// How long it counts instead of all other numbers, ISO 8601. Unless told it holds beside them
    /// until it is cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<String>,
    /// No job of the key starts before; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Setting<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The limits that a job carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct JobRateLimit {
    /// Jobs with the same key share its counters; that of the queue unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Rate>,
    /// `wait`, `reschedule` or `drop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_limit: Option<String>,
    /// `global` or `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<Kept<RateLimit>>,
    #[serde(default)]
    pagination: Pagination,
}

/// What is limited.
#[derive(Debug, Clone, Copy)]
pub enum Limited<'a> {
    /// All jobs with this key; of one tenant if there is one.
    Key(&'a str, Option<&'a str>),
    /// All jobs of a queue.
    Queue(&'a str),
    /// All jobs of a type.
    Type(&'a str),
}

impl Client {
    /// Those whose key begins like this, or all.
    pub async fn rate_limits(
        &self,
        prefix: Option<&str>,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<Kept<RateLimit>>, Error> {
        let endpoint = self
            .at(&["rate-limits"])
            .query("prefix", prefix)
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    pub async fn rate_limit(&self, what: Limited<'_>) -> Result<Kept<RateLimit>, Error> {
        self.get(self.limit_of(what)).await?.read()
    }

    /// Changes what is said, and nothing else.
    pub async fn set_rate_limit(
        &self,
        what: Limited<'_>,
        limit: &NewRateLimit,
    ) -> Result<Kept<RateLimit>, Error> {
        self.send_json(Method::PUT, self.limit_of(what), limit, Duration::ZERO).await?.read()
    }

    /// Only what jobs carry counts again.
    pub async fn clear_rate_limit(&self, what: Limited<'_>) -> Result<Kept<RateLimit>, Error> {
        self.delete(self.limit_of(what)).await?.read()
    }

    fn limit_of(&self, what: Limited<'_>) -> Endpoint {
        match what {
            Limited::Key(key, tenant) => self.at(&["rate-limits", key]).query("tenant", tenant),
            Limited::Queue(name) => self.at(&["admin", "queues", name, "rate-limit"]),
            Limited::Type(kind) => self.at(&["admin", "job-types", kind, "rate-limit"]),
        }
    }
}
