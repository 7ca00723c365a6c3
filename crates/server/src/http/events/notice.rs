//! Events about the stream itself, which nobody else sees.

use rota_model::row::JobRow;
use rota_model::{JobId, Millis, State};
use rota_store::Record;
use serde_json::{Value, json};

use super::super::job_json;
use super::json::{envelope, event_id};

/// Events between two moments are not there any more.
pub(super) struct Gap<'a> {
    pub channel: &'a str,
    /// What goes on behind it goes on behind the gap.
    pub id: JobId,
    pub start: Millis,
    pub end: Millis,
    /// Of any kind; not known when they were another process's.
    pub missed: Option<u64>,
}

impl Gap<'_> {
    pub fn show(&self) -> Value {
        let mut data = json!({
            "channel": self.channel,
            "gap_start": self.start.to_string(),
            "gap_end": self.end.to_string(),
        });
        if let Some(missed) = self.missed {
            data["estimated_missed_count"] = json!(missed);
        }
        system(self.id, "system.gap", self.end, &data)
    }
}

/// The same, for a reader that was connected all the time and too slow.
pub(super) fn dropped(gap: &Gap<'_>, count: u64, oldest: JobId, now: Millis) -> Value {
    let data = json!({
        "channel": gap.channel,
        "dropped_count": count,
        "oldest_dropped_id": event_id(oldest),
        "newest_dropped_id": event_id(gap.id),
        "timestamp": now.to_string(),
    });
    system(gap.id, "system.events_dropped", now, &data)
}

pub(super) fn shutdown(id: JobId, now: Millis, grace_ms: u64) -> Value {
    let data = json!({"reason": "shutdown", "grace_period_ms": grace_ms});
    system(id, "server.shutdown", now, &data)
}

fn system(id: JobId, name: &str, at: Millis, data: &Value) -> Value {
    envelope(id, name, "api", at, &Value::Null, data)
}

/// How a job ended, if it has: what is there to say when nothing more will happen to it.
pub(super) struct End {
    job: Value,
    at: Millis,
}

pub(super) fn end_of(record: &Record) -> Option<End> {
    let JobRow::Done(done) = &record.row else { return None };
    let mut text = Vec::new();
    job_json::write_record(&mut text, record);
    Some(End { job: serde_json::from_slice(&text).unwrap_or_default(), at: done.at })
}

impl End {
    pub fn show(&self, id: JobId) -> Value {
        let job = &self.job;
        // Only active jobs can be completed; elsewhere the record does not tell.
        let from = (job["state"] == State::Completed.as_str()).then_some(State::Active.as_str());
        let data = json!({
            "job_id": job["id"],
            "queue": job["queue"],
            "job_type": job["type"],
            "type": job["type"],
            "from": from,
            "to": job["state"],
            "timestamp": self.at.to_string(),
        });
        envelope(id, "job.state_changed", "engine", self.at, &job["id"], &data)
    }
}
