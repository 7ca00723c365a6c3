//! Pools of tenants, and of the operator: who may see, use and change them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::secured::{Secured, job};

const POOLS: &str = "/ojs/v1/admin/pools";
const FETCH: &str = "/ojs/v1/workers/fetch";
const MODELS: [&str; 2] = ["shared", "namespace"];

struct Two {
    secured: Secured,
    acme: String,
    globex: String,
}

/// A server with two tenants.
fn two(flags: &[&str]) -> Two {
    let secured = Secured::start_with(flags);
    let key = |tenant: &str| {
        let key = secured.key(tenant, &["enqueue", "dequeue", "inspect", "admin"]);
        for _ in 0..4 {
            secured.post(&key, "/ojs/v1/jobs", job("a.b", "q")).expect(201);
        }
        key
    };
    let (acme, globex) = (key("acme"), key("globex"));
    Two { secured, acme, globex }
}

fn two_in(model: &str) -> Two {
    two(&["--tenancy-isolation", model])
}

impl Two {
    fn put(&self, key: &str, name: &str, config: Value) -> crate::support::Reply {
        self.secured.send(key, "PUT", &format!("{POOLS}/{name}"), Some(config))
    }

    fn put_operators(&self, name: &str, config: Value) {
        let reply = self.put(self.secured.operator(), name, config);
        assert!([200, 201].contains(&reply.status), "{}", reply.status);
    }

    /// How many jobs a fetch in a pool gets.
    fn fetched(&self, key: &str, pool: &str) -> usize {
        let body = json!({"pool": pool, "count": 9});
        let jobs = self.secured.post(key, FETCH, body).expect(200);
        jobs["jobs"].as_array().unwrap().len()
    }

    fn names(&self, key: &str) -> Vec<Value> {
        let list = self.secured.get(key, POOLS).expect(200);
        let names: Vec<Value> =
            list["pools"].as_array().unwrap().iter().map(|pool| pool["name"].clone()).collect();
        assert_eq!(list["pagination"]["total"], names.len(), "{list}");
        names
    }
}

#[test]
fn a_pool_that_a_tenant_may_not_use_answers_like_an_unknown_one_on_every_route() {
    for model in MODELS {
        let two = two_in(model);
        two.put_operators("secret", json!({"queues": ["q"], "tenants": ["initech"]}));
        two.put(&two.acme, "private", json!({"queues": ["q"]})).expect(201);
        let about = |pool: &str| json!({"worker_id": "w", "pool": pool});
        let answers = |name: &str| {
            let send = |method: &str, path: String, body: Option<Value>| {
                let reply = two.secured.send(&two.globex, method, &path, body);
                let status = reply.status;
                let mut error = reply.expect(status)["error"].clone();
                error["request_id"] = Value::Null;
                (path.replace(name, "?"), status, error.to_string().replace(name, "?"))
            };
            [
                send("GET", format!("{POOLS}/{name}"), None),
                send("GET", format!("/ojs/v1/pools/{name}"), None),
                send("DELETE", format!("{POOLS}/{name}"), None),
                send("POST", FETCH.to_owned(), Some(json!({"pool": name}))),
                send("POST", FETCH.to_owned(), Some(json!({"pool": name, "wait_ms": 1_000}))),
                send("POST", FETCH.to_owned(), Some(about(name))),
                send("POST", "/ojs/v1/workers/register".to_owned(), Some(about(name))),
                send("POST", "/ojs/v1/workers/heartbeat".to_owned(), Some(about(name))),
            ]
        };
        let unknown = answers("nowhere");
        assert!(unknown[..3].iter().all(|(_, status, _)| *status == 404), "{unknown:?}");
        assert!(unknown[3..].iter().all(|(_, status, _)| *status == 422), "{unknown:?}");
        assert_eq!(answers("secret"), unknown, "{model}");
        assert_eq!(answers("private"), unknown, "{model}");
        assert_eq!(two.names(&two.globex), [""; 0], "{model}");
        // Both names are free for a pool of its own.
        for name in ["secret", "private"] {
            two.put(&two.globex, name, json!({"queues": ["q"]})).expect(201);
            two.secured.send(&two.globex, "DELETE", &format!("{POOLS}/{name}"), None).expect(200);
        }
        let shown = two.secured.get(&two.acme, &format!("{POOLS}/private")).expect(200);
        assert_eq!(shown["tenant_id"], "acme", "{shown}");
    }
}

