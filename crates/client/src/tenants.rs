//! Listing, configuring and deleting tenants.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::page::Pagination;
use crate::tenant::{
    Tenant, TenantConfig, TenantLimitUse, TenantStats, TenantSummary, TenantUsage,
};
use crate::{Client, Error, Job, JobFilter, Page, PageAt, WithJson};

const PURGE_TIMEOUT: Duration = Duration::from_secs(600);

/// The order of a list of tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantOrder {
    /// By name.
    Id,
    /// Most waiting jobs first.
    Depth,
    /// Most active jobs first.
    Active,
    /// Most jobs enqueued in the last minute first.
    Enqueued,
}

/// A change of a tenant's configuration.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantChange {
    /// When it was changed.
    pub at: Option<String>,
    /// `put`, `limits`, `delete` or `release`.
    pub what: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
    /// The configuration before; null if there was none.
    #[serde(default)]
    pub before: Value,
    /// The configuration after; null if it was deleted.
    #[serde(default)]
    pub after: Value,
}

/// Selects the usage of a tenant. Fields that are `None` have the server's defaults.
#[derive(Debug, Clone, Default)]
pub struct UsageQuery {
    /// `hour` or `day`.
    pub per: Option<String>,
    /// RFC 3339.
    pub from: Option<String>,
    /// The end of the range; now unless set.
    pub to: Option<String>,
    /// Periods on a page.
    pub per_page: Option<u32>,
    /// Counted from 1.
    pub page: Option<u32>,
}

/// A deleted tenant.
#[derive(Debug, Clone, Deserialize)]
pub struct DeletedTenant {
    /// The tenant's id.
    pub tenant_id: Option<String>,
    /// Jobs that were deleted or cancelled with it.
    #[serde(default)]
    pub purged_jobs: u64,
}

#[derive(Deserialize)]
struct Listing<T> {
    items: Vec<T>,
    #[serde(default)]
    pagination: Pagination,
}

impl Client {
    /// One page of the tenants, in this order.
    pub async fn tenants(
        &self,
        order: TenantOrder,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<TenantSummary>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "tenants"])
            .query("sort", Some(order.name()))
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing<_> = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// One tenant, with what is configured and what it uses.
    pub async fn tenant(&self, id: &str) -> Result<WithJson<Tenant>, Error> {
        self.get(self.endpoint(&["admin", "tenants", id])).await?.read()
    }

    /// Replaces the configuration of a tenant.
    pub async fn set_tenant(
        &self,
        id: &str,
        config: &TenantConfig,
    ) -> Result<WithJson<Tenant>, Error> {
        let endpoint = self.endpoint(&["admin", "tenants", id]);
        self.send_json(Method::PUT, endpoint, config, Duration::ZERO).await?.read()
    }

    /// Changes the given members of a tenant's configuration.
    pub async fn change_tenant(
        &self,
        id: &str,
        config: &TenantConfig,
    ) -> Result<WithJson<Tenant>, Error> {
        let endpoint = self.endpoint(&["admin", "tenants", id, "limits"]);
        self.send_json(Method::PUT, endpoint, config, Duration::ZERO).await?.read()
    }

    /// The limits, and how much of them is used.
    pub async fn tenant_limits(&self, id: &str) -> Result<WithJson<TenantLimitUse>, Error> {
        self.get(self.endpoint(&["admin", "tenants", id, "limits"])).await?.read()
    }

    /// Reads the statistics of a tenant.
    pub async fn tenant_stats(&self, id: &str) -> Result<WithJson<TenantStats>, Error> {
        self.get(self.endpoint(&["admin", "tenants", id, "stats"])).await?.read()
    }

    /// Reads the usage of a tenant by hour or day.
    pub async fn tenant_usage(
        &self,
        id: &str,
        query: &UsageQuery,
    ) -> Result<WithJson<TenantUsage>, Error> {
        let endpoint = self
            .endpoint(&["admin", "tenants", id, "usage"])
            .query("per", query.per.as_ref())
            .query("from", query.from.as_ref())
            .query("to", query.to.as_ref())
            .query("per_page", query.per_page)
            .query("page", query.page);
        self.get(endpoint).await?.read()
    }

    /// One page of a tenant's jobs.
    pub async fn tenant_jobs(
        &self,
        id: &str,
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        self.listed(self.endpoint(&["admin", "tenants", id, "jobs"]), filter, limit, at).await
    }

    /// Reads the history of changes of a tenant.
    pub async fn tenant_changes(
        &self,
        id: &str,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<TenantChange>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "tenants", id, "changes"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing<_> = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// Ends the throttling of a noisy tenant early.
    pub async fn release_tenant(&self, id: &str) -> Result<WithJson<IgnoredAny>, Error> {
        self.post_empty(self.endpoint(&["admin", "tenants", id, "release"])).await?.read()
    }

    /// Deletes a tenant. A tenant with unfinished jobs is not deleted, unless these are to be deleted too.
    pub async fn delete_tenant(
        &self,
        id: &str,
        purge: bool,
    ) -> Result<WithJson<DeletedTenant>, Error> {
        let endpoint = self.endpoint(&["admin", "tenants", id]);
        if !purge {
            return self.delete(endpoint).await?.read();
        }
        let (endpoint, body) = (endpoint.query("purge", Some(true)), json!({"confirm": true}));
        self.send_json(Method::DELETE, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }
}

impl TenantOrder {
    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Depth => "depth",
            Self::Active => "active",
            Self::Enqueued => "enqueued",
        }
    }
}
