//! Jobs as they are sent.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::{Error, Job, JobId, WithJson};

/// A job as it is sent: a JSON object with an id. Everything else is as the caller wrote it.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(crate) struct Envelope {
    json: Box<RawValue>,
    #[serde(skip)]
    id: String,
}

/// The members that say what a job does.
#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: Option<Value>,
    args: Option<Value>,
    queue: Option<Value>,
    priority: Option<Value>,
}

impl Envelope {
    /// The envelope of a job, which gets an id unless it has one.
    pub fn new(job: &impl Serialize) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadJob { reason };
        let json = to_raw_value(job).map_err(|cause| bad(cause.to_string()))?;
        let members = json.get().trim_start().strip_prefix('{');
        let members = members.ok_or_else(|| bad("it is not a JSON object".to_owned()))?;
        let given: HashMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(json.get()).map_err(|cause| bad(cause.to_string()))?;
        let id = given.get("id").map(|id| serde_json::from_str::<String>(id.get()));
        match id {
            Some(Ok(id)) => Ok(Self { json, id }),
            Some(Err(_)) => Err(bad("its id is not a string".to_owned())),
            None => {
                let id = JobId::now().to_string();
                let comma = if members.trim_start().starts_with('}') { "" } else { "," };
                let json = RawValue::from_string(format!("{{\"id\":\"{id}\"{comma}{members}"));
                Ok(Self { json: json.map_err(|cause| bad(cause.to_string()))?, id })
            }
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether this job is what the envelope asks for, as far as producers set it.
    pub fn asks_for(&self, job: &WithJson<Job>) -> bool {
        job.id == self.id && has_content(job.json().as_bytes(), self.json.get().as_bytes())
    }
}

/// Whether a stored job does what was asked for. What producers leave out is up to the server.
pub(crate) fn has_content(stored: &[u8], asked: &[u8]) -> bool {
    let content = |json| serde_json::from_slice::<Content>(json).ok();
    let (Some(asked), Some(stored)) = (content(asked), content(stored)) else { return false };
    let same = |asked: Option<Value>, stored| asked.is_none() || asked == stored;
    same(asked.kind, stored.kind)
        && same(asked.args, stored.args)
        && same(asked.queue, stored.queue)
        && same(asked.priority, stored.priority)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NewJob;

    #[test]
    fn a_job_without_an_id_gets_one_and_nothing_else_changes() {
        let big = RawValue::from_string("123456789012345678901234567890".to_owned()).unwrap();
        let envelope = Envelope::new(&NewJob::new("a").args(vec![big])).unwrap();
        let id = envelope.id();
        assert!(JobId::parse(id).is_some());
        assert_eq!(
            serde_json::to_string(&envelope).unwrap(),
            format!(r#"{{"id":"{id}","type":"a","args":[123456789012345678901234567890]}}"#)
        );
        let empty = Envelope::new(&json!({})).unwrap();
        assert_eq!(serde_json::to_string(&empty).unwrap(), format!(r#"{{"id":"{}"}}"#, empty.id()));
    }

    #[test]
    fn an_id_that_was_given_stays() {
        let envelope = Envelope::new(&json!({"type": "a", "id": "mine"})).unwrap();
        assert_eq!(envelope.id(), "mine");
        for job in [json!([]), json!("a"), json!({"id": 7}), json!({"id": null})] {
            assert!(matches!(Envelope::new(&job), Err(Error::BadJob { .. })), "{job}");
        }
    }
}