#[test]
fn a_hostile_tenant_takes_no_slot_of_a_pool_that_is_not_open_to_it() {
    for model in MODELS {
        let two = two_in(model);
        let pool = json!({"queues": ["q"], "concurrency": 2, "tenants": ["acme"]});
        two.put_operators("fast", pool);
        two.put(&two.globex, "fast", json!({"queues": ["q"], "concurrency": 3})).expect(201);
        assert_eq!(two.fetched(&two.globex, "fast"), 3, "its own, of the same name");
        assert_eq!(two.fetched(&two.acme, "fast"), 2, "{model}");
        let shown = two.secured.get(two.secured.operator(), &format!("{POOLS}/fast")).expect(200);
        assert_eq!((&shown["active_jobs"], &shown["tenant_id"]), (&json!(2), &Value::Null));
    }
}

#[test]
fn an_operators_pool_is_read_only_for_tenants_and_hides_who_else_uses_it() {
    for model in MODELS {
        let two = two_in(model);
        two.put_operators("fast", json!({"queues": ["q"], "concurrency": 3, "tenants": "*"}));
        two.fetched(&two.globex, "fast");
        let path = format!("{POOLS}/fast");
        let shown = two.secured.get(&two.acme, &path).expect(200);
        assert_eq!(shown["concurrency"], 3);
        for hidden in ["tenants", "active_jobs", "active_workers", "workers", "utilization"] {
            assert_eq!(shown[hidden], Value::Null, "{hidden}: {shown}");
        }
        two.put(&two.acme, "fast", json!({"queues": ["q"]})).expect_error(403, "forbidden");
        two.secured.send(&two.acme, "DELETE", &path, None).expect_error(403, "forbidden");
        let shown = two.secured.get(two.secured.operator(), &path).expect(200);
        assert_eq!((&shown["tenants"], &shown["active_jobs"]), (&json!("*"), &json!(3)));
    }
}

#[test]
fn a_freed_slot_of_a_fair_pool_is_the_quiet_tenants_although_the_hog_has_waited_longer() {
    for model in MODELS {
        let two = two_in(model);
        let pool = json!({"queues": ["q"], "concurrency": 2, "tenants": "*", "fair": true});
        two.put_operators("fair", pool);
        let ask = json!({"pool": "fair", "wait_ms": 30_000});
        let mut held = Vec::new();
        for _ in 0..2 {
            let jobs = two.secured.post(&two.acme, FETCH, ask.clone()).expect(200);
            held.push(jobs["jobs"][0]["id"].clone());
        }
        let wait_for = |count: u64| {
            let waiting = || two.secured.get(two.secured.operator(), "/metrics").text;
            let wanted = format!("ojs_workers_waiting {count}");
            (0..2_000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                waiting().contains(&wanted)
            })
        };
        std::thread::scope(|scope| {
            let hog = scope.spawn(|| two.secured.post(&two.acme, FETCH, ask.clone()).expect(200));
            assert!(wait_for(1), "the hog waits");
            let quiet =
                scope.spawn(|| two.secured.post(&two.globex, FETCH, ask.clone()).expect(200));
            assert!(wait_for(2), "the other tenant waits");
            for (job, next) in held.iter().zip([quiet, hog]) {
                two.secured
                    .post(&two.acme, "/ojs/v1/workers/ack", json!({"job_id": job}))
                    .expect(200);
                let got = next.join().unwrap();
                assert_eq!(got["jobs"].as_array().unwrap().len(), 1, "{model}: {got}");
            }
        });
    }
}

#[test]
fn by_default_an_operators_pool_is_open_where_queues_are_shared_and_closed_in_namespaces() {
    for (model, open) in MODELS.into_iter().zip([true, false]) {
        let two = two_in(model);
        two.put_operators("plain", json!({"queues": ["q"]}));
        let reply = two.secured.post(&two.acme, FETCH, json!({"pool": "plain"}));
        assert_eq!(reply.status, if open { 200 } else { 422 }, "{model}");
    }
}

