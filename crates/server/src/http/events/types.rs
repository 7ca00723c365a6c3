//! The types of events that a filter may name.

use rota_model::nearest;
use serde_json::json;

use super::super::error::{ApiError, excerpt};
use super::form::STATE_CHANGED;
use crate::runtime::{NAMES, TypeFilter};

/// Types of ojs-events that belong to features that are not served. The SDKs subscribe to them by name,
/// and they never occur.
const NEVER: &[&str] = &[
    "job.progress",
    "workflow.started",
    "workflow.step_completed",
    "workflow.completed",
    "workflow.failed",
];
/// Types that only channels have. Those about the stream itself are sent whether they are named or not.
const ON_CHANNELS: &[&str] =
    &[STATE_CHANGED, "system.gap", "system.events_dropped", "server.shutdown"];

pub(super) const OF_ENVELOPES: &[&[&str]] = &[NAMES, NEVER];
pub(super) const OF_CHANNELS: &[&[&str]] = &[NAMES, NEVER, ON_CHANNELS];

/// An error if one of `wanted`, from the parameter or member `field`, can match no event.
pub(super) fn check(wanted: &[String], known: &[&[&str]], field: &str) -> Result<(), ApiError> {
    let known = || known.iter().flat_map(|names| names.iter().copied());
    let unknown = wanted.iter().find(|name| {
        let filter = TypeFilter(vec![String::clone(name)]);
        !known().any(|name| filter.names(name))
    });
    let Some(name) = unknown else { return Ok(()) };
    let names: Vec<&str> = known().collect();
    let nearest = nearest(name, names.iter().copied());
    let all = format!(
        "The types are: {}; 'job.*' stands for all that begin with 'job.'.",
        names.join(", ")
    );
    let hint = nearest.map_or(all.clone(), |nearest| format!("Did you mean '{nearest}'? {all}"));
    let text = format!("'{}' is not a type of events.", excerpt(name));
    let error = ApiError::invalid_request(text).hint(hint);
    let error = error.detail("field", field).detail("known", json!(names));
    Err(match nearest {
        Some(nearest) => error.detail("nearest", nearest),
        None => error,
    })
}
