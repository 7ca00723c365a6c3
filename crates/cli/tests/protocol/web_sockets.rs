//! WebSockets (ojs-realtime 3 and 5): subscribe, be told, come back, and end in order.

use serde_json::{Value, json};
use tungstenite::Message;

use crate::event_stream_reader::EventStream;
use crate::shorthand::{
    NOBODY, ack, eventually, heartbeat, job_on, job_with, take, take_with, text,
};
use crate::states::job_in;
use crate::support::Server;
use crate::web_socket_reader::Socket;

fn subscribe(channel: &str) -> Value {
    json!({"action": "subscribe", "channel": channel})
}

#[track_caller]
fn assert_error(message: &Value, code: &str) {
    assert_eq!((&message["type"], &message["code"]), (&json!("error"), &json!(code)), "{message}");
    assert!(message["message"].is_string(), "{message}");
}

#[test]
fn subscribers_are_told_what_happens_on_their_channels() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"meta": {"trace_id": "t1"}})));
    let job = format!("job:{id}");
    let mut socket = Socket::open(&server);
    assert_eq!(socket.ask(&subscribe(&job)), json!({"type": "subscribed", "channel": job}));
    server.enqueue(job_on("other"));
    take_with(&server, "q", json!({"worker_id": "w"}));
    let event = socket.event();
    assert_eq!((&event["channel"], &event["event"]), (&json!(job), &json!("job.state_changed")));
    let data = &event["data"];
    for (key, value) in [
        ("job_id", &*id),
        ("queue", "q"),
        ("type", "test.job"),
        ("from", "available"),
        ("to", "active"),
        ("trace_id", "t1"),
    ] {
        assert_eq!(data[key], value, "{key} of {event}");
    }
    assert!(event["id"].is_string(), "{event}");
    assert_eq!(event["timestamp"], data["timestamp"], "{event}");
    heartbeat(&server, "w", json!({"active_jobs": [id]})).expect(200);
    assert_eq!(socket.event()["event"], "job.heartbeat");
    // A second channel of the same connection tells it again.
    assert_eq!(socket.ask(&subscribe("queue:q"))["type"], "subscribed");
    ack(&server, &id);
    let told: Vec<Value> = (0..2).map(|_| socket.event()).collect();
    assert!(told.iter().all(|event| event["data"]["to"] == "completed"), "{told:?}");
    let mut channels: Vec<String> = told.iter().map(|event| text(&event["channel"])).collect();
    channels.sort();
    assert_eq!(channels, [&*job, "queue:q"]);
    // The channel of a job ends with it; the others go on.
    assert_eq!(socket.message(), json!({"type": "unsubscribed", "channel": job}));
    server.enqueue(job_on("q"));
    let new = socket.event();
    assert_eq!((&new["channel"], &new["data"]["from"]), (&json!("queue:q"), &json!("")));
    let unsubscribe = json!({"action": "unsubscribe", "channel": "queue:q"});
    let done = json!({"type": "unsubscribed", "channel": "queue:q"});
    assert_eq!(socket.ask(&unsubscribe), done);
    server.enqueue(job_on("q"));
    assert_error(&socket.ask(&unsubscribe), "not_found");
    assert_eq!(socket.ask(&subscribe("all"))["type"], "subscribed");
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    let paused = socket.event();
    assert_eq!((&paused["channel"], &paused["event"]), (&json!("all"), &json!("queue.paused")));
}

#[test]
fn a_job_that_has_ended_is_told_at_once() {
    let server = Server::start();
    let mut socket = Socket::open(&server);
    for state in ["completed", "cancelled", "discarded"] {
        let channel = format!("job:{}", job_in(&server, state));
        assert_eq!(socket.ask(&subscribe(&channel))["type"], "subscribed");
        let event = socket.event();
        assert_eq!(event["event"], "job.state_changed");
        assert_eq!((&event["channel"], &event["data"]["to"]), (&json!(channel), &json!(state)));
        assert_eq!(socket.message(), json!({"type": "unsubscribed", "channel": channel}));
    }
}

