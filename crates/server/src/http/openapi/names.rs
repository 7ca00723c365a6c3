//! Names and other texts with a pattern, which types refer to.

use serde_json::{Value, json};

use super::notation::Schemas;

/// Name, pattern, most characters, meaning.
const NAMES: [(&str, &str, u32, &str); 8] = [
    (
        "QueueName",
        "^[a-z0-9][a-z0-9.-]*$",
        128,
        "The name of a queue: lower-case letters, digits, '-' and '.'.",
    ),
    ("PoolName", "^[a-z0-9][a-z0-9.-]*$", 128, "The name of a pool of workers."),
    ("CronName", "^[a-z0-9][a-z0-9.-]*$", 255, "The name of a cron job."),
    (
        "JobType",
        "^[a-z][a-z0-9_-]*(\\.[a-z][a-z0-9_-]*)*$",
        255,
        "The type of a job: dot-separated segments, such as email.send.",
    ),
    (
        "TenantId",
        "^(_default|[A-Za-z0-9][A-Za-z0-9._:-]*)$",
        128,
        "The id of a tenant. Jobs without a tenant belong to _default.",
    ),
    ("LimitKey", "^[A-Za-z0-9][A-Za-z0-9._:-]*$", 200, "The key of a rate limit."),
    ("WorkerId", "^[!-~]+$", 255, "The id of a worker: printable ASCII without spaces."),
    ("Cursor", "^.+$", 1000, "Where a list goes on: 'next_cursor' of the answer before."),
];

pub(super) fn schemas() -> Schemas {
    let named = NAMES.into_iter().map(|(name, pattern, most, about)| {
        let schema = json!({
            "type": "string", "pattern": pattern, "minLength": 1, "maxLength": most,
            "description": about,
        });
        (name.to_owned(), schema)
    });
    named.chain([("JobId".to_owned(), job_id())]).collect()
}

fn job_id() -> Value {
    json!({"type": "string", "format": "uuid", "description": "The id of a job, a UUIDv7."})
}
