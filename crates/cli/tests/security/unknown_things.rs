//! Things that a caller may not see are as if they did not exist: the same status, the same body, and the
//! same number of lookups.

use rota_server::http::routes;
use serde_json::{Value, json};

use crate::secured::{Secured, job, text_of};
use crate::support::Reply;
use crate::support::wire::{Wire, request};

const SCOPES: [&str; 5] = ["enqueue", "dequeue", "cancel", "inspect", "admin"];

/// A kind of thing that requests name: one that exists, and one that never did.
struct Thing {
    kind: &'static str,
    hidden: String,
    invented: String,
}

/// A request about a kind of thing; `@` stands for its name.
struct Row {
    method: &'static str,
    path: String,
    kind: &'static str,
    body: Option<Value>,
}

impl Row {
    fn is_stream(&self) -> bool {
        self.method == "GET" && (self.path.ends_with("/events") || self.path.contains("/stream"))
    }
}

/// An id of the same form that no job has.
fn invented_id(id: &str) -> String {
    let (rest, last) = id.split_at(id.len() - 12);
    format!("{rest}{}", last.chars().rev().collect::<String>())
}

/// The kind of thing that the parameter of a route names. Each route with a parameter is of some kind.
fn kind_of(path: &str) -> Option<&'static str> {
    let path = path.trim_start_matches("/ojs/v1").trim_start_matches("/admin");
    if !path.contains('{') || path.contains("{action}") {
        return None;
    }
    Some(match path.split('/').nth(1).unwrap() {
        "jobs" => "job",
        "dead-letter" => "dead letter",
        "queues" => "queue",
        "cron" | "crons" => "cron",
        "workers" => "worker",
        "keys" => "key",
        "rate-limits" => "limit",
        "job-types" => "type",
        "tenants" => "tenant",
        "pools" => "pool",
        other => panic!("{path}: what does it name? {other}"),
    })
}

/// Bodies for the requests that need one.
fn body_of(method: &str, path: &str) -> Option<Value> {
    match (method, path) {
        ("PATCH", path) if path.contains("/jobs/") => Some(json!({"priority": 5})),
        ("PATCH", _) => Some(json!({"enabled": false})),
        ("PUT", path) if path.contains("rate-limit") => Some(json!({"concurrency": 3})),
        ("PUT", path) if path.contains("/pools/") => Some(json!({"queues": ["own"]})),
        ("PUT", path) if path.contains("/config") => Some(json!({"concurrency": 3})),
        ("PUT", _) => Some(json!({})),
        ("DELETE", path) if path.ends_with("/jobs") => {
            Some(json!({"states": ["completed"], "confirm": true}))
        }
        _ => None,
    }
}

/// All requests that name something.
fn rows() -> Vec<Row> {
    let row = |method, path: &str, kind, body| Row { method, path: path.to_owned(), kind, body };
    let mut rows: Vec<Row> = Vec::new();
    for (method, path, _) in routes() {
        let Some(kind) = kind_of(path) else { continue };
        let (before, rest) = path.split_once('{').unwrap();
        let (_, after) = rest.split_once('}').unwrap();
        rows.push(row(method, &format!("{before}@{after}"), kind, body_of(method, path)));
    }
    assert!(rows.len() > 60, "{}", rows.len());
    let named = "@";
    for kind in ["job", "active job", "dead letter"] {
        for path in ["ack", "nack", "heartbeat"] {
            let body = match path {
                "ack" => json!({"job_id": named}),
                "nack" => json!({"job_id": named, "error": {"code": "a", "message": "b"}}),
                _ => json!({"worker_id": "own", "active_jobs": [named]}),
            };
            rows.push(row("POST", &format!("/ojs/v1/workers/{path}"), kind, Some(body)));
        }
    }
    // What was done for waiting jobs, for an active one, which is known without the store.
    for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/result")] {
        rows.push(row(method, &format!("/ojs/v1/jobs/@{path}"), "active job", None));
    }
    rows.push(row("GET", "/ojs/v1/admin/jobs/@/explain", "active job", None));
    let body = json!({"worker_id": named});
    rows.push(row("POST", "/ojs/v1/workers/deregister", "worker", Some(body)));
    for path in ["fetch", "heartbeat", "register"] {
        let body = json!({"pool": named, "worker_id": "own"});
        rows.push(row("POST", &format!("/ojs/v1/workers/{path}"), "pool", Some(body)));
    }
    let body = json!({"queues": [named], "worker_id": "own"});
    rows.push(row("POST", "/ojs/v1/workers/fetch", "queue", Some(body)));
    let body = json!({"queues": ["empty"], "worker_id": named});
    rows.push(row("POST", "/ojs/v1/workers/fetch", "worker", Some(body)));
    rows.push(row(
        "POST",
        "/ojs/v1/workers/heartbeat",
        "worker",
        Some(json!({"worker_id": named})),
    ));
    for (path, kind) in [
        ("/ojs/v1/jobs?queue=@", "queue"),
        ("/ojs/v1/dead-letter?queue=@", "queue"),
        ("/ojs/v1/admin/stats?queue=@", "queue"),
        ("/ojs/v1/events?queue=@", "queue"),
        ("/ojs/v1/jobs?tenant=@", "tenant"),
        ("/ojs/v1/cron?tenant=@", "tenant"),
        ("/ojs/v1/events?tenant=@", "tenant"),
        ("/ojs/v1/rate-limits?prefix=@", "limit"),
        ("/ojs/v1/events/stream?channel=queue:@", "queue"),
        ("/ojs/v1/events/stream?channel=job:@", "job"),
        ("/ojs/v1/rate-limits/queue:@", "queue"),
    ] {
        rows.push(row("GET", path, kind, None));
    }
    rows
}