#[test]
fn what_cannot_be_served_is_an_error_and_nothing_else_changes() {
    let server = Server::start_with(&["--events-channels", "2"]);
    let foreign = server.enqueue(job_with("theirs", json!({"meta": {"tenant_id": "beta"}})));
    let mut socket = Socket::open_with(&server, &[("X-OJS-Tenant", "acme")]);
    for (channel, code) in [
        (format!("job:{NOBODY}"), "not_found"),
        ("job:x".to_owned(), "not_found"),
        ("queue:no".to_owned(), "not_found"),
        (format!("job:{foreign}"), "not_found"),
        ("queue:theirs".to_owned(), "not_found"),
        ("tenant:beta".to_owned(), "invalid_request"),
        (String::new(), "invalid_request"),
    ] {
        let message = socket.ask(&subscribe(&channel));
        assert_error(&message, code);
        assert_eq!(message["channel"], channel);
    }
    for wrong in [
        json!([]),
        json!({}),
        json!({"action": "subscribe"}),
        json!({"action": "subscribe", "channel": 7}),
        json!({"action": "subscribe", "channel": "all", "event_type": ["job.started"]}),
        json!({"action": "subscribe", "channel": "all", "event_types": "job.started"}),
        json!({"action": "subscribe", "channel": "all", "filter": {}}),
        json!({"action": "subscribe", "channel": "events", "filter": {"sources": []}}),
        json!({"action": "subscribe", "channel": "all", "event_types": ["job.complete"]}),
        json!({"action": "subscribe", "channel": "events", "filter": {"event_types": ["jobs.*"]}}),
        json!({"action": "unsubscribe"}),
        json!({"action": "publish", "channel": "all"}),
        json!({"action": "resume"}),
    ] {
        assert_error(&socket.ask(&wrong), "invalid_request");
    }
    for malformed in ["{", r#"{"action": "subscribe", "channel": "all", "channel": "queue:q"}"#] {
        socket.send_message(Message::text(malformed));
        assert_error(&socket.message(), "invalid_request");
    }
    let misspelled =
        json!({"action": "subscribe", "channel": "all", "event_types": ["job.complted"]});
    let hint = text(&socket.ask(&misspelled)["hint"]);
    assert!(hint.contains("'job.completed'") && hint.contains("queue.paused"), "{hint}");
    assert_eq!(socket.ask(&subscribe("all"))["type"], "subscribed");
    assert_eq!(socket.ask(&subscribe("all"))["type"], "subscribed", "the same again is no other");
    assert_eq!(socket.ask(&subscribe("events"))["type"], "subscribed");
    assert_error(&socket.ask(&subscribe("events")), "invalid_request");
    // Only the tenant's own events are told.
    server.enqueue(job_with("theirs", json!({"meta": {"tenant_id": "beta"}})));
    let own = server.enqueue(job_with("q", json!({"meta": {"tenant_id": "acme"}})));
    assert_eq!(socket.event()["data"]["job_id"], own);
}

#[test]
fn a_filter_is_confirmed_and_replaced() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    let mut socket = Socket::open(&server);
    let filtered =
        |types: Value| json!({"action": "subscribe", "channel": "queue:q", "event_types": types});
    let confirmed =
        |types: Value| json!({"type": "subscribed", "channel": "queue:q", "event_types": types});
    assert_eq!(socket.ask(&filtered(json!(["queue.paused"]))), confirmed(json!(["queue.paused"])));
    let id = text(&take(&server, "q")["id"]);
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    assert_eq!(socket.event()["event"], "queue.paused");
    let both = json!(["job.state_changed", "job.completed"]);
    assert_eq!(socket.ask(&filtered(both.clone())), confirmed(both));
    server.post("/ojs/v1/queues/q/resume", json!({})).expect(200);
    ack(&server, &id);
    let (change, end) = (socket.event(), socket.event());
    assert_eq!(
        (&change["event"], &end["event"]),
        (&json!("job.state_changed"), &json!("job.completed"))
    );
    assert_ne!(change["id"], end["id"]);
    assert_eq!(
        socket.ask(&subscribe("queue:q")),
        json!({"type": "subscribed", "channel": "queue:q"})
    );
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    assert_eq!(socket.event()["event"], "queue.paused");
}

