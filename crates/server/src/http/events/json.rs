//! Events as JSON, the same in lists and streams.

use rota_engine::Event;
use rota_model::{JobId, Millis};
use serde_json::{Map, Value, json};

use super::data::data_of;
use crate::runtime::{About, Names, Subject};

pub(super) fn show(id: JobId, event: &Event, names: &Names) -> Value {
    let about = About::of(&event.kind);
    let job_id = about.job.and_then(|job| {
        let looked_up = || names.get(&job.seq)?.map(|name| name.id);
        job.id.or_else(looked_up).map(|id| id.to_string())
    });
    let mut data = data_of(event, names);
    if let Value::Object(data) = &mut data {
        if about.job.is_some() {
            data.insert("job_id".to_owned(), json!(job_id));
        }
        add(data, "job_type", about.job_type);
        add(data, "queue", about.queue);
        add(data, "tenant_id", about.tenant);
    }
    let subject = match about.subject {
        Subject::Job => job_id,
        Subject::Named(name) => Some(name.to_owned()),
        Subject::Key(key) => Some(key.local().to_string()),
    };
    envelope(id, about.name, about.component, event.at, &json!(subject), &data)
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
