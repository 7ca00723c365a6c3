//! Events as JSON: the envelope of lists and streams, and the members that every form has.

use rota_engine::Event;
use rota_model::{JobId, Millis};
use serde_json::{Map, Value, json};

use super::data::data_of;
use crate::runtime::{About, Names, Subject};

pub(super) fn show(id: JobId, event: &Event, names: &Names) -> Value {
    let about = About::of(&event.kind);
    let data = members(&about, event, names);
    let subject = match about.subject {
        Subject::Job => data.get("job_id").cloned().unwrap_or_default(),
        Subject::Named(name) => json!(name),
        Subject::Key(key) => json!(key.local()),
    };
    envelope(id, about.name, about.component, event.at, &subject, &Value::Object(data))
}

/// What an event of this kind has to say, and what it shares with other kinds.
pub(super) fn members(about: &About<'_>, event: &Event, names: &Names) -> Map<String, Value> {
    let mut data = match data_of(event, names) {
        Value::Object(data) => data,
        _ => Map::new(),
    };
    if let Some(job) = about.job {
        let name = names.get(&job.seq).and_then(Option::as_ref);
        let id = job.id.or(name.map(|name| name.id));
        data.insert("job_id".to_owned(), json!(id.map(|id| id.to_string())));
        add(&mut data, "trace_id", name.and_then(|name| name.trace.as_deref()));
    }
    add(&mut data, "job_type", about.job_type);
    add(&mut data, "queue", about.queue);
    add(&mut data, "tenant_id", about.tenant);
    data
}

fn add(data: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        data.insert(key.to_owned(), json!(value));
    }
}

pub(super) fn envelope(
    id: JobId,
    name: &str,
    component: &str,
    at: Millis,
    subject: &Value,
    data: &Value,
) -> Value {
    json!({
        "specversion": "1.0",
        "id": event_id(id),
        "type": name,
        "source": format!("ojs://rota/{component}"),
        "time": at.to_string(),
        "subject": subject,
        "data": data,
    })
}

pub(super) fn event_id(id: JobId) -> String {
    format!("evt_{id}")
}