#[test]
fn envelopes_are_pushed_to_those_who_subscribe_to_events() {
    let server = Server::start();
    let mut socket = Socket::open(&server);
    let filter = json!({"event_types": ["job.started"], "queues": ["a"]});
    let ask = json!({"action": "subscribe", "channel": "events", "filter": filter});
    let confirmed = socket.ask(&ask);
    assert_eq!(
        (&confirmed["action"], &confirmed["channel"]),
        (&json!("subscribed"), &json!("events"))
    );
    let id = text(&confirmed["subscription_id"]);
    for queue in ["b", "a"] {
        server.enqueue(job_on(queue));
        take(&server, queue);
    }
    let event = socket.message();
    assert_eq!((&event["specversion"], &event["type"]), (&json!("1.0"), &json!("job.started")));
    assert_eq!(event["data"]["queue"], "a");
    let done = socket.ask(&json!({"action": "unsubscribe", "subscription_id": id}));
    assert_eq!((&done["type"], &done["subscription_id"]), (&json!("unsubscribed"), &json!(id)));
}

#[test]
fn a_connection_that_comes_back_has_its_channels_and_what_it_missed() {
    let server = Server::start_with(&["--events-capacity", "20"]);
    server.enqueue(job_on("q"));
    let mut socket = Socket::open(&server);
    let filtered =
        json!({"action": "subscribe", "channel": "queue:q", "event_types": ["job.state_changed"]});
    socket.ask(&filtered);
    let first = server.enqueue(job_on("q"));
    let last_id = text(&socket.event()["id"]);
    drop(socket);
    let missed: Vec<String> = (0..3).map(|_| server.enqueue(job_on("q"))).collect();
    let resume = json!({"action": "resume", "last_event_id": last_id});
    let mut socket = Socket::open(&server);
    let back = eventually("the server knows that the connection is gone", || {
        Some(socket.ask(&resume)).filter(|message| message["type"] == "subscribed")
    });
    assert_eq!(back["event_types"], json!(["job.state_changed"]));
    for id in &missed {
        assert_eq!(socket.event()["data"]["job_id"], *id);
    }
    let next = server.enqueue(job_on("q"));
    assert_eq!(socket.event()["data"]["job_id"], next);
    // A connection that has channels already goes back with those; an id of a stream will do.
    let plain = last_id.split('.').next().unwrap();
    let mut other = Socket::open(&server);
    other.ask(&subscribe("all"));
    other.send(&json!({"action": "resume", "last_event_id": plain}));
    assert_eq!(other.event()["data"]["job_id"], missed[0]);
    // A stream goes on behind an id that a socket was told.
    let mut stream = EventStream::resume(&server, "/events/stream?channel=queue:q", &last_id);
    assert_eq!(stream.on_channel().data["job_id"], missed[0]);
    // What has left the ring is a gap.
    (0..40).for_each(|_| drop(server.enqueue(job_on("q"))));
    let mut late = Socket::open(&server);
    late.ask(&subscribe("all"));
    let gap = late.ask(&resume);
    assert_eq!((&gap["event"], &gap["data"]["channel"]), (&json!("system.gap"), &json!("all")));
    assert!(gap["data"]["estimated_missed_count"].is_u64(), "{gap}");
    assert_eq!(late.event()["event"], "job.state_changed");
    for unknown in ["evt_0042", NOBODY, ""] {
        let mut socket = Socket::open(&server);
        let error = socket.ask(&json!({"action": "resume", "last_event_id": unknown}));
        assert_error(&error, "unknown_event_id");
    }
    assert_ne!(first, missed[0]);
}

