//! Event streams: what is committed is pushed, each event once, and what was missed is said.

use std::time::Duration;

use serde_json::{Value, json};

use crate::event_stream_reader::EventStream;
use crate::shorthand::{NOBODY, boom, eventually, job_on, job_with, nack, take, text};
use crate::states::events;
use crate::support::Server;

const ALL: &str = "/events/stream";

/// A stop that waits for requests waits longer than any test.
const WITHOUT_END: [&str; 2] = ["--shutdown-grace", "1h"];

fn enqueue_many(server: &Server, queue: &str, count: usize) {
    for _ in 0..count.div_ceil(1_000) {
        let jobs = vec![job_on(queue); count.min(1_000)];
        server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    }
}

fn ids_of(stream: &mut EventStream, count: usize) -> Vec<String> {
    (0..count).map(|_| text(&stream.event()["id"])).collect()
}

fn listed(server: &Server) -> Vec<String> {
    events(server, "").iter().map(|event| text(&event["id"])).collect()
}

#[test]
fn what_happens_is_pushed_as_the_list_shows_it() {
    let server = Server::start();
    server.enqueue(job_on("before"));
    let mut stream = EventStream::open(&server, ALL);
    let mut asked = EventStream::open_with(&server, "/events", &["Accept: text/event-stream"]);
    let id = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    take(&server, "q");
    nack(&server, &id, boom());
    let expected =
        ["job.enqueued", "job.started", "job.failed", "job.discarded", "dead_letter.added"];
    let pushed: Vec<Value> = expected.iter().map(|_| stream.event()).collect();
    assert_eq!(pushed.iter().map(|event| text(&event["type"])).collect::<Vec<_>>(), expected);
    assert_eq!(pushed, events(&server, "")[1..]);
    for event in &pushed {
        assert_eq!(event["data"]["job_id"], id, "{event}");
        assert_eq!(event["data"]["tenant_id"], "_default", "{event}");
    }
    assert_eq!(asked.types(5), expected);
}

#[test]
fn an_event_is_there_at_once() {
    let server = Server::start_with(&["--events-heartbeat", "15s"]);
    let mut stream = EventStream::open(&server, ALL);
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(50));
        server.enqueue(job_on("q"));
        stream.event();
        assert!(stream.comments.is_empty(), "it came with the next heartbeat");
    }
}

#[test]
fn lists_and_streams_have_the_same_filters() {
    let server = Server::start();
    let mut anchor = EventStream::open(&server, ALL);
    for (queue, kind) in [("a", "x.one"), ("b", "x.two"), ("a", "x.two")] {
        server.enqueue(json!({"type": kind, "args": [], "queue": queue}));
    }
    server.post("/ojs/v1/queues/a/pause", json!({})).expect(200);
    server.fetch("b", 1);
    let first = text(&anchor.event()["id"]);
    for (query, count) in [
        ("types=job.enqueued", 3),
        ("event_types=job.enqueued,job.started", 4),
        ("types=job.*", 4),
        ("types=queue.*,job.started", 2),
        ("types=tenant.*", 0),
        ("types=*", 5),
        ("queue=a", 3),
        ("queues=a,b&types=job.*", 4),
        ("job_type=x.two", 3),
        ("tenant=_default", 4),
        ("tenants=_default,acme&queue=b", 2),
        ("tenant_id=acme", 0),
    ] {
        let body = server.get(&format!("/ojs/v1/events?{query}")).expect(200);
        let listed: Vec<String> =
            body["events"].as_array().expect("events").iter().map(|e| text(&e["id"])).collect();
        assert_eq!(listed.len(), count, "{query}");
        let behind: Vec<&String> = listed.iter().filter(|id| **id != first).collect();
        let path = format!("{ALL}?{query}&last_event_id={first}");
        let mut stream = EventStream::open(&server, &path);
        assert_eq!(ids_of(&mut stream, behind.len()).iter().collect::<Vec<_>>(), behind, "{query}");
    }
}

#[test]
fn coming_back_gives_each_event_once() {
    let server = Server::start();
    let mut stream = EventStream::open(&server, ALL);
    // Also a client that had no event yet goes on where it was.
    let mut last_id = stream.last_id.clone();
    let mut seen = Vec::new();
    for round in 0..6 {
        drop(stream);
        enqueue_many(&server, "q", 100 + round * 100);
        stream = match round % 2 {
            0 => EventStream::resume(&server, ALL, &last_id),
            _ => EventStream::open(&server, &format!("{ALL}?after={last_id}")),
        };
        seen.extend(ids_of(&mut stream, 50 + round * 100));
        last_id = stream.last_id.clone();
    }
    let total: usize = (0..6).map(|round| 100 + round * 100).sum();
    seen.extend(ids_of(&mut stream, total - seen.len()));
    let mut all = EventStream::resume(&server, ALL, &seen[0]);
    assert_eq!(ids_of(&mut all, total - 1), seen[1..]);
}