/// Creates one of each kind with a tenant's key; the names of all of them begin with "hidden".
fn create_things(secured: &Secured, tenant: &str, key: &str) -> Vec<Thing> {
    let enqueue = |more: Value| {
        let mut job = job("a", "hidden-queue");
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let accepted = secured.post(key, "/ojs/v1/jobs", job).expect(201);
        accepted["job"]["id"].as_str().unwrap().to_owned()
    };
    let fetch = || {
        let ask = json!({"queues": ["hidden-queue"], "worker_id": "hidden-worker"});
        let fetched = secured.post(key, "/ojs/v1/workers/fetch", ask).expect(200);
        fetched["jobs"][0]["id"].as_str().unwrap().to_owned()
    };
    let once = json!({"options": {"queue": "hidden-queue", "retry": {"max_attempts": 1}}});
    let dead = enqueue(once);
    assert_eq!(fetch(), dead);
    let nack = json!({"job_id": dead, "error": {"code": "a", "message": "b", "retryable": false}});
    secured.post(key, "/ojs/v1/workers/nack", nack).expect(200);
    let active = enqueue(json!({}));
    assert_eq!(fetch(), active);
    let waiting = enqueue(json!({}));
    let cron = json!({
        "name": "hidden-cron", "cron": "0 0 1 1 *", "type": "a", "queue": "hidden-queue",
    });
    secured.post(key, "/ojs/v1/cron", cron).expect(201);
    let limit = Some(json!({"concurrency": 2}));
    secured.send(key, "PUT", "/ojs/v1/rate-limits/hidden-limit", limit).expect(200);
    let pool = Some(json!({"queues": ["hidden-queue"]}));
    secured.send(key, "PUT", "/ojs/v1/admin/pools/hidden-pool", pool).expect(201);
    let about = json!({"name": "hidden", "tenant_id": tenant, "scopes": ["inspect"]});
    let created = secured.create(about);
    let id = created["id"].as_str().unwrap().to_owned();
    let invented_key = id.chars().rev().collect();
    let thing = |kind, hidden: &str, invented: &str| Thing {
        kind,
        hidden: hidden.to_owned(),
        invented: invented.to_owned(),
    };
    vec![
        thing("job", &waiting, &invented_id(&waiting)),
        thing("active job", &active, &invented_id(&active)),
        thing("dead letter", &dead, &invented_id(&dead)),
        thing("queue", "hidden-queue", "absent-queue"),
        thing("cron", "hidden-cron", "absent-cron"),
        thing("worker", "hidden-worker", "absent-worker"),
        thing("limit", "hidden-limit", "absent-limit"),
        thing("pool", "hidden-pool", "absent-pool"),
        Thing { kind: "key", hidden: id, invented: invented_key },
        thing("tenant", tenant, "nobody-at-all"),
    ]
}

/// How many lookups there have been.
fn lookups(secured: &Secured) -> [u64; 2] {
    let stats = secured.get(secured.operator(), "/ojs/v1/admin/stats").expect(200);
    ["engine", "store"].map(|name| stats["lookups"][name].as_u64().unwrap())
}

/// What a caller can learn from an answer, whatever the thing is called.
#[derive(Debug, PartialEq)]
struct Learned {
    status: u16,
    headers: Vec<String>,
    body: Value,
    /// Of the engine and of the store, with those of reading the numbers themselves.
    lookups: [u64; 2],
}