#[test]
fn another_tenant_does_not_get_the_channels_of_a_connection() {
    let server = Server::start();
    server.enqueue(job_with("q", json!({"meta": {"tenant_id": "beta"}})));
    let mut socket = Socket::open_with(&server, &[("X-OJS-Tenant", "beta")]);
    socket.ask(&subscribe("queue:q"));
    server.enqueue(job_with("q", json!({"meta": {"tenant_id": "beta"}})));
    let resume = json!({"action": "resume", "last_event_id": socket.event()["id"]});
    drop(socket);
    let as_tenant = |tenant: &str| {
        Socket::open_with(&server, &[("X-OJS-Tenant", tenant)]).ask(&resume)["type"].clone()
    };
    assert_eq!(as_tenant("acme"), "error");
    eventually("its own tenant does", || (as_tenant("beta") == "subscribed").then_some(()));
    assert_eq!(as_tenant("acme"), "error");
}

#[test]
fn only_proper_requests_are_upgraded() {
    let server = Server::start_with(&["--http-cors-origins", "https://ui.example.com"]);
    let reply = server.get("/ojs/v1/ws");
    assert_eq!(reply.header("upgrade"), Some("websocket"));
    reply.expect_error(426, "invalid_request");
    let reply =
        |header: (&'static str, &'static str)| Socket::request(&server, &[header]).map(|_| ());
    assert_eq!(reply(("Sec-WebSocket-Version", "12")), Err(426));
    assert_eq!(reply(("Sec-WebSocket-Key", "short")), Err(400));
    assert_eq!(reply(("Upgrade", "h2c")), Err(426));
    assert_eq!(reply(("Origin", "https://evil.example.com")), Err(403));
    assert_eq!(reply(("Origin", "null")), Err(403));
    assert_eq!(reply(("Origin", "https://ui.example.com")), Ok(()));
    let own = format!("http://{}", server.address());
    Socket::open_with(&server, &[("Origin", &own)]);
    let socket = Socket::open_with(&server, &[("Sec-WebSocket-Protocol", "other, ojs.v1")]);
    assert_eq!(socket.response.headers()["sec-websocket-protocol"], "ojs.v1");
    let socket = Socket::open(&server);
    assert!(!socket.response.headers().contains_key("sec-websocket-protocol"));
    server.get("/ojs/v1/ws?channel=all").expect_error(400, "invalid_request");
}

#[test]
fn bad_frames_close_the_connection_with_the_reason() {
    let server = Server::start();
    let masked = |first: u8, payload: &[u8]| {
        let mut frame = vec![first, 0x80 | payload.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(payload);
        frame
    };
    for (frame, code) in [
        (vec![0x81, 0x02, b'{', b'}'], 1002), // without a mask
        (masked(0x83, b"{}"), 1002),          // an opcode that does not exist
        (masked(0xc1, b"{}"), 1002),          // a reserved bit
        (masked(0x80, b"{}"), 1002),          // the rest of no message
        (masked(0x82, b"{}"), 1003),          // binary
        (masked(0x81, &[0xff, 0xfe]), 1007),  // not UTF-8
        (vec![0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], 1009), // four gigabytes
    ] {
        let mut socket = Socket::open(&server);
        socket.write_raw(&frame);
        assert_eq!(socket.close_code(), code, "{frame:x?}");
    }
    let mut socket = Socket::open(&server);
    socket.send_message(Message::text("x".repeat(20_000)));
    assert_eq!(socket.close_code(), 1009);
    // A client that says goodbye is answered.
    let mut socket = Socket::open(&server);
    socket.send_message(Message::Close(Some(tungstenite::protocol::CloseFrame {
        code: 1000.into(),
        reason: "".into(),
    })));
    assert_eq!(socket.close_code(), 1000);
}

#[test]
fn a_client_that_answers_no_ping_is_closed() {
    let server = Server::start_with(&["--events-heartbeat", "100ms"]);
    let mut dead = Socket::open(&server);
    assert_eq!(dead.read_raw(2), [0x89, 0], "a ping");
    let close = dead.read_raw(4);
    assert_eq!((close[0], u16::from_be_bytes([close[2], close[3]])), (0x88, 1008));
    // One that answers them stays.
    let mut alive = Socket::open(&server);
    alive.ask(&subscribe("all"));
    let job = std::thread::scope(|scope| {
        let job = scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(500));
            server.enqueue(job_on("q"))
        });
        assert_eq!(alive.event()["event"], "job.state_changed");
        job.join().unwrap()
    });
    assert!(!job.is_empty());
    // The server answers those of a client.
    let mut asking = Socket::open(&server);
    asking.write_raw(&[0x89, 0x81, 0, 0, 0, 0, b'x']);
    assert_eq!(eventually_pong(&mut asking), [b'x']);
}

