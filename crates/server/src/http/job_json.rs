//! Writes a job's JSON: the stored fragment, followed by the members that the server sets. Every fetch goes
//! through here, so the fragment is copied and never parsed again.

use std::borrow::Cow;

use bytes::Bytes;
use rota_engine::Accepted;
use rota_model::envelope;
use rota_model::row::JobRow;
use rota_model::{Done, Ending, JobId, Live, Millis, Replays, State};
use rota_store::{Body, Record};
use serde_json::Value;

use crate::runtime::Delivery;

/// Writes the members of a JSON object one after another.
pub(super) struct Members<'a>(&'a mut Vec<u8>);

impl<'a> Members<'a> {
    /// Starts a job's object. The caller writes the closing brace.
    fn of_job(out: &'a mut Vec<u8>, id: JobId, body: &[u8]) -> Self {
        envelope::write_head(out, id);
        out.extend_from_slice(body);
        Self(out)
    }

    /// Continues an object that has members already.
    pub fn continued(out: &'a mut Vec<u8>) -> Self {
        Self(out)
    }

    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        rota_model::json::write_str(self.0, value);
    }

    pub fn id(&mut self, key: &str, value: JobId) {
        self.key(key);
        self.0.push(b'"');
        value.write(self.0);
        self.0.push(b'"');
    }

    pub fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        self.0.extend_from_slice(value.to_string().as_bytes());
    }

    pub fn time(&mut self, key: &str, value: Millis) {
        self.key(key);
        self.0.push(b'"');
        value.write_rfc3339(self.0);
        self.0.push(b'"');
    }

    pub fn raw(&mut self, key: &str, json: &[u8]) {
        self.key(key);
        self.0.extend_from_slice(json);
    }

    /// Keys are constants of this crate and need no escaping.
    fn key(&mut self, key: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
    }
}

/// Writes a job that has just been enqueued.
pub(super) fn write_accepted(out: &mut Vec<u8>, job: &Accepted) {
    let mut members = Members::of_job(out, job.id, &job.body);
    members.text("state", job.state.as_str());
    members.number("attempt", 0);
    members.time("created_at", job.created);
    members.time("enqueued_at", job.created);
    out.push(b'}');
}

/// Writes such a job without its arguments, metadata and policies.
pub(super) fn write_accepted_short(out: &mut Vec<u8>, job: &Accepted) {
    const KEPT: [&str; 3] = ["type", "queue", "priority"];
    let short = only(&job.body, |name| KEPT.contains(&name));
    let mut members = Members::of_job(out, job.id, &short);
    members.raw("truncated", b"true");
    members.text("state", job.state.as_str());
    members.number("attempt", 0);
    members.time("created_at", job.created);
    members.time("enqueued_at", job.created);
    out.push(b'}');
}

/// Members that an answer has beside those of its job. A job's own unknown members of these names are
/// only in `job`.
const BESIDE_JOB: [&str; 2] = ["job", "quota_exceeded"];

/// Starts an answer with one job: the job's members, and the whole job as `job`. The caller writes the
/// closing brace. Clients read one or the other.
pub(super) fn write_flat_and_wrapped(out: &mut Vec<u8>, write_job: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write_job(out);
    let job = out.split_off(start);
    let members = &job[1..job.len() - 1];
    out.push(b'{');
    let text = String::from_utf8_lossy(members);
    let may_clash = BESIDE_JOB.iter().any(|name| text.contains(&format!("\"{name}\"")));
    match may_clash {
        true => out.extend_from_slice(&without(members, &BESIDE_JOB)),
        false => out.extend_from_slice(members),
    }
    out.extend_from_slice(b",\"job\":");
    out.extend_from_slice(&job);
}

/// Writes a job for the worker that has claimed it. `record` is given if the job has run before.
pub(super) fn write_delivery(
    out: &mut Vec<u8>,
    job: &Delivery,
    body: &Body,
    record: Option<&Record>,
) {
    let claimed = &job.claimed;
    let enqueued = match record.map(|record| &record.row) {
        Some(JobRow::Live(live)) => live.enqueued,
        _ => body.created,
    };
    let json = match claimed.reservation_cut {
        true => Cow::Owned(without(&body.json, &["visibility_timeout", "visibility_timeout_ms"])),
        false => Cow::Borrowed(&body.json[..]),
    };
    let json = match record.filter(|record| record.replays.is_some()) {
        Some(record) => Cow::Owned(with_replays(&json, record).into_owned()),
        None => json,
    };
    let mut members = Members::of_job(out, body.id, &json);
    members.text("state", State::Active.as_str());
    members.number("attempt", u64::from(claimed.attempt));
    members.time("created_at", body.created);
    members.time("enqueued_at", enqueued);
    members.time("started_at", claimed.started);
    if !claimed.own_timeout {
        members.number("timeout_ms", claimed.timeout_ms);
    }
    if !claimed.own_reservation || claimed.reservation_cut {
        members.number("visibility_timeout_ms", claimed.reserved_ms);
    }
    if let Some(worker) = &claimed.worker {
        members.text("worker_id", worker.local());
    }
    if let Some(record) = record {
        // The first attempt after a retry has the errors of before, but none of its own.
        let paused = matches!(&record.row, JobRow::Live(live) if live.pauses > 0);
        write_errors(&mut members, &record.errors, claimed.attempt > 1 || paused);
    }
    out.push(b'}');
}

