//! The route that changes the priority of a waiting job.

use rota_engine::{NewPriority, Refusal, SeenJob};
use rota_model::row::JobRow;
use rota_model::{Rejection, envelope};
use rota_store::Record;

use super::access::JobsCommand;
use super::body::{self, Json};
use super::error::{ApiError, ApiResult};
use super::params::PathName;
use super::{Access, jobs};

/// How often the job is read again if it changes between reading and writing it.
const MAX_ATTEMPTS: u32 = 5;

pub(super) async fn change(app: Access, name: PathName, body: Json) -> ApiResult {
    let members = body.members_of(&["priority"], "a change of a job")?;
    let priority = body::member(&members, "priority").ok_or_else(|| {
        Rejection::field("priority", "is required").hint("Send {\"priority\": N}, -100 to 100.")
    })?;
    let priority = envelope::parse_priority(priority)?;
    let mut attempts_left = MAX_ATTEMPTS;
    loop {
        let record = app.record(name.job()?).await?;
        let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
        attempts_left -= 1;
        match set(&app, &record, priority).await? {
            Ok(previous) => {
                return jobs::job_with(&app, record.body.id, |members| {
                    members.raw("previous_priority", previous.to_string().as_bytes());
                })
                .await;
            }
            Err(Refusal::NoLongerSelected { .. }) if attempts_left > 0 => {}
            Err(refusal) => return Err(jobs::refused(refusal, &name)),
        }
    }
}

/// Sets the priority of the job that was read, and returns the one before.
async fn set(
    app: &Access,
    record: &Record,
    priority: i16,
) -> Result<Result<i16, Refusal>, ApiError> {
    let JobRow::Live(live) = &record.row else {
        return Ok(Err(Refusal::NotWaiting { state: record.row.state() }));
    };
    let stored = String::from_utf8_lossy(&record.body.json);
    let (previous, body) = envelope::with_priority(&stored, priority)?;
    let new = NewPriority { priority, body, seen: SeenJob::of(live) };
    let command = JobsCommand::set_priority(record.body.id, new);
    Ok(jobs::ask_one(app, command).await?.map(|_| previous))
}
