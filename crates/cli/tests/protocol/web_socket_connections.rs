//! WebSocket connections: the upgrade, bad frames, pings, the cap, slow readers, and the shutdown.

use serde_json::json;
use tungstenite::Message;

use crate::event_stream_reader::EventStream;
use crate::shorthand::{eventually, job_on, text};
use crate::support::Server;
use crate::web_socket_reader::{Socket, subscribe};

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
fn a_shutdown_is_announced_and_closes_with_1001() {
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
fn a_slow_socket_gets_a_notice_of_dropped_events() {
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