#[test]
fn many_events_at_once_reach_many_streams_in_order() {
    let server = Server::start();
    let mut streams: Vec<_> = (0..8).map(|_| EventStream::open(&server, ALL)).collect();
    enqueue_many(&server, "q", 2_000);
    let fetched = server.fetch("q", 1_000);
    let first: Vec<Value> = (0..3_000).map(|_| streams[0].event()).collect();
    for stream in &mut streams[1..] {
        assert!((0..3_000).all(|n| stream.event() == first[n]));
    }
    let started: Vec<&Value> = first[2_000..].iter().map(|event| &event["subject"]).collect();
    assert_eq!(started, fetched.iter().map(|job| &job["id"]).collect::<Vec<_>>());
}

#[test]
fn events_that_have_left_the_ring_are_a_gap() {
    let server = Server::start_with(&["--events-capacity", "50"]);
    let mut stream = EventStream::open(&server, ALL);
    server.enqueue(job_on("q"));
    let seen = text(&stream.event()["id"]);
    drop(stream);
    enqueue_many(&server, "q", 80);
    let mut stream = EventStream::resume(&server, &format!("{ALL}?types=job.*"), &seen);
    let gap = stream.event();
    assert_eq!(gap["type"], "system.gap");
    assert_eq!(gap["data"]["estimated_missed_count"], 30);
    assert_eq!(gap["data"]["channel"], "all");
    assert!(text(&gap["data"]["gap_start"]) <= text(&gap["data"]["gap_end"]), "{gap}");
    assert_eq!(ids_of(&mut stream, 50), listed(&server));
    // Behind the gap there is none any more.
    let mut stream = EventStream::resume(&server, ALL, &text(&gap["id"]));
    assert_eq!(ids_of(&mut stream, 50), listed(&server));
}

#[test]
fn streams_and_lists_go_on_after_a_restart_and_after_a_crash() {
    let mut server = Server::start();
    let mut stream = EventStream::open(&server, ALL);
    enqueue_many(&server, "q", 20);
    let mut seen = ids_of(&mut stream, 12);
    for round in 0..4 {
        let before = listed(&server);
        match round % 2 {
            0 => assert!(server.terminate().success()),
            _ => server.kill(),
        }
        server.restart();
        assert_eq!(listed(&server), before, "the same events with the same ids");
        let mut stream = EventStream::resume(&server, ALL, seen.last().unwrap());
        seen.extend(ids_of(&mut stream, before.len() - seen.len()));
        let id = server.enqueue(job_on("q"));
        let event = stream.event();
        assert_eq!(event["subject"], id);
        seen.push(text(&event["id"]));
        let page = server.get(&format!("/ojs/v1/events?after={}", seen[5])).expect(200);
        assert_eq!(
            (&page["gap"], page["events"].as_array().unwrap().len()),
            (&json!(false), seen.len() - 6)
        );
        // A worker's registration changes nothing durable, and is an event all the same.
        let worker = json!({"queues": ["q"], "worker_id": format!("w{round}")});
        server.post("/ojs/v1/workers/fetch", worker).expect(200);
    }
    assert_eq!(
        seen,
        listed(&server).into_iter().filter(|id| seen.contains(id)).collect::<Vec<_>>()
    );
}

#[test]
fn after_an_id_that_the_server_does_not_know_a_stream_goes_on_from_now() {
    let (server, other) = (Server::start(), Server::start());
    let mut stream = EventStream::open(&other, ALL);
    other.enqueue(job_on("q"));
    let seen = text(&stream.event()["id"]);
    server.enqueue(job_on("q"));
    for last_id in [&*seen, "evt_0042"] {
        let mut stream = EventStream::resume(&server, ALL, last_id);
        assert_eq!(stream.event()["type"], "system.gap");
        let id = server.enqueue(job_on("q"));
        assert_eq!(stream.event()["subject"], id);
    }
    server.get("/ojs/v1/events/stream?after=evt_0042").expect_error(400, "invalid_request");
}

#[test]
fn a_slow_reader_gets_a_notice_of_dropped_events() {
    let server = Server::start_with(&["--events-capacity", "1000"]);
    let mut stream = EventStream::open(&server, ALL);
    // What a stream misses before it has caught up once is a gap, and was not dropped.
    server.enqueue(job_on("q"));
    stream.event();
    // More than the buffers of a connection hold, whose size is the system's choice.
    let missed = [40, 160, 640].into_iter().any(|thousands| {
        (0..thousands).for_each(|_| enqueue_many(&server, "q", 1_000));
        read_all(&mut stream, thousands * 1_000) > 0
    });
    assert!(missed, "nothing was dropped");
    server.enqueue(job_on("q"));
    assert_eq!(stream.event()["type"], "job.enqueued");
}

