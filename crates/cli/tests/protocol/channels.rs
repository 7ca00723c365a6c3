//! Channels (ojs-realtime): the flat events of a job, a queue, or everything, as server-sent events.

use serde_json::{Value, json};

use crate::event_stream_reader::{EventStream, Pushed};
use crate::shorthand::{NOBODY, ack, boom, eventually, fresh_queue, heartbeat, job_on, job_with};
use crate::shorthand::{nack, quick_retry, take, take_with, text};
use crate::states::{events, job_in};
use crate::support::{JSON, Server};
use crate::web_socket_reader::Socket;

fn channel(name: &str) -> String {
    format!("/events/stream?channel={}", name.replace(':', "%3A"))
}

fn purge_queue(server: &Server, queue: &str) {
    let path = format!("/ojs/v1/admin/queues/{queue}/jobs");
    let all = json!({"states": ["available"], "confirm": true});
    server.send("DELETE", &path, &[JSON], Some(all.to_string().as_bytes())).expect(200);
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[test]
fn each_change_of_a_job_is_pushed_in_the_flat_form() {
    let server = Server::start();
    let retry =
        json!({"retry": quick_retry(2), "scheduled_at": "+PT0.2S", "meta": {"trace_id": "t1"}});
    let id = server.enqueue(job_with("q", retry));
    let name = format!("job:{id}");
    let mut streams = [
        EventStream::open(&server, &channel(&name)),
        EventStream::open(&server, &format!("/jobs/{id}/events")),
        EventStream::open(&server, &format!("/events/stream?channel={name}")),
    ];
    server.enqueue(job_on("other"));
    take(&server, "q");
    nack(&server, &id, boom());
    take_with(&server, "q", json!({"worker_id": "w"}));
    heartbeat(&server, "w", json!({"active_jobs": [id]})).expect(200);
    ack(&server, &id);
    for stream in &mut streams {
        assert_eq!(stream.change(), pair("scheduled", "available"));
        assert_eq!(stream.change(), pair("available", "active"));
        assert_eq!(stream.change(), pair("active", "retryable"));
        assert_eq!(stream.change(), pair("retryable", "available"));
        let Pushed { event, data, id: event_id } = stream.on_channel();
        assert_eq!(event, "job.state_changed");
        let expected = json!({
            "job_id": id, "queue": "q", "type": "test.job", "from": "available", "to": "active",
            "tenant_id": "_default", "trace_id": "t1", "worker_id": "w", "attempt": 2,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(data[key], *value, "{key} of {data}");
        }
        assert!(data["timestamp"].is_string() && data.get("specversion").is_none(), "{data}");
        assert!(event_id.starts_with("evt_"), "{event_id}");
        let beat = stream.on_channel();
        assert_eq!((&*beat.event, &beat.data["worker_id"]), ("job.heartbeat", &json!("w")));
        assert_eq!((&beat.data["job_id"], beat.data["timestamp"].is_string()), (&json!(id), true));
        assert_eq!(stream.change(), pair("active", "completed"));
        assert_eq!(stream.pushed(), None, "the channel ends with the job");
    }
}

#[test]
fn every_way_between_states_is_a_change() {
    let server = Server::start();
    let queue = fresh_queue();
    server.enqueue(job_on(&queue));
    take(&server, &queue);
    let mut stream = EventStream::open(&server, &channel(&format!("queue:{queue}")));
    let mut expect = |from: &str, to: &str| assert_eq!(stream.change(), pair(from, to));
    let id = server.enqueue(job_with(&queue, json!({"pending": true})));
    server.post(&format!("/ojs/v1/jobs/{id}/activate"), json!({})).expect(200);
    expect("pending", "available");
    take(&server, &queue);
    expect("available", "active");
    server
        .post("/ojs/v1/workers/nack", json!({"job_id": id, "error": boom(), "requeue": true}))
        .expect(200);
    expect("active", "available");
    server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    expect("available", "cancelled");
    server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).expect(200);
    expect("cancelled", "available");
    take(&server, &queue);
    expect("available", "active");
    nack(&server, &id, json!({"code": "no", "message": "no", "retryable": false}));
    expect("active", "discarded");
    server.post(&format!("/ojs/v1/dead-letter/{id}/retry"), json!({})).expect(200);
    expect("discarded", "available");
    server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
    expect("available", "cancelled");
    server.enqueue(job_with(&queue, json!({"expires_at": "+PT0.05S"})));
    expect("", "available");
    expect("available", "discarded");
    server.enqueue(job_with(&queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    expect("", "scheduled");
}

#[test]
fn the_channel_of_a_job_that_has_ended_says_how_and_ends() {
    let server = Server::start();
    for state in ["completed", "cancelled", "discarded"] {
        let id = job_in(&server, state);
        for path in [channel(&format!("job:{id}")), format!("/jobs/{id}/events")] {
            let mut stream = EventStream::open(&server, &path);
            let Pushed { event, data, .. } = stream.on_channel();
            assert_eq!(event, "job.state_changed");
            assert_eq!((&data["job_id"], &data["to"]), (&json!(id), &json!(state)));
            assert_eq!((&data["from"], &data["type"]), (&json!(state), &json!("test.job")));
            assert!(data["queue"].is_string() && data["timestamp"].is_string(), "{data}");
            assert_eq!(stream.pushed(), None);
        }
    }
}

#[test]
fn a_queue_has_a_channel() {
    let server = Server::start();
    let (mine, other) = (fresh_queue(), fresh_queue());
    server.enqueue(job_on(&mine));
    for path in [channel(&format!("queue:{mine}")), format!("/queues/{mine}/events")] {
        let mut stream = EventStream::open(&server, &path);
        server.enqueue(job_on(&other));
        server.post(&format!("/ojs/v1/queues/{mine}/pause"), json!({})).expect(200);
        server.post(&format!("/ojs/v1/queues/{mine}/resume"), json!({})).expect(200);
        let id = server.enqueue(job_on(&mine));
        let paused = stream.on_channel();
        assert_eq!((&*paused.event, &paused.data["queue"]), ("queue.paused", &json!(mine)));
        assert_eq!(stream.on_channel().event, "queue.resumed");
        let new = stream.on_channel();
        assert_eq!((&new.data["job_id"], &new.data["from"]), (&json!(id), &json!("")));
    }
}

#[test]
fn all_is_everything_that_the_caller_may_see() {
    let server = Server::start();
    let path = channel("all");
    let mut everything = EventStream::open(&server, &path);
    let mut of_acme = EventStream::open_with(&server, &path, &["X-OJS-Tenant: acme"]);
    let of = |tenant: &str| json!({"meta": {"tenant_id": tenant}});
    let theirs = server.enqueue(job_with("q", of("beta")));
    let own = server.enqueue(job_with("q", of("acme")));
    assert_eq!(everything.on_channel().data["job_id"], theirs);
    assert_eq!(everything.on_channel().data["job_id"], own);
    let first = of_acme.on_channel();
    assert_eq!((&first.data["job_id"], &first.data["tenant_id"]), (&json!(own), &json!("acme")));
    // A tenant's channel of a shared queue has its own jobs.
    let mut in_queue =
        EventStream::open_with(&server, &channel("queue:q"), &["X-OJS-Tenant: acme"]);
    server.enqueue(job_with("q", of("beta")));
    let own = server.enqueue(job_with("q", of("acme")));
    assert_eq!(in_queue.on_channel().data["job_id"], own);
}

#[test]
fn channels_that_are_not_there_are_refused() {
    let server = Server::start();
    let foreign = server.enqueue(job_with("theirs", json!({"meta": {"tenant_id": "beta"}})));
    let get = |path: &str, tenant: Option<&str>| {
        let mut headers = vec![("Accept", "text/event-stream")];
        headers.extend(tenant.map(|tenant| ("X-OJS-Tenant", tenant)));
        server.send("GET", &format!("/ojs/v1{path}"), &headers, None)
    };
    for name in ["", "jobs", "job", "queue", "tenant:acme", "ALL", "all:", "events", "Job:x", "*"] {
        let error = get(&channel(name), None).expect_error(400, "invalid_request");
        assert_eq!(error["details"]["field"], "channel", "{name}: {error}");
    }
    get("/events/stream?channel=all&channel=queue:q", None).expect_error(400, "invalid_request");
    get("/queues/theirs/events?channel=all", None).expect_error(400, "invalid_request");
    server.get("/ojs/v1/events?channel=all").expect_error(400, "invalid_request");
    for name in [format!("job:{NOBODY}"), "job:x".into(), "job:".into(), "queue:no".into()] {
        let reply = get(&channel(&name), None);
        assert_eq!(reply.header("content-type"), Some("application/openjobspec+json"));
        reply.expect_error(404, "not_found");
    }
    for name in [format!("job:{foreign}"), "queue:theirs".into()] {
        get(&channel(&name), Some("acme")).expect_error(404, "not_found");
    }
}

#[test]
fn a_filter_narrows_a_channel_and_may_ask_for_more_names() {
    let server = Server::start();
    let queue = fresh_queue();
    server.enqueue(job_on(&queue));
    let path = |types: &str| format!("/queues/{queue}/events?event_types={types}");
    let mut changes = EventStream::open(&server, &path("job.state_changed"));
    let mut both = EventStream::open(&server, &path("job.state_changed,job.completed"));
    let mut ends = EventStream::open(&server, &path("job.completed,job.failed"));
    let begin = both.last_id.clone();
    let id = text(&take_with(&server, &queue, json!({"worker_id": "w"}))["id"]);
    heartbeat(&server, "w", json!({"active_jobs": [id]})).expect(200);
    ack(&server, &id);
    assert_eq!(changes.types(2), ["job.state_changed", "job.state_changed"]);
    let pushed: Vec<Pushed> = (0..3).map(|_| both.on_channel()).collect();
    let named: Vec<&str> = pushed.iter().map(|pushed| &*pushed.event).collect();
    assert_eq!(named, ["job.state_changed", "job.state_changed", "job.completed"]);
    assert_ne!(pushed[1].id, pushed[2].id);
    let end = ends.on_channel();
    assert_eq!((&*end.event, &end.data["to"]), ("job.completed", &json!("completed")));
    // Who was cut off between the two gets the second, whatever else comes again.
    let mut again =
        EventStream::resume(&server, &path("job.state_changed,job.completed"), &pushed[1].id);
    assert_eq!((again.on_channel(), again.on_channel()), (pushed[1].clone(), pushed[2].clone()));
    let mut all = EventStream::resume(&server, &path("job.state_changed,job.completed"), &begin);
    assert_eq!(all.types(3), named);
}

#[test]
fn a_client_that_comes_back_to_a_channel_gets_what_it_missed() {
    let server = Server::start_with(&["--events-capacity", "20"]);
    let path = channel("queue:q");
    server.enqueue(job_on("q"));
    let stream = EventStream::open(&server, &path);
    let begin = stream.last_id.clone();
    drop(stream);
    let ids: Vec<String> = (0..5).map(|_| server.enqueue(job_on("q"))).collect();
    let mut stream = EventStream::resume(&server, &path, &begin);
    for id in &ids {
        assert_eq!(stream.on_channel().data["job_id"], *id);
    }
    drop(stream);
    (0..40).for_each(|_| drop(server.enqueue(job_on("q"))));
    let mut stream = EventStream::resume(&server, &path, &begin);
    let gap = stream.on_channel();
    assert_eq!((&*gap.event, &gap.data["channel"]), ("system.gap", &json!("queue:q")));
    assert_eq!(gap.data["estimated_missed_count"], 25);
    assert!(gap.data["gap_start"].is_string() && gap.data["gap_end"].is_string(), "{gap:?}");
    assert_eq!(stream.types(20), vec!["job.state_changed"; 20]);
    // An id that this process has not given is a gap too, and no error. The stream goes on from now.
    let foreign = format!("evt_{NOBODY}");
    for unknown in ["evt_0042", &foreign] {
        let mut stream = EventStream::resume(&server, &path, unknown);
        let gap = stream.on_channel();
        assert_eq!((&*gap.event, gap.data.get("estimated_missed_count")), ("system.gap", None));
        let id = server.enqueue(job_on("q"));
        assert_eq!(stream.on_channel().data["job_id"], id);
    }
}

#[test]
fn who_comes_back_after_the_end_of_a_job_sees_it_end() {
    let server = Server::start();
    let id = server.enqueue(job_on("q"));
    let path = channel(&format!("job:{id}"));
    let begin = EventStream::open(&server, &path).last_id;
    take(&server, "q");
    ack(&server, &id);
    let mut stream = EventStream::resume(&server, &path, &begin);
    assert_eq!(stream.change(), pair("available", "active"));
    assert_eq!(stream.change(), pair("active", "completed"));
    assert_eq!(stream.pushed(), None);
}

#[test]
fn a_channel_gets_heartbeats_and_a_shutdown_notice() {
    let mut server = Server::start_with(&["--events-heartbeat", "50ms", "--shutdown-grace", "1h"]);
    let mut stream = EventStream::open(&server, &channel("all"));
    assert_eq!(stream.comment(), "heartbeat");
    assert_eq!(server.terminate().code(), Some(0));
    let shutdown = stream.on_channel();
    assert_eq!(shutdown.event, "server.shutdown");
    assert!(shutdown.data["grace_period_ms"].is_u64() && shutdown.data["reason"].is_string());
    assert_eq!(stream.pushed(), None);
}

#[test]
fn channels_count_as_streams() {
    let server = Server::start_with(&["--limits-event-streams-per-tenant", "1"]);
    let open = || EventStream::request(&server, &channel("all"), &["X-OJS-Tenant: acme"]);
    let first = open();
    assert!(first.head.starts_with("HTTP/1.1 200"), "{}", first.head);
    let second = open();
    assert!(second.head.starts_with("HTTP/1.1 429"), "{}", second.head);
    assert!(second.head.contains("retry-after: "), "{}", second.head);
    drop((first, second));
    eventually("there is room again", || open().head.starts_with("HTTP/1.1 200").then_some(()));
}

#[test]
fn all_events_stay_in_their_envelopes_without_a_channel() {
    let server = Server::start();
    let mut stream = EventStream::open(&server, "/events/stream?types=job.*");
    let id = server.enqueue(job_on("q"));
    let event: Value = stream.event();
    assert_eq!((&event["type"], &event["subject"]), (&json!("job.enqueued"), &json!(id)));
    assert_eq!(event, events(&server, "job.enqueued").remove(0));
}

#[test]
fn events_are_held_back_to_the_rate_and_none_is_lost() {
    let server = Server::start_with(&["--events-max-per-second", "20"]);
    let mut stream = EventStream::open(&server, &channel("all"));
    let begin = std::time::Instant::now();
    let ids: Vec<String> = (0..12).map(|_| server.enqueue(job_on("q"))).collect();
    for id in &ids {
        assert_eq!(stream.on_channel().data["job_id"], *id);
    }
    // The last has waited for the eleven before it; how much longer is the machine's business.
    assert!(begin.elapsed() >= std::time::Duration::from_millis(500), "{:?}", begin.elapsed());
}

#[test]
fn the_manifest_declares_what_is_served() {
    let declared = |server: &Server| {
        let manifest = server.get("/ojs/manifest").expect(200);
        let urn = json!("urn:ojs:ext:experimental:realtime");
        let has_urn = manifest["extensions"].as_array().unwrap().contains(&urn);
        let capabilities = &manifest["capabilities"];
        assert_eq!(manifest["event_delivery"], "best-effort");
        (capabilities["event_streams"].clone(), capabilities["websocket"].clone(), has_urn)
    };
    assert_eq!(declared(&Server::start()), (json!(true), json!(true), true));
    let without = Server::start_with(&["--events-capacity", "0"]);
    assert_eq!(declared(&without), (json!(false), json!(false), false));
    without.get(&format!("/ojs/v1{}", channel("all"))).expect_error(422, "unsupported");
}

#[test]
fn the_channel_of_a_job_ends_when_the_job_is_deleted() {
    // With one event at a time, the end is an event like any other.
    let server = Server::start_with(&["--events-max-per-second", "10"]);
    for way in ["purge", "delete"] {
        let id = server.enqueue(job_on("q"));
        let name = format!("job:{id}");
        let mut streams = [
            EventStream::open(&server, &channel(&name)),
            EventStream::open(&server, &format!("/jobs/{id}/events?event_types=job.started")),
        ];
        let mut socket = Socket::open(&server);
        assert_eq!(socket.ask(&json!({"action": "subscribe", "channel": name}))["channel"], name);
        match way {
            "purge" => purge_queue(&server, "q"),
            _ => {
                let selected = json!({"job_ids": [id], "confirm": true});
                server.post("/ojs/v1/admin/jobs/bulk/delete", selected).expect(200);
            }
        }
        let [stream, filtered] = &mut streams;
        let deleted = stream.on_channel();
        assert_eq!(
            (&*deleted.event, &deleted.data["job_id"]),
            ("job.deleted", &json!(id)),
            "{way}"
        );
        assert_eq!(deleted.data["previous_state"], "available");
        assert_eq!((stream.pushed(), filtered.pushed()), (None, None), "{way}");
        let told = socket.event();
        assert_eq!((&told["event"], &told["data"]["job_id"]), (&json!("job.deleted"), &json!(id)));
        assert_eq!(socket.message(), json!({"type": "unsubscribed", "channel": name}));
    }
    let id = server.enqueue(job_on("q"));
    let mut stream = EventStream::open(&server, &channel(&format!("job:{id}")));
    take(&server, "q");
    ack(&server, &id);
    assert_eq!(stream.change(), pair("available", "active"));
    assert_eq!(stream.change(), pair("active", "completed"));
    assert_eq!(stream.pushed(), None, "the last of a second's events may be the end");
}

#[test]
fn types_that_no_event_has_are_refused() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    let refused = |path: &str, nearest: &str| {
        let error = server.get(&format!("/ojs/v1{path}")).expect_error(400, "invalid_request");
        let details = &error["details"];
        assert_eq!(details["nearest"], nearest, "{path}: {error}");
        assert!(details["known"].as_array().unwrap().contains(&json!("job.started")), "{error}");
    };
    refused("/events?types=job.started,job.complted", "job.completed");
    refused("/events/stream?type=job.strated", "job.started");
    refused("/events/stream?channel=all&event_types=job.state_change", "job.state_changed");
    refused("/queues/q/events?event_types=queue.pause", "queue.paused");
    for path in ["/events?types=job.state_changed", "/events?types=jobs.*"] {
        server.get(&format!("/ojs/v1{path}")).expect_error(400, "invalid_request");
    }
    // Names that SDKs subscribe to are known, also those of events that do not occur here.
    let path = "/events?types=*,job.*,job.progress,workflow.completed,dead_letter.added";
    server.get(&format!("/ojs/v1{path}")).expect(200);
    let path = "/events/stream?channel=all&event_types=job.state_changed,system.gap,workflow.*";
    EventStream::open(&server, path);
}

#[test]
fn nothing_in_a_tenants_events_tells_about_others() {
    let caps = ["--limits-event-streams", "4", "--limits-event-streams-per-tenant", "3"];
    let server = Server::start_with(&[&["--events-capacity", "20"], &caps[..]].concat());
    let of = |tenant: &str| json!({"meta": {"tenant_id": tenant}});
    let acme = |path: &str| EventStream::request(&server, path, &["X-OJS-Tenant: acme"]);
    let enqueue = |tenant: &str| server.enqueue(job_with("q", of(tenant)));
    enqueue("acme");
    let begin = EventStream::open_with(&server, &channel("all"), &["X-OJS-Tenant: acme"]).last_id;
    // A counter would be the only thing that differs between these two.
    let twice = ["a", "b"].map(|_| enqueue("acme"));
    let ids: Vec<String> = events(&server, "job.enqueued").iter().map(|e| text(&e["id"])).collect();
    let tails: Vec<&str> = ids[ids.len() - 2..].iter().map(|id| &id[id.len() - 12..]).collect();
    let numbers: Vec<u64> =
        tails.iter().map(|tail| u64::from_str_radix(tail, 16).unwrap()).collect();
    assert!(numbers[0].abs_diff(numbers[1]) > 1_000, "{ids:?} of {twice:?}");
    (0..40).for_each(|_| drop(enqueue("beta")));
    let headers = ["X-OJS-Tenant: acme", &format!("Last-Event-ID: {begin}")];
    let mut stream = EventStream::open_with(&server, &channel("all"), &headers);
    let gap = stream.on_channel();
    assert_eq!((&*gap.event, gap.data.get("estimated_missed_count")), ("system.gap", None));
    // The times of others' events are not shown: nothing of its own is left, so the gap goes up to now.
    let last_of_beta = text(&events(&server, "job.enqueued").last().unwrap()["time"]);
    assert!(text(&gap.data["gap_end"]) >= last_of_beta, "{gap:?}");
    let own = enqueue("acme");
    assert_eq!(stream.on_channel().data["job_id"], own);
    let list = |tenant: &str| {
        let headers = [("X-OJS-Tenant", tenant)];
        server.send("GET", "/ojs/v1/events", &headers, None).expect(200)
    };
    assert_eq!(list("acme")["events"].as_array().unwrap().len(), 1);
    // How many streams there are is the operator's business.
    let open: Vec<EventStream> =
        (0..3).map(|_| EventStream::open(&server, "/events/stream")).collect();
    let refused = acme(&channel("all"));
    assert!(refused.head.starts_with("HTTP/1.1 503"), "{}", refused.head);
    let path = format!("/ojs/v1{}", channel("all"));
    let reply = server.send("GET", &path, &[("X-OJS-Tenant", "acme")], None);
    let error = reply.expect_error(503, "backend_error");
    assert!(error["details"].get("current").is_none(), "{error}");
    assert!(error["details"].get("limit").is_none(), "{error}");
    assert!(!text(&error["message"]).contains('4'), "{error}");
    drop(open);
}

#[test]
fn a_channel_ends_though_the_end_of_its_job_was_missed() {
    let args = ["--events-capacity", "20", "--events-max-per-second", "1"];
    let server = Server::start_with(&args);
    let ids = ["done", "gone"].map(|queue| server.enqueue(job_on(queue)));
    let names = ids.clone().map(|id| format!("job:{id}"));
    let mut streams = names.clone().map(|name| EventStream::open(&server, &channel(&name)));
    let mut sockets = names.clone().map(|name| {
        let mut socket = Socket::open(&server);
        assert_eq!(socket.ask(&json!({"action": "subscribe", "channel": name}))["channel"], name);
        socket
    });
    // The first event is pushed at once, and the next in a second at the earliest. Until then, the ends
    // have left the ring.
    take(&server, "done");
    let requeue = json!({"job_id": take(&server, "gone")["id"], "error": boom(), "requeue": true});
    server.post("/ojs/v1/workers/nack", requeue).expect(200);
    ack(&server, &ids[0]);
    purge_queue(&server, "gone");
    (0..40).for_each(|_| drop(server.enqueue(job_on("other"))));
    for stream in &mut streams {
        while stream.pushed().is_some() {}
    }
    for (socket, name) in sockets.iter_mut().zip(&names) {
        let end = json!({"type": "unsubscribed", "channel": name});
        while socket.message() != end {}
    }
}
