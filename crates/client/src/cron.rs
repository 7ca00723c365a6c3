//! Recurring schedules.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::page::Pagination;
use crate::{Client, Error, NewJob, Page, PageAt, WithJson};

/// A schedule to register. It replaces a schedule with the same name.
#[derive(Debug, Clone, Serialize)]
pub struct NewCron {
    /// The name, unique within the tenant.
    pub name: String,
    /// Five or six fields, an alias such as `@daily`, or `@every 1h30m`.
    pub expression: String,
    /// A full IANA name such as `Europe/Berlin`; UTC unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// `skip`, `allow`, `cancel_previous` or `enqueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_policy: Option<String>,
    /// Whether the schedule is enabled.
    pub enabled: bool,
    /// Stored for people; the server does not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The job that each run enqueues.
    pub job_template: NewJob,
}

impl NewCron {
    /// An enabled schedule in UTC with the server's overlap policy.
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
    /// The name, unique within the tenant.
    pub name: String,
    /// Whose jobs it enqueues.
    pub tenant_id: Option<String>,
    /// As it was registered.
    pub expression: String,
    /// The IANA name of its time zone.
    pub timezone: Option<String>,
    /// What happens if a run is due before the previous one has finished.
    pub overlap_policy: Option<String>,
    /// Whether the schedule is enabled.
    #[serde(default)]
    pub enabled: bool,
    /// As it was registered: any JSON.
    pub description: Option<Box<RawValue>>,
    /// The job that each run enqueues.
    pub job_template: Option<WithJson<Template>>,
    /// When the name was first registered.
    pub created_at: Option<String>,
    /// When it last fired, or skipped a run.
    pub last_run_at: Option<String>,
    /// When it fires next; `None` while it is disabled.
    pub next_run_at: Option<String>,
    /// Number of jobs enqueued so far.
    #[serde(default)]
    pub run_count: u64,
}

/// The job that a schedule enqueues.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// The job type of each run.
    #[serde(rename = "type")]
    pub kind: String,
    /// The queue of each run; `None` is the default queue.
    pub queue: Option<String>,
    /// The arguments of each run, a JSON array.
    pub args: Option<Box<RawValue>>,
}

/// A run that was started by hand.
#[derive(Debug, Clone, Deserialize)]
pub struct TriggeredRun {
    /// The job of the run.
    pub job_id: String,
}

/// A past run of a schedule.
#[derive(Debug, Clone, Deserialize)]
pub struct CronRun {
    /// The run's job; `None` if the run was skipped.
    pub job_id: Option<String>,
    /// The job's state, `skipped`, or `deleted` if the job is no longer stored.
    pub state: Option<String>,
    /// When the run was due.
    pub scheduled_at: Option<String>,
    /// When its job started.
    pub started_at: Option<String>,
    /// When its job finished.
    pub completed_at: Option<String>,
    /// `schedule` or `manual`.
    pub trigger: Option<String>,
    /// Why it was skipped.
    pub reason: Option<String>,
}

#[derive(Deserialize)]
struct History {
    executions: Vec<WithJson<CronRun>>,
    #[serde(default)]
    pagination: Pagination,
}

#[derive(Deserialize)]
struct OneCron {
    cron: WithJson<Cron>,
}

#[derive(Deserialize)]
struct Listing {
    crons: Vec<WithJson<Cron>>,
    #[serde(default)]
    pagination: Pagination,
}

impl Client {
    /// One page of the schedules, by name.
    pub async fn crons(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Cron>>, Error> {
        // This list has no cursors, but offsets; all pages have the same length.
        let page = at.and_then(PageAt::number);
        let offset = page.map(|page| (page - 1) * u64::from(limit));
        let endpoint = self
            .endpoint(&["cron"])
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

    /// One schedule.
    pub async fn cron(&self, name: &str) -> Result<WithJson<Cron>, Error> {
        Ok(self.get(self.endpoint(&["cron", name])).await?.read::<OneCron>()?.cron)
    }

    /// Registers a schedule: a [`NewCron`], or any JSON object of its shape.
    pub async fn register_cron(&self, cron: &impl Serialize) -> Result<WithJson<Cron>, Error> {
        Ok(self.post(self.endpoint(&["cron"]), cron).await?.read::<OneCron>()?.cron)
    }

    /// Enables or disables a schedule.
    pub async fn enable_cron(&self, name: &str, enabled: bool) -> Result<WithJson<Cron>, Error> {
        let (endpoint, body) = (self.endpoint(&["cron", name]), json!({"enabled": enabled}));
        let answer = self.send_json(Method::PATCH, endpoint, &body, Default::default()).await?;
        Ok(answer.read::<OneCron>()?.cron)
    }

    /// Starts a run now, even if the schedule is disabled.
    pub async fn trigger_cron(&self, name: &str) -> Result<WithJson<TriggeredRun>, Error> {
        self.post_empty(self.endpoint(&["cron", name, "trigger"])).await?.read()
    }

    /// One page of the last runs of a schedule, newest first.
    pub async fn cron_history(
        &self,
        name: &str,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<CronRun>>, Error> {
        let endpoint = self
            .endpoint(&["cron", name, "history"])
            .query("limit", Some(limit))
            .query("page", at.and_then(PageAt::number));
        let history: History = self.get(endpoint).await?.read()?;
        Ok(history.pagination.page(history.executions))
    }

    /// Deletes a schedule. Its existing jobs are not affected.
    pub async fn delete_cron(&self, name: &str) -> Result<WithJson<Cron>, Error> {
        Ok(self.delete(self.endpoint(&["cron", name])).await?.read::<OneCron>()?.cron)
    }
}
