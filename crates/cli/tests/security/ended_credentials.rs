//! What is held open for a caller ends with its credentials: event streams, WebSockets and waiting requests.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::secured::{Secured, id_of, job, text_of};
use crate::support::Server;
use crate::support::wire::{Wire, request};
use crate::token_maker::{WithTokens, claims, ec, key_set, now, rsa, sign, write};
use crate::web_socket_reader::Socket;

/// The code of the close frame for a client that is not wanted any longer.
const POLICY: u16 = 1008;

/// An event stream of which the greeting was read.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(server: &Server, credential: &str) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // Far shorter than the connection would live by itself.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "GET /ojs/v1/events/stream HTTP/1.1\r\nHost: rota\r\nAuthorization: Bearer {credential}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(stream));
        stream.read_until("retry: 3000");
        stream
    }

    /// Reads until a line has this text.
    #[track_caller]
    fn read_until(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended before {text}");
        }
    }

    /// Reads to the end of the stream.
    #[track_caller]
    fn assert_ends(mut self) {
        let mut line = String::new();
        while self.0.read_line(&mut line).expect("the stream ends") > 0 {
            line.clear();
        }
    }
}

fn socket(server: &Server, credential: &str) -> Socket {
    let mut socket =
        Socket::open_with(server, &[("Authorization", &format!("Bearer {credential}"))]);
    let answer = socket.ask(&json!({"action": "subscribe", "channel": "all"}));
    assert_eq!(answer["type"], "subscribed", "{answer}");
    socket
}

/// Reads to the end of the socket.
#[track_caller]
fn assert_closed(mut socket: Socket) {
    let code = loop {
        if let Err(code) = socket.next() {
            break code;
        }
    };
    assert_eq!(code, POLICY);
}

/// A request that was begun and is held by the server.
fn held(
    server: &Server,
    method: &str,
    path: &str,
    credential: &str,
    more: &str,
    body: &str,
) -> Wire {
    let wire = Wire::open(server.address()).unwrap();
    let authorization = format!("Authorization: Bearer {credential}");
    wire.write(&request(method, path, &[&authorization, more], body.as_bytes())).unwrap();
    wire
}

fn create(secured: &Secured, more: Value) -> Value {
    let mut about = json!({"name": "x", "tenant_id": "acme", "role": "admin"});
    about["scopes"] = json!(["enqueue", "dequeue", "inspect"]);
    about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    secured.create(about)
}

fn act(secured: &Secured, key: &Value, what: &str) -> Value {
    let path = format!("/ojs/v1/admin/keys/{}/{what}", id_of(key));
    secured.send(secured.operator(), "POST", &path, None).body
}

#[test]
fn revoking_a_key_ends_what_is_held_open_for_it() {
    let secured = Secured::start();
    let (created, other) = (create(&secured, json!({})), create(&secured, json!({})));
    let key = text_of(&created);
    let bound = json!({"max_depth": 1, "overflow_policy": "block"});
    let path = "/ojs/v1/admin/queues/full/config";
    secured.send(secured.operator(), "PUT", path, Some(bound)).expect(200);
    let waiting = secured.post(&key, "/ojs/v1/jobs", job("a", "full")).expect(201);
    let id = waiting["job"]["id"].as_str().unwrap();
    let server = &secured.server;
    let stream = Stream::open(server, &key);
    let socket_of_key = socket(server, &key);
    let fetch = json!({"queues": ["empty"], "wait_ms": 30_000}).to_string();
    let result = format!("/ojs/v1/jobs/{id}/result?wait=30");
    let enqueue = job("a", "full").to_string();
    let none = "X-None: 0";
    let block = "OJS-Block-Timeout: 60";
    let requests = [
        held(server, "POST", "/ojs/v1/workers/fetch", &key, none, &fetch),
        held(server, "GET", &result, &key, none, ""),
        held(server, "POST", "/ojs/v1/jobs", &key, block, &enqueue),
    ];
    let mut others_stream = Stream::open(server, &text_of(&other));
    while secured.get(secured.operator(), "/ojs/v1/admin/stats").expect(200)["waiting_fetches"] != 1
    {
    }
    act(&secured, &created, "revoke");
    stream.assert_ends();
    assert_closed(socket_of_key);
    for mut wire in requests {
        let answer = wire.answer().unwrap();
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert!(answer.text().contains("revoked"), "{}", answer.text());
    }
    // Nobody else's.
    secured.post(&text_of(&other), "/ojs/v1/jobs", job("a", "mail")).expect(201);
    others_stream.read_until("job.enqueued");
}

#[test]
fn a_rotated_keys_streams_live_until_the_old_key_expires() {
    let secured = Secured::start();
    let created = create(&secured, json!({}));
    let mut stream = Stream::open(&secured.server, &text_of(&created));
    let path = format!("/ojs/v1/admin/keys/{}/rotate", id_of(&created));
    let rotated = secured.send(secured.operator(), "POST", &path, None).expect(201);
    secured.post(&text_of(&rotated), "/ojs/v1/jobs", job("a", "mail")).expect(201);
    stream.read_until("job.enqueued");
    // And no longer.
    act(&secured, &created, "revoke");
    stream.assert_ends();
}

#[test]
fn streams_end_when_their_key_expires() {
    let secured = Secured::start();
    let at = now() + 3;
    let at = rota_model::Millis(at * 1_000).to_string();
    let created = create(&secured, json!({"expires_at": at}));
    let stream = Stream::open(&secured.server, &text_of(&created));
    let socket = socket(&secured.server, &text_of(&created));
    stream.assert_ends();
    assert_closed(socket);
    secured.get(&text_of(&created), "/ojs/v1/queues").expect_error(401, "unauthorized");
}

#[test]
fn streams_end_when_their_token_expires() {
    let with = WithTokens::start_with(&["--auth-jwt-leeway", "0s"]);
    let changes = json!({"exp": now() + 3});
    let token = sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
    let stream = Stream::open(&with.server, &token);
    let socket = socket(&with.server, &token);
    stream.assert_ends();
    assert_closed(socket);
}

#[test]
fn streams_end_when_the_key_of_their_token_is_gone() {
    let with = WithTokens::start_with(&["--auth-jwt-jwks-refresh", "10s"]);
    let token = sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(json!({})));
    let stream = Stream::open(&with.server, &token);
    let set = key_set("ec-2", Algorithm::ES256, &ec()).to_string();
    write(with.directory(), "jwks.json", set.as_bytes());
    stream.assert_ends();
}