/// Reads until all of so many events were seen or told to be missed; how many were missed.
fn read_all(stream: &mut EventStream, count: u64) -> u64 {
    let (mut told, mut missed) = (0, 0);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() as u64 + missed < count {
        let event = stream.event();
        match &*text(&event["type"]) {
            "system.events_dropped" => {
                assert!(stream.comments.iter().any(|line| line.starts_with("events-dropped ")));
                told += event["data"]["dropped_count"].as_u64().unwrap();
            }
            "system.gap" => missed += event["data"]["estimated_missed_count"].as_u64().unwrap(),
            _ => assert!(seen.insert(text(&event["id"])), "twice: {event}"),
        }
    }
    assert_eq!((told, seen.len() as u64 + missed), (missed, count));
    missed
}

#[test]
fn a_silent_stream_is_kept_alive_and_moves_on() {
    let server = Server::start_with(&["--events-heartbeat", "50ms"]);
    let mut stream = EventStream::open(&server, &format!("{ALL}?types=cron.*"));
    for _ in 0..3 {
        assert_eq!(stream.comment(), "heartbeat");
    }
    let place = stream.last_id.clone();
    server.enqueue(job_on("q"));
    let mut next = EventStream::resume(&server, ALL, &place);
    assert_eq!(next.event()["type"], "job.enqueued", "it was before the event");
    eventually("the stream says that it is past the event", || {
        stream.comment();
        let path = format!("/ojs/v1/events?after={}", stream.last_id);
        (server.get(&path).expect(200)["events"] == json!([])).then_some(())
    });
}

#[test]
fn a_client_that_sends_nothing_more_still_gets_its_events() {
    let server = Server::start_with(&["--limits-event-streams", "1"]);
    let mut stream = EventStream::open(&server, ALL);
    stream.close_sending_side();
    // The server finds out that somebody is still there.
    let probes = std::iter::repeat_with(|| stream.comment()).filter(String::is_empty);
    assert_eq!(probes.take(2).count(), 2);
    for _ in 0..3 {
        let id = server.enqueue(job_on("q"));
        assert_eq!(stream.event()["subject"], id);
    }
    assert!(EventStream::request(&server, ALL, &[]).head.starts_with("HTTP/1.1 503"));
    drop(stream);
    let open = || EventStream::request(&server, ALL, &[]).head.starts_with("HTTP/1.1 200");
    server.enqueue(job_on("q"));
    server.enqueue(job_on("q"));
    eventually("there is room again", || open().then_some(()));
}

#[test]
fn a_stop_ends_streams_at_once() {
    let mut server = Server::start_with(&WITHOUT_END);
    let streams: Vec<_> = (0..20).map(|_| EventStream::open(&server, ALL)).collect();
    server.enqueue(job_on("q"));
    assert_eq!(server.terminate().code(), Some(0));
    for stream in streams {
        assert_eq!(stream.rest(), ["job.enqueued", "server.shutdown"]);
    }
}

#[test]
fn a_stop_does_not_wait_for_who_does_not_read() {
    let mut server = Server::start_with(&WITHOUT_END);
    let _stream = EventStream::open(&server, ALL);
    (0..40).for_each(|_| enqueue_many(&server, "q", 1_000));
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn there_are_no_more_streams_than_the_limit() {
    let server = Server::start_with(&["--limits-event-streams", "2"]);
    let first = EventStream::open(&server, ALL);
    let _second = EventStream::open_with(&server, "/events", &["Accept: text/event-stream"]);
    let reply = server.get("/ojs/v1/events/stream");
    assert_eq!(reply.header("retry-after"), Some("5"));
    let error = reply.expect_error(503, "backend_error");
    assert_eq!((&error["details"]["limit"], &error["retryable"]), (&json!(2), &json!(true)));
    server.get("/ojs/v1/events").expect(200);
    drop(first);
    eventually("there is room again", || {
        let answer = EventStream::request(&server, ALL, &[]);
        answer.head.starts_with("HTTP/1.1 200").then_some(())
    });
}

#[test]
fn what_is_not_there_has_no_stream() {
    let server = Server::start();
    for path in [format!("jobs/{NOBODY}/events"), "jobs/x/events".into(), "queues/no/events".into()]
    {
        let headers = [("Accept", "text/event-stream")];
        let reply = server.send("GET", &format!("/ojs/v1/{path}"), &headers, None);
        assert_eq!(reply.header("content-type"), Some("application/openjobspec+json"));
        reply.expect_error(404, "not_found");
    }
    let server = Server::start_with(&["--events-capacity", "0"]);
    server.get("/ojs/v1/events/stream").expect_error(422, "unsupported");
}
