use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::page::Pagination;
use crate::{Client, Error, Kept, NewJob, Page, PageAt};

/// A schedule to be registered. A schedule of the same name is replaced.
#[derive(Debug, Clone, Serialize)]
pub struct NewCron {
    pub name: String,
    pub expression: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// `skip`, `allow`, `cancel_previous` or `enqueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_policy: Option<String>,
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub job_template: NewJob,
}

impl NewCron {
    pub fn new(name: impl Into<String>, expression: impl Into<String>, job: NewJob) -> Self {
        Self {
            name: name.into(),
            expression: expression.into(),
            timezone: None,
            overlap_policy: None,
            enabled: true,
            description: None,
            job_template: job,
        }
    }
}

/// A schedule.
#[derive(Debug, Clone, Deserialize)]
pub struct Cron {
    pub name: String,
    /// Whose jobs it enqueues.
    pub tenant_id: Option<String>,
    pub expression: String,
    pub timezone: Option<String>,
    pub overlap_policy: Option<String>,
    #[serde(default)]
    pub enabled: bool,
    pub description: Option<Box<RawValue>>,
    pub job_template: Option<Kept<Template>>,
    pub created_at: Option<String>,
    pub last_run_at: Option<String>,
    pub next_run_at: Option<String>,
    #[serde(default)]
    pub run_count: u64,
}

/// The job that a schedule enqueues.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    #[serde(rename = "type")]
    pub kind: String,
    pub queue: Option<String>,
    pub args: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct OneCron {
    cron: Kept<Cron>,
}

#[derive(Deserialize)]
struct Listing {
    crons: Vec<Kept<Cron>>,
    #[serde(default)]
    pagination: Pagination,
}

impl Client {
    pub async fn crons(&self, limit: u32, at: Option<&PageAt>) -> Result<Page<Kept<Cron>>, Error> {
        // Without cursors this list goes by offset; its pages are all of the same length.
        let page = at.and_then(PageAt::number);
        let offset = page.map(|page| (page - 1) * u64::from(limit));
        let endpoint = self
            .at(&["cron"])
            .query("limit", Some(limit))
            .query("offset", offset)
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        let mut found = listing.pagination.page(listing.crons);
        if !matches!(found.next, None | Some(PageAt::Cursor(_))) {
            found.next = Some(PageAt::Number(page.unwrap_or(1) + 1));
        }
        Ok(found)
    }

    pub async fn cron(&self, name: &str) -> Result<Kept<Cron>, Error> {
        Ok(self.get(self.at(&["cron", name])).await?.read::<OneCron>()?.cron)
    }

    /// Registers a schedule: a [`NewCron`], or any JSON object of its shape.
    pub async fn register_cron(&self, cron: &impl Serialize) -> Result<Kept<Cron>, Error> {
        Ok(self.post(self.at(&["cron"]), cron).await?.read::<OneCron>()?.cron)
    }

    pub async fn enable_cron(&self, name: &str, enabled: bool) -> Result<Kept<Cron>, Error> {
        let (endpoint, body) = (self.at(&["cron", name]), json!({"enabled": enabled}));
        let answer = self.send_json(Method::PATCH, endpoint, &body, Default::default()).await?;
        Ok(answer.read::<OneCron>()?.cron)
    }

    /// Forgets a schedule; runs that exist stay.
    pub async fn delete_cron(&self, name: &str) -> Result<Kept<Cron>, Error> {
        Ok(self.delete(self.at(&["cron", name])).await?.read::<OneCron>()?.cron)
    }
}
