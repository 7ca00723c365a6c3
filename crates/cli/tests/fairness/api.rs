//! Servers, callers, tenants and jobs, in few words.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Value, json};

use crate::shorthand::{job_with, merged, text};
use crate::support::{JSON, Reply, Server};

/// A server of one's own, with settings from the environment.
pub fn start(environment: &[(&str, &str)]) -> Server {
    Server::start_in_env(&["--durability", "os"], environment)
}

/// A server with the default settings that scenarios share while any of them runs.
///
/// They use names of their own, and look only at what is theirs.
pub fn shared() -> Arc<Server> {
    static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(start(&[]));
        *running = Arc::downgrade(&server);
        server
    })
}

/// A name that no other scenario uses.
pub fn fresh(stem: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{stem}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Somebody who says with each request for whom it is.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    server: &'a Server,
    tenant: &'a str,
}

pub fn caller<'a>(server: &'a Server, tenant: &'a str) -> Caller<'a> {
    Caller { server, tenant }
}

impl Caller<'_> {
    pub fn get(&self, path: &str) -> Reply {
        self.server.send("GET", path, &[("X-OJS-Tenant", self.tenant)], None)
    }

    pub fn delete(&self, path: &str) -> Reply {
        self.server.send("DELETE", path, &[("X-OJS-Tenant", self.tenant)], None)
    }

    pub fn post(&self, path: &str, body: Value) -> Reply {
        let headers = [JSON, ("X-OJS-Tenant", self.tenant)];
        self.server.send("POST", path, &headers, Some(body.to_string().as_bytes()))
    }

    pub fn put(&self, path: &str, body: Value) -> Reply {
        let headers = [JSON, ("X-OJS-Tenant", self.tenant)];
        self.server.send("PUT", path, &headers, Some(body.to_string().as_bytes()))
    }

    #[track_caller]
    pub fn enqueue(&self, job: Value) -> String {
        text(&self.post("/ojs/v1/jobs", job).expect(201)["job"]["id"])
    }

    #[track_caller]
    pub fn fetch(&self, queue: &str, count: u32) -> Vec<Value> {
        let ask = json!({"queues": [queue], "count": count});
        list(&self.post("/ojs/v1/workers/fetch", ask).expect(200)["jobs"])
    }
}

/// A job of this tenant.
pub fn of(tenant: &str, queue: &str) -> Value {
    job_with(queue, json!({"meta": {"tenant_id": tenant}}))
}

pub fn of_with(tenant: &str, queue: &str, more: Value) -> Value {
    merged(of(tenant, queue), more)
}

/// A job with a `rate_limit`.
pub fn limited(queue: &str, limit: Value) -> Value {
    job_with(queue, json!({"rate_limit": limit}))
}

pub fn try_batch(server: &Server, jobs: &[Value]) -> Reply {
    server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs}))
}

/// Enqueues this job as often as that, and gives the ids in order.
#[track_caller]
pub fn enqueue_many(server: &Server, job: &Value, count: usize) -> Vec<String> {
    let jobs = vec![job.clone(); count];
    let mut ids = Vec::new();
    for part in jobs.chunks(1000) {
        let answer = try_batch(server, part).expect(201);
        ids.extend(list(&answer["jobs"]).iter().map(|job| text(&job["id"])));
    }
    ids
}

pub fn try_fetch(server: &Server, ask: Value) -> Reply {
    server.post("/ojs/v1/workers/fetch", ask)
}

#[track_caller]
pub fn fetch(server: &Server, ask: Value) -> Vec<Value> {
    list(&try_fetch(server, ask).expect(200)["jobs"])
}

/// So many fetches of one job each.
#[track_caller]
pub fn fetch_singly(server: &Server, ask: &Value, times: usize) -> Vec<Value> {
    let ask = merged(ask.clone(), json!({"count": 1}));
    (0..times).flat_map(|_| fetch(server, ask.clone())).collect()
}

#[track_caller]
pub fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}")).clone()
}

pub fn tenant(job: &Value) -> String {
    text(&job["meta"]["tenant_id"])
}

pub fn tenants(jobs: &[Value]) -> Vec<String> {
    jobs.iter().map(tenant).collect()
}

pub fn queues(jobs: &[Value]) -> Vec<String> {
    jobs.iter().map(|job| text(&job["queue"])).collect()
}

pub fn tally(names: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(&**name).or_default() += 1;
    }
    counts
}

pub fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|one| *one == name).count()
}

#[track_caller]
pub fn put_tenant(server: &Server, id: &str, config: Value) -> Value {
    let reply = server.put(&format!("/ojs/v1/admin/tenants/{id}"), config);
    assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
    reply.body
}

#[track_caller]
pub fn tenant_stats(server: &Server, id: &str) -> Value {
    server.get(&format!("/ojs/v1/admin/tenants/{id}/stats")).expect(200)
}

#[track_caller]
pub fn put_pool(server: &Server, name: &str, pool: Value) -> Value {
    let reply = server.put(&format!("/ojs/v1/admin/pools/{name}"), pool);
    assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
    reply.body
}

#[track_caller]
pub fn bound(server: &Server, queue: &str, backpressure: Value) -> Value {
    let path = format!("/ojs/v1/admin/queues/{queue}/config");
    server.put(&path, json!({"backpressure": backpressure})).expect(200)
}

#[track_caller]
pub fn partition(server: &Server, key: &str) -> Value {
    server.get(&format!("/ojs/v1/rate-limits/{key}")).expect(200)
}

pub fn state(server: &Server, id: &str) -> String {
    text(&server.job(id)["state"])
}

/// Every name of these is a member of the object.
#[track_caller]
pub fn assert_members(object: &Value, names: &[&str]) {
    for name in names {
        assert!(object.get(name).is_some(), "{name} is missing in {object}");
    }
}

/// The members that are expected are there and equal.
#[track_caller]
pub fn assert_has(object: &Value, expected: Value) {
    for (name, value) in expected.as_object().unwrap() {
        let found = &object[name];
        // 10 and 10.0 are the same number.
        let equal = match (found.as_f64(), value.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => found == value,
        };
        assert!(equal, "{name} is not {value} in {object}");
    }
}

/// A limit's 429, as it must be: told at once by fields, and when to come back.
#[track_caller]
pub fn retry_after(reply: &Reply) -> u64 {
    let header = reply.header("Retry-After").unwrap_or_else(|| panic!("no header: {reply:?}"));
    header.parse().unwrap_or_else(|_| panic!("not whole seconds: {header}"))
}
