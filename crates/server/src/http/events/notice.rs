//! Events about a stream itself, which only its client sees.

use rota_model::row::JobRow;
use rota_model::{JobId, Millis};
use rota_store::Record;
use serde_json::{Value, json};

use super::super::job_json;
use super::form::STATE_CHANGED;
use super::json::event_id;

pub(super) struct Notice {
    pub id: JobId,
    pub name: &'static str,
    pub at: Millis,
    pub data: Value,
}

/// Events between two moments are not there any more.
pub(super) struct Gap<'a> {
    pub channel: &'a str,
    /// What goes on behind it goes on behind the gap.
    pub id: JobId,
    pub start: Millis,
    pub end: Millis,
    /// Of any kind; not known when they were another process's, and not shown to a tenant, because most
    /// may be others'.
    pub missed: Option<u64>,
}

impl Gap<'_> {
    /// How many were missed, where a number is required.
    pub fn at_least(&self) -> u64 {
        self.missed.unwrap_or(1)
    }

    pub fn notice(&self) -> Notice {
        let mut data = json!({
            "channel": self.channel,
            "gap_start": self.start.to_string(),
            "gap_end": self.end.to_string(),
        });
        if let Some(missed) = self.missed {
            data["estimated_missed_count"] = json!(missed);
        }
        Notice { id: self.id, name: "system.gap", at: self.end, data }
    }
}

/// The same, for a reader that was connected all the time and too slow.
pub(super) fn dropped(gap: &Gap<'_>, oldest: JobId, now: Millis) -> Notice {
    let data = json!({
        "channel": gap.channel,
        "dropped_count": gap.at_least(),
        "oldest_dropped_id": event_id(oldest),
        "newest_dropped_id": event_id(gap.id),
        "timestamp": now.to_string(),
    });
    Notice { id: gap.id, name: "system.events_dropped", at: now, data }
}

pub(super) fn shutdown(id: JobId, now: Millis, grace_ms: u64) -> Notice {
    let data = json!({"reason": "shutdown", "grace_period_ms": grace_ms});
    Notice { id, name: "server.shutdown", at: now, data }
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
    /// `from` and `to` are the same: the state is reported, and did not change.
    pub fn notice(&self, id: JobId) -> Notice {
        let job = &self.job;
        let data = json!({
            "job_id": job["id"],
            "queue": job["queue"],
            "type": job["type"],
            "job_type": job["type"],
            "from": job["state"],
            "to": job["state"],
            "timestamp": self.at.to_string(),
        });
        Notice { id, name: STATE_CHANGED, at: self.at, data }
    }
}
