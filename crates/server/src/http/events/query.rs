//! Parses the parameters that select events.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use rota_model::JobId;

use super::super::error::ApiError;
use super::super::params::Params;
use super::types;
use crate::runtime::{EventFilter, TypeFilter};

const TYPES: [&str; 3] = ["types", "event_types", "type"];
const QUEUES: [&str; 2] = ["queues", "queue"];
const JOB_TYPES: [&str; 2] = ["job_types", "job_type"];
const TENANTS: [&str; 3] = ["tenants", "tenant", "tenant_id"];
const CURSORS: [&str; 3] = ["after", "cursor", "last_event_id"];

/// The filter for whole envelopes. Of what it admits, a caller sees its own events only.
pub(super) fn filter_of(params: &Params) -> Result<EventFilter, ApiError> {
    filter_with(params, types::OF_ENVELOPES)
}

/// The filter for a channel, which has names of its own for events.
pub(super) fn channel_filter(params: &Params) -> Result<EventFilter, ApiError> {
    filter_with(params, types::OF_CHANNELS)
}

fn filter_with(params: &Params, known: &[&[&str]]) -> Result<EventFilter, ApiError> {
    let any = |names: &[&str]| -> Vec<String> {
        names.iter().flat_map(|name| params.list(name)).collect()
    };
    for name in TYPES {
        types::check(&params.list(name), known, name)?;
    }
    Ok(EventFilter {
        types: TypeFilter(any(&TYPES)),
        queues: any(&QUEUES),
        job_types: any(&JOB_TYPES),
        tenants: any(&TENANTS),
        ..EventFilter::default()
    })
}

/// The event behind which to go on.
pub(super) fn cursor_of(params: &Params) -> Result<Option<JobId>, ApiError> {
    let given = params.one_of(&CURSORS)?.map(|(_, cursor)| cursor);
    let parse = |text: &str| {
        parse_id(text).ok_or_else(|| {
            ApiError::invalid_request("'after' must be the id of an event.")
                .detail("field", "after")
                .hint("Use 'cursor' of the answer before, or the last event's 'id', unchanged.")
        })
    };
    given.map(parse).transpose()
}

/// Where a stream goes on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Resume {
    Now,
    Behind(JobId),
    /// Behind an event that nobody here has ever heard of.
    Unknown,
}

/// A browser that comes back sends the header with the address that it had at first, so the header is
/// newer. It is never refused, because a browser would not come back again.
pub(super) fn resume_of(headers: &HeaderMap, params: &Params) -> Result<Resume, ApiError> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?").trim());
    match header.filter(|text| !text.is_empty()) {
        Some(text) => Ok(parse_id(text).map_or(Resume::Unknown, Resume::Behind)),
        None => Ok(cursor_of(params)?.map_or(Resume::Now, Resume::Behind)),
    }
}

pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(','));
    types.any(|kind| {
        let name = kind.split(';').next().unwrap_or(kind);
        name.trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// An event's id, also with the name of a connection behind it, as WebSockets write it.
pub(super) fn parse_id(text: &str) -> Option<JobId> {
    let text = text.split_once('.').map_or(text, |(id, _)| id);
    JobId::parse(text.strip_prefix("evt_").unwrap_or(text)).ok()
}