/// A job's members, with how often rules have replayed the job in `meta`.
fn with_replays<'a>(members: &'a [u8], record: &Record) -> Cow<'a, [u8]> {
    let Some(replays) = &record.replays else { return Cow::Borrowed(members) };
    let object = format!("{{{}}}", String::from_utf8_lossy(members));
    let replays = serde_json::from_slice::<Replays>(replays);
    let (Ok(replays), Ok(all)) = (replays, rota_model::json::members(&object, "The job")) else {
        return Cow::Borrowed(members);
    };
    let mut out = Vec::with_capacity(members.len() + 128);
    for (key, value) in all {
        if !out.is_empty() {
            out.push(b',');
        }
        rota_model::json::write_str(&mut out, &key);
        out.push(b':');
        let meta = (key == "meta")
            .then(|| serde_json::from_str::<serde_json::Map<String, Value>>(value.get()).ok());
        match meta.flatten() {
            Some(mut meta) => {
                meta.insert("ojs.replay_count".to_owned(), replays.count.into());
                meta.insert("ojs.last_replayed_at".to_owned(), replays.last.to_string().into());
                meta.insert("ojs.replay_rule".to_owned(), replays.rule.clone().into());
                out.extend_from_slice(Value::Object(meta).to_string().as_bytes());
            }
            None => out.extend_from_slice(value.get().as_bytes()),
        }
    }
    Cow::Owned(out)
}

/// A job's members, except for these.
fn without(members: &[u8], excluded: &[&str]) -> Vec<u8> {
    only(members, |name| !excluded.contains(&name))
}

/// A job's members whose names are wanted.
fn only(members: &[u8], is_wanted: impl Fn(&str) -> bool) -> Vec<u8> {
    let object = format!("{{{}}}", String::from_utf8_lossy(members));
    let Ok(all) = rota_model::json::members(&object, "The job") else { return members.to_vec() };
    let mut out = Vec::with_capacity(members.len());
    for (key, value) in all {
        if is_wanted(&key) {
            if !out.is_empty() {
                out.push(b',');
            }
            rota_model::json::write_str(&mut out, &key);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
        }
    }
    out
}

/// Writes a job in its current state.
pub(crate) fn write_record(out: &mut Vec<u8>, record: &Record) {
    let json = with_replays(&record.body.json, record);
    let mut members = Members::of_job(out, record.body.id, &json);
    members.text("state", record.row.state().as_str());
    match &record.row {
        JobRow::Live(live) => write_live(&mut members, live, record),
        JobRow::Done(done) => write_done(&mut members, done, record),
    }
    out.push(b'}');
}

fn write_live(members: &mut Members<'_>, live: &Live, record: &Record) {
    members.number("attempt", u64::from(live.attempt));
    members.time("created_at", record.body.created);
    members.time("enqueued_at", live.enqueued);
    // A job that is available again has not started its next execution.
    if let Some(started) = live.started.filter(|_| live.state != State::Available) {
        members.time("started_at", started);
    }
    if live.is_cancel_requested() {
        members.raw("cancel_requested", b"true");
    }
    match (live.state, live.due) {
        (State::Retryable, Some(due)) => {
            members.time("next_attempt_at", due);
            members.time("next_retry_at", due);
        }
        // The body has the producer's `scheduled_at`; a limit may have rescheduled the job since.
        (State::Scheduled, Some(due)) if is_scheduled(&record.body.json) => {
            members.time("next_attempt_at", due);
        }
        (State::Scheduled, Some(due)) => members.time("scheduled_at", due),
        _ => {}
    }
    if let Some(worker) = live.worker.as_ref().filter(|_| live.state == State::Active) {
        members.text("worker_id", worker.local());
    }
    // A retried job keeps its errors, but has not failed again yet.
    write_errors(members, &record.errors, live.attempt > 0 || live.pauses > 0);
}

/// Whether the producer set `scheduled_at`.
fn is_scheduled(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Given<'a> {
        #[serde(borrow)]
        scheduled_at: Option<&'a serde_json::value::RawValue>,
    }
    let text = [b"{", body, b"}"].concat();
    serde_json::from_slice::<Given>(&text).is_ok_and(|given| given.scheduled_at.is_some())
}

fn write_done(members: &mut Members<'_>, done: &Done, record: &Record) {
    members.number("attempt", u64::from(done.attempt));
    members.time("created_at", record.body.created);
    members.time("enqueued_at", done.enqueued);
    if let Some(started) = done.started {
        members.time("started_at", started);
    }
    match done.ending {
        Ending::Completed => members.time("completed_at", done.at),
        Ending::Cancelled => members.time("cancelled_at", done.at),
        Ending::DeadLetter | Ending::Discarded => {
            members.time("discarded_at", done.at);
            members.time("completed_at", done.at);
        }
        Ending::Expired => {
            members.time("discarded_at", done.at);
            members.time("expired_at", done.at);
        }
    }
    if let Some(result) = &done.result {
        members.raw("result", result);
    }
    write_errors(members, &record.errors, done.ending != Ending::Completed);
}

/// Writes all errors; `with_last`, also the last one as `error`, unless the job has succeeded since.
fn write_errors(members: &mut Members<'_>, errors: &[Bytes], with_last: bool) {
    let Some(last) = errors.last() else { return };
    if with_last {
        members.raw("error", last);
        if let Some(ms) = retry_delay(last) {
            members.number("retry_delay_ms", ms);
        }
    }
    let mut all = vec![b'['];
    for (i, error) in errors.iter().enumerate() {
        if i > 0 {
            all.push(b',');
        }
        all.extend_from_slice(error);
    }
    all.push(b']');
    members.raw("errors", &all);
}

fn retry_delay(error: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Delay {
        retry_delay_ms: Option<u64>,
    }
    serde_json::from_slice::<Delay>(error).ok()?.retry_delay_ms
}
