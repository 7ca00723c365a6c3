//! What must hold of every envelope that is accepted.

use std::collections::BTreeSet;

use rota_model::envelope::{self, NewJob, Rules, Tenancy};
use rota_model::{JobId, Millis, json};
use serde_json::Value;

use crate::json_values;

const DEPTH: usize = 100;
const NOW: Millis = Millis(1_770_000_000_000);

/// Members that the server adds to a job when it shows it. A client's own would be a forgery.
const SYSTEM: [&str; 19] = [
    "state",
    "attempt",
    "created_at",
    "enqueued_at",
    "started_at",
    "completed_at",
    "cancelled_at",
    "discarded_at",
    "expired_at",
    "activated_at",
    "re_enqueued_at",
    "next_attempt_at",
    "retry_delay_ms",
    "previous_state",
    "worker_id",
    "error",
    "errors",
    "result",
    "next_retry_at",
];

/// Takes any bytes; panics when something is accepted that must not be. True when it was accepted.
pub fn check(bytes: &[u8]) -> bool {
    json_values::check(bytes);
    let Ok(text) = json::check(bytes, DEPTH) else { return false };
    let Ok(job) = parse(text) else { return false };
    let mut whole = Vec::new();
    envelope::write_head(&mut whole, job.id);
    whole.extend_from_slice(&job.body);
    whole.push(b'}');
    let whole = String::from_utf8(whole).expect("the fragment is UTF-8");
    let members = json::members(&whole, "the fragment").expect("an object");
    let mut keys = BTreeSet::new();
    for (key, value) in &members {
        assert!(keys.insert(key.to_string()), "{key} twice in {whole}");
        assert!(!SYSTEM.contains(&&**key), "{key} was let through: {whole}");
        assert!(!value.get().is_empty(), "{key} is empty in {whole}");
    }
    for key in ["specversion", "id", "type", "queue", "args", "meta", "priority", "max_attempts"] {
        assert!(keys.contains(key), "{key} is missing in {whole}");
    }
    let get = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, raw)| raw.get());
    assert_eq!(get("id"), Some(&*format!("\"{}\"", job.id)), "{whole}");
    assert_eq!(get("type"), Some(&*Value::from(&*job.class.kind).to_string()), "{whole}");
    assert_eq!(get("queue"), Some(&*Value::from(&*job.class.queue).to_string()), "{whole}");
    assert_eq!(get("priority"), Some(&*job.class.priority.to_string()), "{whole}");
    assert!((-100..=100).contains(&job.class.priority), "{whole}");
    check_again(&whole, &job);
    true
}

/// What was accepted is accepted again, and means the same.
fn check_again(whole: &str, job: &NewJob) {
    let text =
        json::check(whole.as_bytes(), DEPTH).expect("no deeper than before, and no key twice");
    let again = parse(text).unwrap_or_else(|error| panic!("{error}: {whole}"));
    assert_eq!(again.class, job.class, "{whole}");
    assert_eq!((again.id, again.pending), (job.id, job.pending), "{whole}");
    assert_eq!((again.start_at, again.expires), (job.start_at, job.expires), "{whole}");
    assert_eq!(again.body, job.body, "{whole}");
}

fn parse(text: &str) -> Result<NewJob, rota_model::Rejection> {
    let rules = Rules {
        max_job_bytes: 1 << 20,
        max_schedule_ms: 36_500 * 86_400_000,
        max_visibility_ms: 86_400_000,
        region: None,
        test_directives: false,
        allowed_types: None,
        tenancy: Tenancy::default(),
    };
    envelope::parse(text, &rules, NOW, JobId::v7(NOW.0, 7), None)
}
