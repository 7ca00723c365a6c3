//! A job made ready for any region.

use std::time::SystemTime;

use jiff::Timestamp;
use rota_federation::{Wishes, meta};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::FederationError;
use super::members::Members;
use crate::{Error, JobId};

/// A job with its federation id, ready to be sent to whichever region is chosen.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub id: String,
    pub wishes: Wishes,
    envelope: Members,
    meta: Members,
}

impl Prepared {
    /// Reads a job's wishes and gives it an id. `tenant` is that of the client, if it has one.
    pub fn new(job: &impl Serialize, tenant: Option<&str>) -> Result<Self, FederationError> {
        let json = to_raw_value(job).map_err(|cause| bad(cause.to_string()))?;
        let mut envelope: Members = parse(&json, "it")?;
        let mut meta: Members = match envelope.get("meta").filter(|meta| meta.get() != "null") {
            Some(raw) => parse(raw, "its 'meta'")?,
            None => Members::default(),
        };
        let text = |members: &Members, name: &str| {
            let raw = members.get(name).filter(|raw| raw.get() != "null")?;
            Some(
                serde_json::from_str::<String>(raw.get())
                    .map_err(|_| bad(format!("'{name}' is not a string"))),
            )
        };
        let given = text(&envelope, "id").transpose()?;
        let federation_id = text(&meta, meta::FEDERATION_ID).transpose()?;
        let id = match (given, federation_id) {
            (Some(id), Some(other)) if id != other => {
                return Err(bad(format!(
                    "its id and meta.{} are not the same",
                    meta::FEDERATION_ID
                )));
            }
            (Some(id), _) | (None, Some(id)) => JobId::parse(&id)
                .ok_or_else(|| bad(format!("'{id}' is not a UUIDv7 in lower case")))?,
            (None, None) => JobId::now(),
        };
        let mut wishes = Wishes::of_meta(&values(&meta)?)?;
        wishes.draw = id.draw();
        wishes.tenant = match tenant {
            Some(tenant) => Some(tenant.to_owned()),
            None => text(&meta, "tenant_id").transpose()?,
        };
        let id = id.to_string();
        envelope.set("id", string(&id));
        meta.set(meta::FEDERATION_ID, string(&id));
        // Only whoever copies jobs between regions may say so.
        meta.remove(meta::REPLICATED_FROM);
        Ok(Self { id, wishes, envelope, meta })
    }

    /// The job as it is sent from `local`, chosen now.
    pub fn envelope(&self, local: &str, now: SystemTime) -> Members {
        let (mut envelope, mut meta) = (self.envelope.clone(), self.meta.clone());
        if meta.get(meta::SOURCE_REGION).is_none() {
            meta.set(meta::SOURCE_REGION, string(local));
        }
        if let Ok(now) = Timestamp::try_from(now) {
            meta.set(meta::ROUTED_AT, string(&format!("{now:.3}")));
        }
        envelope.set("meta", to_raw_value(&meta).expect("members are JSON"));
        envelope
    }
}

fn parse(json: &RawValue, what: &str) -> Result<Members, FederationError> {
    serde_json::from_str(json.get())
        .map_err(|cause| bad(format!("{what} is not an object: {cause}")))
}

/// The members that concern federation, as values.
fn values(meta: &Members) -> Result<Map<String, Value>, FederationError> {
    let mut values = Map::new();
    for name in [meta::REGION, meta::REGION_AFFINITY, meta::TAGS, meta::GEO] {
        if let Some(raw) = meta.get(name) {
            let value = serde_json::from_str(raw.get()).map_err(|cause| bad(cause.to_string()))?;
            values.insert(name.to_owned(), value);
        }
    }
    Ok(values)
}

fn string(text: &str) -> Box<RawValue> {
    to_raw_value(text).expect("a string is JSON")
}

fn bad(reason: String) -> FederationError {
    FederationError::Job(Error::BadJob { reason })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use rota_federation::Strategy;
    use serde_json::json;

    use super::*;

    fn sent(prepared: &Prepared) -> Value {
        let now = UNIX_EPOCH + Duration::from_millis(1_500);
        serde_json::to_value(prepared.envelope("eu", now)).unwrap()
    }

    #[test]
    fn a_job_gets_a_federation_id_that_is_its_id() {
        let prepared = Prepared::new(&json!({"type": "a", "args": []}), None).unwrap();
        let sent = sent(&prepared);
        assert_eq!(sent["id"], prepared.id);
        assert_eq!(sent["meta"]["ojs.federation.federation_id"], prepared.id);
        assert_eq!(sent["meta"]["ojs.federation.source_region"], "eu");
        assert_eq!(sent["meta"]["ojs.federation.routed_at"], "1970-01-01T00:00:01.500Z");
    }

    #[test]
    fn what_the_caller_wrote_stays_apart_from_replicated_from() {
        let id = JobId::now().to_string();
        let meta = json!({
            "ojs.federation.federation_id": id,
            "ojs.federation.region_affinity": "weighted",
            "ojs.federation.replicated_from": "us",
            "ojs.federation.source_region": "ap",
            "mine": {"a": [1.10]},
        });
        let prepared = Prepared::new(&json!({"type": "a", "meta": meta}), None).unwrap();
        assert_eq!(prepared.id, id);
        assert_eq!(prepared.wishes.strategy, Some(Strategy::Affinity));
        let sent = &sent(&prepared)["meta"];
        assert_eq!(sent["ojs.federation.region_affinity"], "weighted");
        assert_eq!(sent["ojs.federation.source_region"], "ap");
        assert_eq!(sent["mine"], json!({"a": [1.10]}));
        assert!(sent.get("ojs.federation.replicated_from").is_none());
    }

    #[test]
    fn contradictions_are_refused() {
        let (one, other) = (JobId::now().to_string(), JobId::now().to_string());
        for job in [
            json!({"id": one, "meta": {"ojs.federation.federation_id": other}}),
            json!({"id": "x"}),
            json!({"id": 1}),
            json!({"meta": []}),
            json!({"meta": {"ojs.federation.region_affinity": "geo-pin"}}),
            json!([]),
        ] {
            assert!(Prepared::new(&job, None).is_err(), "{job}");
        }
    }

    #[test]
    fn the_tenant_is_the_clients_or_the_jobs() {
        let job = json!({"type": "a", "meta": {"tenant_id": "acme"}});
        let of = |tenant| Prepared::new(&job, tenant).unwrap().wishes.tenant;
        assert_eq!(of(None).as_deref(), Some("acme"));
        assert_eq!(of(Some("globex")).as_deref(), Some("globex"));
    }
}
