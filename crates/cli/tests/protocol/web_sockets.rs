//! Channels over a WebSocket (ojs-realtime 3 and 5): subscribe, receive events, and resume.

use serde_json::{Value, json};
use tungstenite::Message;

use crate::event_stream_reader::EventStream;
use crate::shorthand::{NOBODY, ack, heartbeat, job_on, job_with, take, take_with, text};
use crate::states::job_in;
use crate::support::Server;
use crate::web_socket_reader::{Socket, subscribe};

#[track_caller]
fn assert_error(message: &Value, code: &str) {
    assert_eq!((&message["type"], &message["code"]), (&json!("error"), &json!(code)), "{message}");
    assert!(message["message"].is_string(), "{message}");
}

#[test]
fn subscribers_get_the_events_of_their_channels() {
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
fn the_channel_of_an_ended_job_reports_its_state_and_ends() {
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
    let back = socket.ask(&resume);
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
    let gap = late.ask(&json!({"action": "resume", "last_event_id": plain}));
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
    assert_eq!(as_tenant("beta"), "subscribed");
    assert_eq!(as_tenant("acme"), "error");
}

#[test]
fn a_client_comes_back_before_the_server_knows_that_its_connection_is_lost() {
    let server = Server::start();
    server.enqueue(job_on("q"));
    // Stays open, as a connection does whose client has lost its network.
    let mut lost = Socket::open(&server);
    lost.ask(&subscribe("queue:q"));
    server.enqueue(job_on("q"));
    let resume = json!({"action": "resume", "last_event_id": lost.event()["id"]});
    let missed = server.enqueue(job_on("q"));
    for attempt in ["first", "second, because the first answer was lost as well"] {
        let mut socket = Socket::open(&server);
        let back = socket.ask(&resume);
        assert_eq!(
            (&back["type"], &back["channel"]),
            (&json!("subscribed"), &json!("queue:q")),
            "{attempt}"
        );
        assert_eq!(socket.event()["data"]["job_id"], missed, "{attempt}");
    }
    // A channel that was left is not resumed.
    lost.ask(&json!({"action": "unsubscribe", "channel": "queue:q"}));
    assert_error(&Socket::open(&server).ask(&resume), "unknown_event_id");
}
