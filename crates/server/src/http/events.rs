//! The last events, to be polled.

use std::collections::HashMap;

use axum::extract::State;
use rota_engine::{Event, EventKind, JobRef};
use rota_model::{JobId, Millis, Seq};
use serde_json::{Value, json};

use super::error::{ApiError, ApiResult};
use super::params::Params;
use super::{App, Shared, reply};
use crate::runtime::{EventFilter, job_of, type_of};

pub(super) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let limit = params.number("limit", 1, 1000, 100)? as usize;
    let after =
        params.get("after").or_else(|| params.get("cursor")).map(parse_cursor).transpose()?;
    let filter = EventFilter {
        types: params.list("types"),
        queues: params.list("queues"),
        job_types: params.list("job_types"),
    };
    let page = app.handle.events().after(after, &filter, limit);
    let known = known_jobs(&app, &page.events).await?;
    let events: Vec<Value> =
        page.events.iter().map(|(id, event)| show(*id, event, &known)).collect();
    let cursor = page.events.last().map(|(id, _)| *id).or(after).map(|id| format!("evt_{id}"));
    Ok(reply::ok(&json!({"events": events, "cursor": cursor, "has_more": page.has_more})))
}

fn parse_cursor(text: &str) -> Result<JobId, ApiError> {
    JobId::parse(text.strip_prefix("evt_").unwrap_or(text)).map_err(|_| {
        ApiError::invalid_request("'after' must be the id of an event.")
            .hint("Use 'cursor' of the answer before, unchanged.")
    })
}

/// What an event does not say about its job.
#[derive(Default)]
struct Known {
    ids: HashMap<Seq, JobId>,
    created: HashMap<Seq, Millis>,
}

/// The engine does not always know the id behind a number. Other events of the same job may, and
/// the store does as long as it has the job.
async fn known_jobs(app: &App, events: &[(JobId, Event)]) -> Result<Known, ApiError> {
    let mut seqs: Vec<Seq> = events.iter().flat_map(|(_, event)| seqs_of(event)).collect();
    seqs.sort_unstable();
    seqs.dedup();
    let mut known = Known::default();
    let bodies = app.handle.bodies(seqs.clone()).await?;
    for (&seq, body) in seqs.iter().zip(&bodies) {
        if let Some(body) = body {
            known.ids.insert(seq, body.id);
            known.created.insert(seq, body.created);
        }
    }
    // Only jobs that are gone are worth a walk through the ring.
    seqs.retain(|seq| !known.ids.contains_key(seq));
    if !seqs.is_empty() {
        known.ids.extend(app.handle.events().ids_of(&seqs));
    }
    Ok(known)
}

fn seqs_of(event: &Event) -> impl Iterator<Item = Seq> + use<> {
    let existing = match &event.kind {
        EventKind::CronSkipped { existing, .. } => *existing,
        _ => None,
    };
    job_of(&event.kind).map(|job| job.seq).into_iter().chain(existing)
}

fn show(id: JobId, event: &Event, known: &Known) -> Value {
    let job_id = |seq: Seq| known.ids.get(&seq).map(ToString::to_string);
    let (subject, component) = match &event.kind {
        EventKind::WorkerStarted { worker }
        | EventKind::WorkerQuieted { worker, .. }
        | EventKind::WorkerBeat { worker, .. }
        | EventKind::WorkerStopped { worker, .. } => (Some(worker.to_string()), "workers"),
        EventKind::QueuePaused { queue } | EventKind::QueueResumed { queue } => {
            (Some(queue.to_string()), "api")
        }
        EventKind::CronTriggered { cron, .. } | EventKind::CronSkipped { cron, .. } => {
            (Some(cron.to_string()), "cron")
        }
        kind => (job_of(kind).and_then(|job| job_id(job.seq)), "engine"),
    };
    let mut data = data_of(&event.kind, &job_id, event, known);
    if let Some(job) = job_of(&event.kind) {
        describe(&mut data, job, job_id(job.seq));
    }
    json!({
        "specversion": "1.0",
        "id": format!("evt_{id}"),
        "type": type_of(&event.kind),
        "source": format!("ojs://rota/{component}"),
        "time": event.at.to_string(),
        "subject": subject,
        "data": data,
    })
}

fn describe(data: &mut Value, job: &JobRef, id: Option<String>) {
    super::queues::merge(
        data,
        &json!({"job_id": id, "job_type": job.class.kind, "queue": job.class.queue}),
    );
}

fn data_of(
    kind: &EventKind,
    job_id: &dyn Fn(Seq) -> Option<String>,
    event: &Event,
    known: &Known,
) -> Value {
    match kind {
        EventKind::Enqueued { job } => json!({"priority": job.class.priority}),
        EventKind::Scheduled { due, .. } => json!({"scheduled_at": due.to_string()}),
        EventKind::Started { attempt, worker, .. } => {
            json!({"attempt": attempt, "worker_id": worker})
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
            json!({"total_attempts": attempt, "reason": reason, "last_error": object(error)})
        }
        EventKind::Cancelled { attempt, before, .. } => {
            json!({"attempt": attempt, "previous_state": before.as_str(), "cancelled_by": "api", "reason": null})
        }
        EventKind::Expired { job, deadline } => {
            let created = known.created.get(&job.seq);
            let ttl_ms = deadline.zip(created).map(|(deadline, created)| deadline.since(*created));
            json!({
                "created_at": created.map(ToString::to_string),
                "expired_at": event.at.to_string(),
                "expires_at": deadline.map(|at| at.to_string()),
                "ttl_ms": ttl_ms,
            })
        }
        EventKind::Extended { attempt, worker, until, .. } => {
            json!({"attempt": attempt, "worker_id": worker, "visible_until": until.to_string()})
        }
        EventKind::WorkerStarted { worker } => json!({"worker_id": worker}),
        EventKind::WorkerQuieted { worker, active } | EventKind::WorkerBeat { worker, active } => {
            json!({"worker_id": worker, "active_jobs": active})
        }
        EventKind::WorkerStopped { worker, reason, since } => {
            json!({"worker_id": worker, "reason": reason, "uptime_ms": event.at.since(*since)})
        }
        EventKind::QueuePaused { queue } => json!({"queue": queue, "paused_by": "api"}),
        EventKind::QueueResumed { queue } => json!({"queue": queue, "resumed_by": "api"}),
        EventKind::CronTriggered { cron, expression, scheduled_for, run_count, .. } => json!({
            "cron_name": cron,
            "cron_expr": expression,
            "cron_expression": expression,
            "scheduled_at": scheduled_for.to_string(),
            "scheduled_time": scheduled_for.to_string(),
            "actual_time": event.at.to_string(),
            "run_count": run_count,
        }),
        EventKind::CronSkipped { cron, expression, class, reason, existing, scheduled_for } => {
            json!({
                "cron_name": cron,
                "cron_expr": expression,
                "cron_expression": expression,
                "job_type": class.kind,
                "reason": reason,
                "existing_job_id": existing.and_then(job_id),
                "active_job_id": existing.and_then(job_id),
                "scheduled_time": scheduled_for.to_string(),
            })
        }
    }
}

/// An error's members, as an object.
fn object(members: &[u8]) -> Value {
    let text = format!("{{{}}}", String::from_utf8_lossy(members));
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