/// The payload of the first pong.
fn eventually_pong(socket: &mut Socket) -> Vec<u8> {
    loop {
        let head = socket.read_raw(2);
        let payload = socket.read_raw(usize::from(head[1]));
        if head[0] == 0x8a {
            return payload;
        }
    }
}

#[test]
fn a_shutdown_is_told_and_closes_with_1001() {
    let mut server = Server::start_with(&["--shutdown-grace", "1h"]);
    let mut sockets: Vec<Socket> = (0..5).map(|_| Socket::open(&server)).collect();
    sockets[1..].iter_mut().for_each(|socket| drop(socket.ask(&subscribe("all"))));
    server.enqueue(job_on("q"));
    let address = server.address();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| server.terminate().code());
        for (i, socket) in sockets.iter_mut().enumerate() {
            if i > 0 {
                assert_eq!(socket.event()["event"], "job.state_changed");
            }
            let shutdown = socket.event();
            assert_eq!(shutdown["event"], "server.shutdown");
            assert!(shutdown["data"]["grace_period_ms"].is_u64(), "{shutdown}");
            assert_eq!(socket.close_code(), 1001);
        }
        assert_eq!(stopped.join().unwrap(), Some(0));
    });
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn sockets_and_streams_have_one_cap() {
    let server = Server::start_with(&["--limits-event-streams-per-tenant", "2"]);
    let acme = [("X-OJS-Tenant", "acme")];
    let socket = Socket::open_with(&server, &acme);
    let stream = EventStream::open_with(&server, "/events/stream", &["X-OJS-Tenant: acme"]);
    assert_eq!(Socket::request(&server, &acme).map(|_| ()), Err(429));
    let refused = EventStream::request(&server, "/events/stream", &["X-OJS-Tenant: acme"]);
    assert!(refused.head.starts_with("HTTP/1.1 429"), "{}", refused.head);
    Socket::open_with(&server, &[("X-OJS-Tenant", "beta")]);
    drop(socket);
    eventually("there is room again", || Socket::request(&server, &acme).is_ok().then_some(()));
    drop(stream);
}

fn enqueue_thousand(server: &Server) {
    server.post("/ojs/v1/jobs/batch", json!({"jobs": vec![job_on("q"); 1_000]})).expect(201);
}

#[test]
fn a_socket_that_does_not_read_is_told_what_was_dropped() {
    let mut server = Server::start_with(&["--events-capacity", "200", "--shutdown-grace", "1h"]);
    let mut socket = Socket::open(&server);
    socket.ask(&subscribe("all"));
    // Each event is sent many times, which is more than the buffers of a connection hold.
    (0..40).for_each(|_| drop(socket.ask(&subscribe("events"))));
    enqueue_thousand(&server);
    let (mut seen, mut dropped, mut warned) = (0, 0, 0);
    while seen + dropped < 1_000 {
        let message = socket.message();
        if message["channel"] != "all" {
            continue;
        }
        match (&*text(&message["type"]), message["event"].as_str()) {
            ("warning", _) => {
                assert_eq!(message["code"], "events_dropped");
                assert!(text(&message["oldest_dropped_id"]) <= text(&message["newest_dropped_id"]));
                warned += message["count"].as_u64().unwrap();
            }
            ("event", Some("system.events_dropped")) => {
                dropped += message["data"]["dropped_count"].as_u64().unwrap();
                assert_eq!(warned, dropped);
            }
            ("event", Some("job.state_changed")) => seen += 1,
            other => panic!("{other:?}: {message}"),
        }
    }
    assert!(dropped > 0 && seen + dropped == 1_000, "{seen} {dropped}");
    // A stop does not wait for it either.
    enqueue_thousand(&server);
    assert_eq!(server.terminate().code(), Some(0));
}
