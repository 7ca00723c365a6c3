//! A job, or a batch of them, made ready for any region.

use std::time::SystemTime;

use rota_federation::{Wishes, meta};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::members::Members;
use super::settings::RuleSettings;
use super::{FederationError, rules};
use crate::{Error, JobId, timestamp};

/// What goes to one region: a job or a batch, ready to be sent to whichever region is chosen.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    /// The id of the job, or of the first job of a batch.
    pub id: String,
    pub wishes: Wishes,
    /// The ids of all jobs, if it is a batch.
    pub batch: Option<Vec<String>>,
    jobs: Vec<Prepared>,
}

impl Parcel {
    /// One job. `tenant` is that of the client, if it has one.
    pub fn one(
        job: &impl Serialize,
        tenant: Option<&str>,
        rules: &[RuleSettings],
    ) -> Result<Self, FederationError> {
        let prepared = Prepared::new(job, tenant, rules)?;
        let (id, wishes) = (prepared.id.clone(), prepared.wishes.clone());
        Ok(Self { id, wishes, batch: None, jobs: vec![prepared] })
    }

    /// Jobs that go to one region together: what they say about regions must be the same.
    pub fn many(
        jobs: &[Box<RawValue>],
        tenant: Option<&str>,
        rules: &[RuleSettings],
    ) -> Result<Self, FederationError> {
        let jobs = jobs.iter().map(|job| Prepared::new(job, tenant, rules));
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let first = jobs.first().ok_or_else(|| bad("the batch is empty".to_owned()))?;
        let wishes = first.wishes.clone();
        let asks = |wishes: &Wishes| {
            let Wishes { region, strategy, tags, geo, home, .. } = wishes;
            (region.clone(), *strategy, tags.clone(), geo.clone(), home.clone())
        };
        if jobs.iter().any(|job| asks(&job.wishes) != asks(&wishes)) {
            return Err(bad("its jobs want different regions, and a batch goes to one".to_owned()));
        }
        let ids = jobs.iter().map(|job| job.id.clone()).collect();
        Ok(Self { id: first.id.clone(), wishes, batch: Some(ids), jobs })
    }

    pub fn path(&self) -> &'static str {
        match self.batch {
            Some(_) => "/ojs/v1/jobs/batch",
            None => "/ojs/v1/jobs",
        }
    }

    /// The body as it is sent from `local`, chosen now.
    pub fn body(&self, local: &str, now: SystemTime) -> Vec<u8> {
        #[derive(Serialize)]
        struct Batch {
            jobs: Vec<Members>,
        }
        let mut jobs: Vec<Members> = self.jobs.iter().map(|job| job.envelope(local, now)).collect();
        let json = match (&self.batch, jobs.pop()) {
            (None, Some(only)) => serde_json::to_vec(&only),
            (_, last) => {
                serde_json::to_vec(&Batch { jobs: jobs.into_iter().chain(last).collect() })
            }
        };
        json.expect("members are JSON")
    }
}

/// A job with its federation id.
#[derive(Debug, Clone)]
struct Prepared {
    id: String,
    wishes: Wishes,
    envelope: Members,
    meta: Members,
}

impl Prepared {
    /// Reads a job's wishes and gives it an id. `tenant` is that of the client, if it has one.
    fn new(
        job: &impl Serialize,
        tenant: Option<&str>,
        rules: &[RuleSettings],
    ) -> Result<Self, FederationError> {
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
        let parsed = |id: &str| {
            JobId::parse(id).ok_or_else(|| bad(format!("'{id}' is not a UUIDv7 in lower case")))
        };
        let id = match (&given, &federation_id) {
            (Some(id), Some(other)) if id != other => {
                let member = meta::FEDERATION_ID;
                return Err(bad(format!("its id and meta.{member} are not the same")));
            }
            (Some(id), _) => parsed(id)?,
            // One that no server takes for an id stays what it is, and the job gets an id of its own.
            (None, Some(id)) => JobId::parse(id).unwrap_or_else(JobId::now),
            (None, None) => JobId::now(),
        };
        let mut wishes = Wishes::of_meta(&values(&meta)?)?;
        wishes.draw = id.draw();
        wishes.tenant = match tenant {
            Some(tenant) => Some(tenant.to_owned()),
            None => text(&meta, "tenant_id").transpose()?,
        };
        rules::apply(rules, &envelope, &mut wishes);
        let id = id.to_string();
        envelope.set("id", string(&id));
        if federation_id.is_none() {
            meta.set(meta::FEDERATION_ID, string(&id));
        }
        // Only whoever copies jobs between regions may say so.
        meta.remove(meta::REPLICATED_FROM);
        Ok(Self { id, wishes, envelope, meta })
    }

    /// The job as it is sent from `local`, chosen now.
    fn envelope(&self, local: &str, now: SystemTime) -> Members {
        let (mut envelope, mut meta) = (self.envelope.clone(), self.meta.clone());
        if meta.get(meta::SOURCE_REGION).is_none() {
            meta.set(meta::SOURCE_REGION, string(local));
        }
        if let Some(now) = timestamp(now).filter(|_| meta.get(meta::ROUTED_AT).is_none()) {
            meta.set(meta::ROUTED_AT, string(&now));
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

    fn sent(parcel: &Parcel) -> Value {
        let now = UNIX_EPOCH + Duration::from_millis(1_500);
        serde_json::from_slice(&parcel.body("eu", now)).unwrap()
    }

    #[test]
    fn a_job_gets_a_federation_id_that_is_its_id() {
        let prepared = Parcel::one(&json!({"type": "a", "args": []}), None, &[]).unwrap();
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
        let prepared = Parcel::one(&json!({"type": "a", "meta": meta}), None, &[]).unwrap();
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
            assert!(Parcel::one(&job, None, &[]).is_err(), "{job}");
        }
    }

    #[test]
    fn the_tenant_is_the_clients_or_the_jobs() {
        let job = json!({"type": "a", "meta": {"tenant_id": "acme"}});
        let of = |tenant| Parcel::one(&job, tenant, &[]).unwrap().wishes.tenant;
        assert_eq!(of(None).as_deref(), Some("acme"));
        assert_eq!(of(Some("globex")).as_deref(), Some("globex"));
    }

    #[test]
    fn a_batch_goes_to_one_region() {
        let jobs = |jobs: Value| serde_json::from_value::<Vec<Box<RawValue>>>(jobs).unwrap();
        let pinned = |region: &str| json!({"type": "a", "meta": {"ojs.federation.region": region}});
        let parcel = Parcel::many(&jobs(json!([pinned("eu"), pinned("eu")])), None, &[]).unwrap();
        assert_eq!(parcel.wishes.region.as_deref(), Some("eu"));
        let body = sent(&parcel);
        assert_eq!(body["jobs"][1]["id"], parcel.batch.as_ref().unwrap()[1]);
        assert_eq!(body["jobs"].as_array().map(Vec::len), Some(2));
        assert!(Parcel::many(&jobs(json!([pinned("eu"), pinned("us")])), None, &[]).is_err());
        assert!(Parcel::many(&[], None, &[]).is_err());
    }
}