#[test]
fn a_tenants_pool_has_nothing_that_concerns_others() {
    let two = two_in("shared");
    let refused = |config: Value, field: &str| {
        let error = two.put(&two.acme, "mine", config).expect_error(422, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{error}");
    };
    refused(json!({"queues": ["q"], "isolated": true}), "isolated");
    refused(json!({"queues": ["q"], "tenants": "*"}), "tenants");
    refused(json!({"queues": ["q"], "fairness_scope": "pool"}), "fairness_scope");
    refused(json!({"queues": ["q"], "concurrency": 1, "fair": true}), "fair");
    let unlimited = json!({"queues": ["q"], "fair": true});
    two.put(two.secured.operator(), "p", unlimited).expect_error(422, "invalid_request");
    let many: Vec<String> = (0..101).map(|number| format!("q{number}")).collect();
    refused(json!({"queues": many}), "queues");
    // Where its queues are its own, a tenant may reserve them.
    let two = two_in("namespace");
    two.put(&two.acme, "mine", json!({"queues": ["q"], "isolated": true})).expect(201);
    let by_name = |key: &str| {
        let jobs = two.secured.post(key, FETCH, json!({"queues": ["q"]})).expect(200);
        jobs["jobs"].as_array().unwrap().len()
    };
    assert_eq!((by_name(&two.acme), by_name(&two.globex)), (0, 1));
    assert_eq!(two.fetched(&two.acme, "mine"), 4);
}

#[test]
fn pools_and_their_owners_survive_a_restart() {
    let mut two = two(&["--limits-pools-per-tenant", "2"]);
    two.put_operators("fast", json!({"queues": ["q"], "concurrency": 1, "tenants": ["acme"]}));
    for name in ["one", "two"] {
        two.put(&two.acme, name, json!({"queues": ["q"], "concurrency": 1})).expect(201);
    }
    assert_eq!((two.fetched(&two.acme, "fast"), two.fetched(&two.acme, "one")), (1, 1));
    two.secured.server.kill();
    two.secured.server.restart();
    assert_eq!(two.names(&two.acme), ["fast", "one", "two"]);
    assert_eq!(two.names(&two.globex), [""; 0]);
    assert_eq!((two.fetched(&two.acme, "fast"), two.fetched(&two.acme, "one")), (0, 0));
    // The cap is the tenant's own, and deleting a pool makes room.
    two.put(&two.acme, "three", json!({"queues": ["q"]}))
        .expect_error(422, "TENANT_LIMIT_EXCEEDED");
    two.put(&two.globex, "three", json!({"queues": ["q"]})).expect(201);
    two.secured.send(&two.acme, "DELETE", &format!("{POOLS}/one"), None).expect(200);
    two.put(&two.acme, "three", json!({"queues": ["q"]})).expect(201);
    // An operator sees all of them, and changes a tenant's on its behalf.
    let list = two.secured.get(two.secured.operator(), POOLS).expect(200);
    let pools = list["pools"].as_array().unwrap().iter();
    let owned: Vec<_> =
        pools.map(|pool| (pool["name"].as_str().unwrap(), pool["tenant_id"].as_str())).collect();
    let expected =
        [("three", Some("acme")), ("two", Some("acme")), ("fast", None), ("three", Some("globex"))];
    assert_eq!(owned, expected);
    let acme = [("X-OJS-Tenant", "acme")];
    let path = format!("{POOLS}/two");
    two.secured.send_with(two.secured.operator(), &acme, "DELETE", &path, None).expect(200);
    assert_eq!(two.names(&two.acme), ["fast", "three"]);
}

#[test]
fn events_and_figures_of_a_tenants_pool_are_its_own() {
    let two = two_in("namespace");
    let pool = json!({"queues": ["q"], "concurrency": 1});
    two.put(&two.acme, "mine", pool).expect(201);
    assert_eq!((two.fetched(&two.acme, "mine"), two.fetched(&two.acme, "mine")), (1, 0));
    let events = |key: &str| {
        let path = "/ojs/v1/events?limit=1000&types=scheduling.pool_overloaded";
        two.secured.get(key, path).expect(200)["events"].as_array().unwrap().clone()
    };
    let seen = (0..2_000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        events(&two.acme).pop()
    });
    let event = seen.expect("the event is sent");
    assert_eq!(
        (&event["data"]["pool"], &event["data"]["waiting_jobs"]),
        (&json!("mine"), &json!(3))
    );
    assert_eq!(events(&two.globex), [Value::Null; 0]);
    // Tenants cannot invent labels of metrics.
    let reply = two.secured.get(two.secured.operator(), "/metrics");
    assert_eq!(reply.status, 200);
    assert!(!reply.text.contains("mine"), "{}", reply.text);
    let worker = json!({"worker_id": "w", "pool": "mine"});
    two.secured.post(&two.acme, "/ojs/v1/workers/register", worker).expect(200);
    let shown = two.secured.get(&two.acme, "/ojs/v1/admin/workers/w").expect(200);
    assert_eq!(shown["pool"], "mine");
    let fairness = two.secured.get(&two.globex, "/ojs/v1/admin/fairness").expect(200);
    assert_eq!(fairness["pools_with_other_scope"], json!([]));
    let stats = two.secured.get(&two.globex, "/ojs/v1/admin/scheduling/stats").expect(200);
    assert_eq!(stats["stats"]["pools"], json!([]));
}
