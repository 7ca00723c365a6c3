//! The `data` of each kind of event.

use rota_engine::{Event, EventKind};
use rota_model::{QueueName, Seq};
use serde_json::{Value, json};

use super::fairness;
use crate::runtime::{Names, time_of};

/// The worker of a fetch that names none.
const ANONYMOUS: &str = "anonymous";

/// The members that belong to the kind; those that many kinds share are added to them.
pub(super) fn data_of(event: &Event, names: &Names) -> Value {
    let name = |seq: Seq| names.get(&seq).and_then(Option::as_ref);
    let job_id = |seq: Seq| name(seq).map(|name| name.id.to_string());
    match &event.kind {
        EventKind::Enqueued { job, .. } => json!({"priority": job.class.priority}),
        EventKind::Scheduled { due, .. } => json!({"scheduled_at": due.to_string()}),
        EventKind::Started { attempt, worker, .. } => {
            json!({"attempt": attempt, "worker_id": worker.as_ref().map_or(ANONYMOUS, |id| id.local())})
        }
        EventKind::Completed { attempt, duration_ms, .. } => {
            json!({"attempt": attempt, "duration_ms": duration_ms})
        }
        EventKind::Failed { attempt, error, duration_ms, .. } => {
            json!({"attempt": attempt, "error": object(error), "duration_ms": duration_ms})
        }
        EventKind::Retrying { job, attempt, next, error } => json!({
            "attempt": attempt,
            "max_attempts": job.class.policy.retry.max_attempts,
            "next_retry_at": next.to_string(),
            "error": object(error),
        }),
        EventKind::Discarded { attempt, reason, error, .. } => {
            let last_error = if error.is_empty() { drop_error(reason) } else { object(error) };
            json!({"total_attempts": attempt, "reason": reason, "last_error": last_error})
        }
        EventKind::DeadLetterAdded { attempt, error, .. } => {
            json!({"total_attempts": attempt, "last_error": object(error)})
        }
        EventKind::DeadLetterRetried { .. } | EventKind::DeadLetterDeleted { .. } => json!({}),
        EventKind::DeadLetterReplayed { rule, count, .. } => {
            json!({"rule": rule, "replay_rule": rule, "replay_count": count})
        }
        EventKind::DeadLetterPruned { queue, count, policy, .. } => {
            json!({"queue": queue.local(), "count": count, "pruning_policy": policy.as_str()})
        }
        EventKind::Cancelled { attempt, before, .. } => {
            json!({"attempt": attempt, "previous_state": before.as_str(), "cancelled_by": "api", "reason": null})
        }
        EventKind::Deleted { before, .. } => json!({"previous_state": before.as_str()}),
        EventKind::Expired { job, deadline, .. } => {
            // The job may be gone; its id begins with the time at which it was made.
            let name = name(job.seq);
            let created = name.map(|name| name.created.unwrap_or_else(|| time_of(name.id)));
            let ttl_ms = deadline.zip(created).map(|(deadline, created)| deadline.since(created));
            json!({
                "created_at": created.map(|at| at.to_string()),
                "expired_at": event.at.to_string(),
                "expires_at": deadline.map(|at| at.to_string()),
                "ttl_ms": ttl_ms,
            })
        }
        EventKind::PriorityChanged { job, previous } => {
            json!({"previous_priority": previous, "new_priority": job.class.priority})
        }
        EventKind::Extended { attempt, worker, until, .. } => {
            json!({"attempt": attempt, "worker_id": worker.local(), "visible_until": until.to_string()})
        }
        EventKind::WorkerStarted { worker, queues, concurrency } => json!({
            "worker_id": worker.local(),
            "queues": local(queues),
            // 0 if the worker has not said.
            "concurrency": concurrency.unwrap_or(0),
        }),
        EventKind::WorkerQuieted { worker, active } => {
            json!({"worker_id": worker.local(), "active_jobs": active})
        }
        EventKind::WorkerBeat { worker, active, queues } => {
            json!({"worker_id": worker.local(), "active_jobs": active, "queues": local(queues)})
        }
        EventKind::WorkerStopped { worker, reason, since } => {
            // Only these two of the specification's reasons can be told apart from here.
            let kind = if *reason == "deregistered" { "shutdown" } else { "error" };
            json!({
                "worker_id": worker.local(),
                "reason": kind,
                "cause": reason,
                "uptime_ms": event.at.since(*since),
            })
        }
        EventKind::QueuePaused { queue, .. } => json!({"queue": queue.local(), "paused_by": "api"}),
        EventKind::QueueResumed { queue, .. } => {
            json!({"queue": queue.local(), "resumed_by": "api"})
        }
        EventKind::CronTriggered { cron, expression, scheduled_for, run_count, .. } => json!({
            "cron_name": cron.local(),
            "cron_expr": expression,
            "cron_expression": expression,
            "scheduled_at": scheduled_for.to_string(),
            "scheduled_time": scheduled_for.to_string(),
            "actual_time": event.at.to_string(),
            "run_count": run_count,
        }),
        EventKind::CronSkipped { cron, expression, reason, existing, scheduled_for, .. } => {
            json!({
                "cron_name": cron.local(),
                "cron_expr": expression,
                "cron_expression": expression,
                "reason": reason,
                "existing_job_id": existing.and_then(&job_id),
                "active_job_id": existing.and_then(&job_id),
                "scheduled_time": scheduled_for.to_string(),
            })
        }
        kind => fairness::data_of(kind, &job_id),
    }
}

fn local(queues: &[QueueName]) -> Vec<&str> {
    queues.iter().map(|queue| queue.local()).collect()
}

/// The error of a job that was dropped and did not fail.
fn drop_error(reason: &str) -> Value {
    let message = match reason {
        "dropped_by_rate_limit" => "the job's rate limit was reached, and its 'on_limit' is 'drop'",
        _ => "the queue was full, and the job was dropped for a newer one",
    };
    json!({"type": reason, "code": reason, "message": message, "retryable": false})
}

/// An error's members, as an object.
fn object(members: &[u8]) -> Value {
    let text = format!("{{{}}}", String::from_utf8_lossy(members));
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