fn ask(secured: &Secured, key: &str, row: &Row, name: &str) -> Learned {
    let body = row.body.as_ref().map(|body| {
        serde_json::from_str(&body.to_string().replace('@', name)).expect("JSON with a name in it")
    });
    let path = row.path.replace('@', name);
    let before = lookups(secured);
    let (status, headers, body) = match row.is_stream() {
        true => head_of_stream(secured, key, &path),
        false => {
            let Reply { status, headers, body, .. } = secured.send(key, row.method, &path, body);
            (status, headers, body)
        }
    };
    let after = lookups(secured);
    let lookups = [after[0] - before[0], after[1] - before[1]];
    let mut headers: Vec<String> = headers.into_iter().map(|(name, _)| name).collect();
    headers.sort();
    Learned { status, headers, body: normalized(&body, name), lookups }
}

/// The beginning of an answer that may have no end.
fn head_of_stream(secured: &Secured, key: &str, path: &str) -> (u16, Vec<(String, String)>, Value) {
    let mut wire = Wire::open(secured.server.address()).unwrap();
    wire.write(&request("GET", path, &[&format!("Authorization: Bearer {key}")], b"")).unwrap();
    let mut first = [0; 12];
    while wire.stream().peek(&mut first).unwrap() < first.len() {}
    if first.ends_with(b"200") {
        return (200, Vec::new(), Value::Null);
    }
    let answer = wire.answer().unwrap();
    (answer.status, answer.headers.clone(), answer.json())
}

/// Without the name, times, and the id of the request.
fn normalized(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| {
                !matches!(key.as_str(), "request_id" | "uptime_seconds") && !key.ends_with("_ms")
            })
            .map(|(key, value)| (key.replace(name, "NAME"), normalized(value, name)))
            .collect(),
        Value::Array(all) => all.iter().map(|value| normalized(value, name)).collect(),
        Value::String(text) if rota_model::Millis::parse_rfc3339(text).is_ok() => json!("TIME"),
        Value::String(text) if text.starts_with("evt_") => json!("EVENT"),
        Value::String(text) => json!(text.replace(name, "NAME")),
        other => other.clone(),
    }
}

