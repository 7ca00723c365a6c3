//! Commands that name jobs by id. Ids are looked up on behalf of the caller, so that other tenants' jobs are
//! unknown; every caller may send these.

use rota_engine::{Command, NewPriority, Override, Unchanged};
use rota_model::JobId;

/// A change of jobs.
pub(in crate::http) struct JobsCommand(Command<JobId>);

impl JobsCommand {
    pub fn cancel(ids: Vec<JobId>) -> Self {
        Self(Command::Cancel(ids))
    }

    /// Cancels waiting jobs, and asks the workers of active ones to cancel them.
    pub fn request_cancel(ids: Vec<JobId>) -> Self {
        Self(Command::RequestCancel(ids))
    }

    pub fn activate(ids: Vec<JobId>) -> Self {
        Self(Command::Activate(ids))
    }

    pub fn set_priority(id: JobId, priority: NewPriority) -> Self {
        Self(Command::SetPriority(vec![id], Box::new(priority)))
    }

    pub fn retry(ids: Vec<JobId>) -> Self {
        Self(Command::Retry(ids))
    }

    pub fn retry_only(ids: Vec<JobId>, if_still: Unchanged) -> Self {
        Self(Command::RetryOnly(ids, if_still))
    }

    /// Retries a job of the dead letter with changes. The engine refuses to give it to another tenant.
    pub fn retry_as(id: JobId, changed: Override) -> Self {
        Self(Command::RetryAs(vec![id], Box::new(changed)))
    }

    pub fn delete(ids: Vec<JobId>) -> Self {
        Self(Command::Delete(ids))
    }

    pub fn delete_only(ids: Vec<JobId>, if_still: Unchanged) -> Self {
        Self(Command::DeleteOnly(ids, if_still))
    }

    pub(super) fn into_command(self) -> Command<JobId> {
        self.0
    }
}
