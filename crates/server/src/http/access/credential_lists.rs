//! The queues and job types that the credentials of a request are for.

use axum::http::StatusCode;
use rota_identity::Identity;
use rota_model::envelope::NewJob;
use rota_model::{Class, JobType, LimitKey, QueueName};

use super::Access;
use crate::http::error::ApiError;

impl Access {
    /// Refuses jobs for other queues or of other types.
    pub(in crate::http) fn check_jobs(&self, jobs: &[NewJob]) -> Result<(), ApiError> {
        jobs.iter().enumerate().try_for_each(|(index, job)| {
            let checked = self.check_class(&job.class);
            checked.map_err(|error| match jobs {
                [_] => error,
                _ => error.detail("index", index),
            })
        })
    }

    /// The same for jobs that are yet to be made, by a schedule.
    pub(in crate::http) fn check_class(&self, class: &Class) -> Result<(), ApiError> {
        self.check_queue_and_type(&class.queue, &class.kind)
    }

    /// Refuses jobs for another queue or of another type.
    pub(in crate::http) fn check_queue_and_type(
        &self,
        queue: &QueueName,
        kind: &JobType,
    ) -> Result<(), ApiError> {
        self.caller.identity().map_or(Ok(()), |identity| check_lists(identity, queue, kind))
    }

    /// Refuses figures of all queues together to credentials that are for some of them. `what` is the
    /// subject of the message.
    pub(in crate::http) fn check_all_queues(&self, what: &str) -> Result<(), ApiError> {
        let Some(identity) = self.caller.identity().filter(|identity| identity.queues.is_some())
        else {
            return Ok(());
        };
        let text = format!(
            "{what} is about all queues, and the credentials '{}' are for some of them.",
            identity.subject
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
            .hint("Use credentials without a list of queues.")
            .detail("principal", &*identity.subject))
    }

    /// Whether the credentials are for this queue.
    pub(super) fn sees_queue(&self, name: &QueueName) -> bool {
        let list = self.caller.identity().and_then(|identity| identity.queues.as_ref());
        list.is_none_or(|list| list.contains(name))
    }

    /// Refuses to create or configure a queue that the credentials are not for.
    pub(in crate::http) fn check_queue(&self, name: &QueueName) -> Result<(), ApiError> {
        match self.caller.identity() {
            Some(identity) if !self.sees_queue(name) => {
                Err(denied(identity, "admin", "queue", name))
            }
            _ => Ok(()),
        }
    }

    /// Whether the credentials are for all that a limit's key concerns: with a list of queues, only `queue:` keys of
    /// these.
    pub(super) fn is_for_key(&self, key: &LimitKey) -> bool {
        let Some(queues) = self.caller.identity().and_then(|identity| identity.queues.as_ref())
        else {
            return true;
        };
        let local = key.local();
        let queue = local.strip_prefix("queue:");
        queue.is_some_and(|queue| queues.iter().any(|name| **name == *queue))
    }

    /// The queues of a fetch: those that it names, which must all be on the list; without names, the list.
    pub(in crate::http) fn queues_to_fetch(
        &self,
        named: Vec<QueueName>,
    ) -> Result<Vec<QueueName>, ApiError> {
        let Some(identity) = self.caller.identity() else { return Ok(named) };
        let Some(queues) = &identity.queues else { return Ok(named) };
        match named.iter().find(|queue| !queues.contains(queue)) {
            Some(queue) => Err(denied(identity, "dequeue", "queue", queue)),
            None if named.is_empty() => Ok(queues.to_vec()),
            None => Ok(named),
        }
    }
}

fn check_lists(identity: &Identity, queue: &QueueName, kind: &JobType) -> Result<(), ApiError> {
    let queue = queue.local();
    if identity.queues.as_ref().is_some_and(|list| list.iter().all(|name| **name != *queue)) {
        return Err(denied(identity, "enqueue", "queue", queue));
    }
    if identity.job_types.as_ref().is_some_and(|list| !list.contains(kind)) {
        return Err(denied(identity, "enqueue", "job type", kind));
    }
    Ok(())
}

fn denied(identity: &Identity, operation: &str, what: &str, name: &str) -> ApiError {
    let text = format!("The credentials '{}' are not for the {what} '{name}'.", identity.subject);
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("Use credentials without such a list, or with this name on it.")
        .detail("principal", &*identity.subject)
        .detail("operation", operation)
        .detail(&what.replace(' ', "_"), name)
}
