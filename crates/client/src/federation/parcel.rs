//! A job, or a batch of them, made ready for any region.

use std::time::SystemTime;

use bytes::Bytes;
use rota_federation::{Wishes, meta};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::FederationError;
use super::members::{Members, write_string};
use super::rules::Rules;
use crate::{Error, JobId, timestamp};

/// What goes to one region: a job or a batch, ready to be sent to whichever region is chosen. It borrows from the
/// text that the caller wrote.
#[derive(Debug, Clone)]
pub(super) struct Parcel<'a> {
    /// The id of the job, or of the first job of a batch.
    pub id: String,
    pub wishes: Wishes,
    /// The ids of all jobs, if it is a batch.
    pub batch: Option<Vec<String>>,
    jobs: Vec<Prepared<'a>>,
}

/// The most jobs in a batch.
const MOST_JOBS: usize = 1_000;

impl<'a> Parcel<'a> {
    /// One job. `tenant` is that of the client, if it has one.
    pub fn one(
        json: &'a str,
        tenant: Option<&str>,
        rules: &Rules,
    ) -> Result<Self, FederationError> {
        let prepared = Prepared::new(json, tenant, rules)?;
        let (id, wishes) = (prepared.id.clone(), prepared.wishes.clone());
        Ok(Self { id, wishes, batch: None, jobs: vec![prepared] })
    }

    /// Jobs that go to one region together: what they say about regions must be the same.
    pub fn many(
        jobs: &[&'a RawValue],
        tenant: Option<&str>,
        rules: &Rules,
    ) -> Result<Self, FederationError> {
        if jobs.len() > MOST_JOBS {
            let text = format!("the batch has {} jobs; {MOST_JOBS} are allowed", jobs.len());
            return Err(bad(text));
        }
        let jobs = jobs.iter().map(|job| Prepared::new(job.get(), tenant, rules));
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let first = jobs.first().ok_or_else(|| bad("the batch is empty".to_owned()))?;
        let wishes = first.wishes.clone();
        if jobs.iter().any(|job| !job.wishes.wants_the_same(&wishes)) {
            return Err(FederationError::MixedBatch);
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
    pub fn body(&self, local: &str, now: SystemTime) -> Bytes {
        let mut out = Vec::with_capacity(self.jobs.iter().map(|job| job.bytes + ADDED).sum());
        let now = timestamp(now);
        if self.batch.is_some() {
            out.extend_from_slice(b"{\"jobs\":[");
        }
        for (i, job) in self.jobs.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            job.write(&mut out, local, now.as_deref());
        }
        if self.batch.is_some() {
            out.extend_from_slice(b"]}");
        }
        out.into()
    }
}

/// About as many bytes are added to a job.
const ADDED: usize = 320;

/// A job with its federation id.
#[derive(Debug, Clone)]
struct Prepared<'a> {
    id: String,
    wishes: Wishes,
    /// All members but `id` and `meta`.
    envelope: Members<'a>,
    meta: Members<'a>,
    /// How long it was.
    bytes: usize,
}

impl<'a> Prepared<'a> {
    /// Reads a job's wishes and gives it an id. `tenant` is that of the client, if it has one.
    fn new(json: &'a str, tenant: Option<&str>, rules: &Rules) -> Result<Self, FederationError> {
        let mut envelope: Members<'a> = parse(json, "it")?;
        let meta = envelope.borrowed("meta").filter(|meta| meta.get() != "null");
        let mut meta: Members<'a> = match meta {
            Some(raw) => parse(raw.get(), "its 'meta'")?,
            None => Members::default(),
        };
        let text = |members: &Members<'_>, name: &str| {
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
        rules.apply(&envelope, &mut wishes);
        let id = id.to_string();
        envelope.remove("id");
        envelope.remove("meta");
        if federation_id.is_none() {
            meta.set(meta::FEDERATION_ID, string(&id));
        }
        // Only whoever copies jobs between regions may say so.
        meta.remove(meta::REPLICATED_FROM);
        Ok(Self { id, wishes, envelope, meta, bytes: json.len() })
    }

    /// Writes the job as it is sent from `local`, chosen now.
    fn write(&self, out: &mut Vec<u8>, local: &str, now: Option<&str>) {
        out.push(b'{');
        self.envelope.write(out);
        out.extend_from_slice(b"\"id\":\"");
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(b"\",\"meta\":{");
        self.meta.write(out);
        let added =
            [(meta::SOURCE_REGION, Some(local)), (meta::ROUTED_AT, now)].into_iter().filter_map(
                |(name, value)| Some((name, value.filter(|_| self.meta.get(name).is_none())?)),
            );
        for (name, value) in added {
            write_string(out, name);
            out.push(b':');
            write_string(out, value);
            out.push(b',');
        }
        // The federation id is always there, and so is the comma after the last member.
        out.pop();
        out.extend_from_slice(b"}}");
    }
}

fn parse<'a>(json: &'a str, what: &str) -> Result<Members<'a>, FederationError> {
    serde_json::from_str(json).map_err(|cause| bad(format!("{what} is not an object: {cause}")))
}

/// The members that concern federation, as values.
fn values(meta: &Members<'_>) -> Result<Map<String, Value>, FederationError> {
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

    fn sent(parcel: &Parcel<'_>) -> Value {
        let now = UNIX_EPOCH + Duration::from_millis(1_500);
        serde_json::from_slice(&parcel.body("eu", now)).unwrap()
    }

    #[test]
    fn a_job_gets_a_federation_id_that_is_its_id() {
        let prepared =
            Parcel::one(r#"{"type": "a", "args": []}"#, None, &Rules::default()).unwrap();
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
        let job = json!({"type": "a", "meta": meta}).to_string();
        let prepared = Parcel::one(&job, None, &Rules::default()).unwrap();
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
            assert!(Parcel::one(&job.to_string(), None, &Rules::default()).is_err(), "{job}");
        }
    }

    #[test]
    fn the_tenant_is_the_clients_or_the_jobs() {
        let job = r#"{"type": "a", "meta": {"tenant_id": "acme"}}"#;
        let of = |tenant| Parcel::one(job, tenant, &Rules::default()).unwrap().wishes.tenant;
        assert_eq!(of(None).as_deref(), Some("acme"));
        assert_eq!(of(Some("globex")).as_deref(), Some("globex"));
    }

    #[test]
    fn a_batch_goes_to_one_region() {
        let many = |jobs: Value| {
            let jobs = serde_json::from_value::<Vec<Box<RawValue>>>(jobs).unwrap();
            let borrowed: Vec<&RawValue> = jobs.iter().map(|job| &**job).collect();
            let parcel = Parcel::many(&borrowed, None, &Rules::default()).ok()?;
            Some((parcel.wishes.region.clone(), parcel.batch.clone().unwrap(), sent(&parcel)))
        };
        let pinned = |region: &str| json!({"type": "a", "meta": {"ojs.federation.region": region}});
        let (region, ids, body) = many(json!([pinned("eu"), pinned("eu")])).unwrap();
        assert_eq!(region.as_deref(), Some("eu"));
        assert_eq!(body["jobs"][1]["id"], ids[1]);
        assert_eq!(body["jobs"].as_array().map(Vec::len), Some(2));
        assert!(many(json!([pinned("eu"), pinned("us")])).is_none());
        assert!(many(json!([])).is_none());
        assert!(many(json!(vec![pinned("eu"); MOST_JOBS])).is_some());
        assert!(many(json!(vec![pinned("eu"); MOST_JOBS + 1])).is_none());
    }
}
