//! Limits: their use, declarations and overrides.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::base_url::Endpoint;
use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, Rate, Setting, WithJson};

/// The limits of a key, or of one tenant's part of it.
#[derive(Debug, Clone, Deserialize)]
pub struct RateLimit {
    /// Jobs with this key are counted together.
    pub key: String,
    /// `global` or `tenant`.
    pub scope: Option<String>,
    /// The tenant, if the key is counted per tenant.
    pub tenant_id: Option<String>,
    /// How many of its jobs run, if that is limited.
    pub concurrency: Option<ConcurrencyUse>,
    /// How many of its jobs started, if that is limited.
    pub rate: Option<RateUse>,
    /// When its next job may start, if starts are spaced.
    pub throttle: Option<ThrottleUse>,
    /// What happens to a job when the limit is reached: `wait`, `reschedule` or `drop`.
    pub on_limit: Option<String>,
    /// Jobs that wait because of this limit.
    #[serde(default)]
    pub waiting_count: u64,
    /// No job with this key starts before this time.
    pub paused_until: Option<String>,
    /// Why the key is paused.
    pub pause_reason: Option<String>,
    /// The override, which temporarily replaces all other numbers.
    #[serde(rename = "override")]
    pub overridden: Option<Override>,
    /// Whether an operator has declared numbers for the key.
    #[serde(default)]
    pub declared: bool,
    /// The declared numbers.
    pub declaration: Option<Declaration>,
    /// Why the numbers were set.
    pub reason: Option<String>,
    /// Whether jobs with this key have different numbers, of which the smallest are shown.
    #[serde(default)]
    pub mixed: bool,
    /// The limits of each tenant, if the key is counted per tenant.
    pub partitions: Option<Vec<WithJson<RateLimit>>>,
}

/// A bound on active jobs, and its use.
#[derive(Debug, Clone, Deserialize)]
pub struct ConcurrencyUse {
    /// The most that may be active at once.
    pub limit: Option<u64>,
    /// How many are active.
    #[serde(default)]
    pub active: u64,
    /// How many more may start now.
    pub available: Option<u64>,
}

/// A bound on starts in a period, and its use.
#[derive(Debug, Clone, Deserialize)]
pub struct RateUse {
    /// Maximum number of starts in any window of the period.
    pub limit: Option<u64>,
    /// The length of the window, ISO 8601.
    pub period: Option<String>,
    /// Starts within the window that ends now.
    #[serde(default)]
    pub current_count: u64,
    /// When the oldest of these starts leaves the window.
    pub window_resets_at: Option<String>,
}

/// Evenly spaced starts.
#[derive(Debug, Clone, Deserialize)]
pub struct ThrottleUse {
    /// Starts in a period.
    pub limit: Option<u64>,
    /// The period, ISO 8601. Starts are `period / limit` apart.
    pub period: Option<String>,
    /// When the next job may start.
    pub next_allowed_at: Option<String>,
}

/// Numbers that an operator has declared for a key. They replace those of jobs.
#[derive(Debug, Clone, Deserialize)]
pub struct Declaration {
    /// Maximum number of active jobs.
    pub concurrency: Option<u64>,
    /// Maximum number of starts in any window of the period.
    pub rate: Option<Rate>,
    /// Like `rate`, but starts are evenly spaced.
    pub throttle: Option<Rate>,
}

/// An override, which replaces all other numbers of the key.
#[derive(Debug, Clone, Deserialize)]
pub struct Override {
    /// Maximum number of active jobs.
    pub concurrency: Option<u64>,
    /// Maximum number of starts in any window of the period.
    pub rate: Option<Rate>,
    /// Like `rate`, but starts are evenly spaced.
    pub throttle: Option<Rate>,
    /// When it ends.
    pub expires_at: Option<String>,
    /// Why it was set.
    pub reason: Option<String>,
}

/// A change of a limit by an operator.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewRateLimit {
    /// The most jobs active at once; 0 lets none start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Setting<u64>>,
    /// Maximum number of starts in any window of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Setting<Rate>>,
    /// Like `rate`, but starts are evenly spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Setting<Rate>>,
    /// How long the numbers last, ISO 8601: with it they are an override, without it a declaration,
    /// which lasts until it is cleared. Both replace the numbers that jobs carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<String>,
    /// No job with this key starts before this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Setting<String>>,
    /// The reason, shown with the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The limit in a job's envelope.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct JobRateLimit {
    /// Jobs with the same key share its counters; the default is the key of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The most jobs of the key active at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// Maximum number of starts in any window of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Like `rate`, but starts are evenly spaced.
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
    items: Vec<WithJson<RateLimit>>,
    #[serde(default)]
    pagination: Pagination,
}

/// What a limit applies to.
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
    ) -> Result<Page<WithJson<RateLimit>>, Error> {
        let endpoint = self
            .endpoint(&["rate-limits"])
            .query("prefix", prefix)
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// One limit and its use.
    pub async fn rate_limit(&self, what: Limited<'_>) -> Result<WithJson<RateLimit>, Error> {
        self.get(self.limit_of(what)).await?.read()
    }

    /// Changes the given members of a limit.
    pub async fn set_rate_limit(
        &self,
        what: Limited<'_>,
        limit: &NewRateLimit,
    ) -> Result<WithJson<RateLimit>, Error> {
        self.send_json(Method::PUT, self.limit_of(what), limit, Duration::ZERO).await?.read()
    }

    /// Clears overrides and declarations, so that the numbers of jobs apply again.
    pub async fn clear_rate_limit(&self, what: Limited<'_>) -> Result<WithJson<RateLimit>, Error> {
        self.delete(self.limit_of(what)).await?.read()
    }

    fn limit_of(&self, what: Limited<'_>) -> Endpoint {
        match what {
            Limited::Key(key, tenant) => {
                self.endpoint(&["rate-limits", key]).query("tenant", tenant)
            }
            Limited::Queue(name) => self.endpoint(&["admin", "queues", name, "rate-limit"]),
            Limited::Type(kind) => self.endpoint(&["admin", "job-types", kind, "rate-limit"]),
        }
    }
}