/// Asks for things of these kinds with a key that may not see them, and for things that do not exist.
fn compare(secured: &Secured, key: &str, things: &[Thing], kinds: &[&str]) {
    let (mut asked, mut looked_up) = (0, [0, 0]);
    let mut differ = Vec::new();
    for row in rows().iter().filter(|row| kinds.contains(&row.kind)) {
        let thing = things.iter().find(|thing| thing.kind == row.kind).unwrap();
        let [hidden, invented] =
            [&thing.hidden, &thing.invented].map(|name| ask(secured, key, row, name));
        if hidden != invented {
            differ.push(format!("{} {}:\n  {hidden:?}\n  {invented:?}", row.method, row.path));
        }
        asked += 1;
        looked_up = [0, 1].map(|index| looked_up[index] + hidden.lookups[index]);
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(asked > 40, "{asked}");
    assert!(looked_up.iter().all(|count| *count > 10), "lookups are counted: {looked_up:?}");
}

/// Kinds of things that belong to a tenant. Limits of job types are the operators'.
const OF_TENANTS: [&str; 10] = [
    "job",
    "active job",
    "dead letter",
    "queue",
    "cron",
    "worker",
    "limit",
    "pool",
    "key",
    "tenant",
];

fn another_tenants_things(flags: &[&str]) {
    let secured = Secured::start_with(flags);
    let things = create_things(&secured, "other", &secured.key("other", &SCOPES));
    let stranger = secured.key("acme", &SCOPES);
    secured.post(&stranger, "/ojs/v1/jobs", job("a", "own")).expect(201);
    compare(&secured, &stranger, &things, &OF_TENANTS);
}

#[test]
fn another_tenants_things_are_as_if_they_did_not_exist() {
    another_tenants_things(&[]);
}

#[test]
fn another_tenants_things_are_as_if_they_did_not_exist_in_namespaces() {
    another_tenants_things(&["--tenancy-isolation", "namespace"]);
}

/// Kinds of things that belong to a queue.
const OF_QUEUES: [&str; 5] = ["job", "active job", "dead letter", "queue", "cron"];

#[test]
fn things_in_queues_that_a_key_is_not_for_are_as_if_they_did_not_exist() {
    for flags in [&[][..], &["--tenancy-isolation", "namespace"]] {
        let secured = Secured::start_with(flags);
        let things = create_things(&secured, "acme", &secured.key("acme", &SCOPES));
        let about = json!({
            "name": "x", "tenant_id": "acme", "scopes": SCOPES, "queues": ["own"],
        });
        let limited = text_of(&secured.create(about));
        secured.post(&limited, "/ojs/v1/jobs", job("a", "own")).expect(201);
        compare(&secured, &limited, &things, &OF_QUEUES);
    }
}

#[test]
fn no_list_and_no_total_tells_of_queues_that_a_key_is_not_for() {
    for flags in [&[][..], &["--tenancy-isolation", "namespace"]] {
        let secured = Secured::start_with(flags);
        let whole = secured.key("acme", &SCOPES);
        create_things(&secured, "acme", &whole);
        let both = Some(json!({"queues": ["own", "hidden-queue"], "weights": {"hidden-queue": 2}}));
        secured.send(&whole, "PUT", "/ojs/v1/admin/pools/own", both.clone()).expect(201);
        let heartbeat = json!({"worker_id": "both", "queues": ["own", "hidden-queue"]});
        secured.post(&whole, "/ojs/v1/workers/heartbeat", heartbeat).expect(200);
        let about = json!({
            "name": "x", "tenant_id": "acme", "scopes": SCOPES, "queues": ["own"],
        });
        let limited = text_of(&secured.create(about));
        secured.post(&limited, "/ojs/v1/jobs", job("a", "own")).expect(201);
        for (method, path, _) in routes().filter(|(method, ..)| *method == "GET") {
            // Streams are of jobs and events, which other tests ask for.
            let is_other = ["/ws", "/stream", "{id}/events", "{name}/events"]
                .iter()
                .any(|part| path.contains(part));
            if is_other {
                continue;
            }
            let path = path.replace("tenants/{id}", "tenants/acme").replace("{name}", "own");
            let path = path.replace("{key}", "queue:own").replace("{type}", "a");
            let reply = secured.get(&limited, &path);
            assert!(!reply.text.contains("hidden-queue"), "{method} {path}: {}", reply.text);
            let statuses = [200, 400, 403, 404, 422];
            assert!(statuses.contains(&reply.status), "{path}: {} {}", reply.status, reply.text);
        }
        let stats = secured.get(&limited, "/ojs/v1/admin/stats").expect(200);
        assert_eq!(stats["queues"], 1, "{stats}");
        assert_eq!((&stats["jobs"]["available"], &stats["jobs"]["active"]), (&json!(1), &json!(0)));
        assert_eq!(stats["jobs"]["discarded"], 0, "{stats}");
        let list = secured.get(&limited, "/ojs/v1/queues").expect(200);
        assert_eq!(list["pagination"]["total"], 1, "{list}");
        let list = secured.get(&limited, "/ojs/v1/jobs").expect(200);
        assert_eq!(list["pagination"]["total"], 1, "{list}");
        let dead = secured.get(&limited, "/ojs/v1/dead-letter/stats").expect(200);
        assert_eq!((&dead["total"], &dead["oldest_at"]), (&json!(0), &Value::Null), "{dead}");
        let crons = secured.get(&limited, "/ojs/v1/cron").expect(200);
        assert_eq!(crons["pagination"]["total"], 0, "{crons}");
        let worker = secured.get(&limited, "/ojs/v1/admin/workers/hidden-worker").expect(200);
        assert_eq!(worker["active_jobs"], 0, "{worker}");
        let pool = secured.get(&limited, "/ojs/v1/pools/own").expect(200);
        assert_eq!((&pool["queues"], &pool["active_jobs"]), (&json!(["own"]), &Value::Null));
        let put = secured.send(&limited, "PUT", "/ojs/v1/admin/pools/own", both);
        put.expect_error(403, "forbidden");
        for path in
            ["fairness", "audit", "tenants/acme", "tenants/acme/stats", "tenants/acme/usage"]
        {
            let reply = secured.get(&limited, &format!("/ojs/v1/admin/{path}"));
            reply.expect_error(403, "forbidden");
        }
        // The key without a list sees them all.
        let stats = secured.get(&whole, "/ojs/v1/admin/stats").expect(200);
        assert_eq!((&stats["queues"], &stats["jobs"]["discarded"]), (&json!(2), &json!(1)));
    }
}

#[test]
fn nobody_in_particular_learns_nothing_from_probes() {
    let secured = Secured::start();
    create_things(&secured, "acme", &secured.key("acme", &SCOPES));
    for headers in [&[][..], &[("X-OJS-Tenant", "acme")]] {
        let health = secured.server.send("GET", "/health", headers, None).expect(200);
        assert_eq!((&health["active_jobs"], &health["workers"]), (&Value::Null, &Value::Null));
    }
}
