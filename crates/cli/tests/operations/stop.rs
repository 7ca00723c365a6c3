//! Being told to stop: what was begun is finished, what was answered is kept.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;
use crate::wire::{Wire, request};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn both_signals_end_it_well_and_leave_a_clean_directory() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start();
        let id = server.enqueue(json!({"type": "a", "args": [1]}));
        server.signal(signal);
        assert_eq!(server.wait(LONG).code(), Some(0), "{signal}");
        assert_clean(server.dir());
        server.restart();
        assert_eq!(server.job(&id)["state"], "available");
    }
}

#[test]
fn nothing_but_the_data_itself_is_left_behind() {
    let mut server = Server::start();
    server.enqueue(json!({"type": "a", "args": []}));
    assert_eq!(server.terminate().code(), Some(0));
    let mut names: Vec<_> = fs::read_dir(server.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["log", "rota.db", "rota.lock", "rota.reserve"]);
}

#[test]
fn a_request_in_hand_is_answered_and_new_connections_are_refused() {
    let mut server = Server::start();
    let mut wire = Wire::open(server.address()).unwrap();
    let body = json!({"type": "a", "args": ["half"]}).to_string();
    let bytes = request("POST", "/ojs/v1/jobs", &["Expect: 100-continue"], body.as_bytes());
    let (head, body) = bytes.split_at(bytes.len() - body.len());
    wire.write(head).unwrap();
    // The server must have begun with it, or there is nothing in hand.
    assert_eq!(wire.answer().unwrap().status, 100);
    wire.write(&body[..10]).unwrap();
    server.signal("TERM");
    wait_until_refused(&server);
    wire.write(&body[10..]).unwrap();
    let answer = wire.answer().expect("it was in hand");
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(server.wait(LONG).code(), Some(0));
    assert_clean(server.dir());
    server.restart();
    let id = answer.json()["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(server.job(&id)["args"], json!(["half"]));
}

#[test]
fn waiting_fetches_are_released_with_nothing() {
    let mut server = Server::start_with(&["--shutdown-grace", "10s"]);
    let wires: Vec<Wire> = (0..20).map(|n| wait_for_a_job(&server, n)).collect();
    let until = Instant::now() + LONG;
    while server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"] != 20 {
        assert!(Instant::now() < until, "the fetches do not wait");
        thread::sleep(Duration::from_millis(10));
    }
    // They would have waited for 30 seconds, and been cut off before.
    server.signal("TERM");
    for mut wire in wires {
        let answer = wire.answer().expect("a waiting fetch is answered");
        assert_eq!((answer.status, answer.json()), (200, json!({"jobs": []})));
    }
    assert_eq!(server.wait(LONG).code(), Some(0));
}

#[test]
fn what_was_answered_until_the_end_is_there_afterwards() {
    let mut server = Server::start();
    let address = server.address();
    let count = AtomicUsize::new(0);
    let accepted: Vec<String> = thread::scope(|scope| {
        let count = &count;
        let producers: Vec<_> =
            (0..4).map(|n| scope.spawn(move || enqueue_until_the_end(address, n, count))).collect();
        let until = Instant::now() + LONG;
        while count.load(Ordering::Relaxed) < 100 {
            assert!(Instant::now() < until, "this is hardly a load");
            thread::sleep(Duration::from_millis(5));
        }
        server.signal("TERM");
        producers.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(server.wait(LONG).code(), Some(0));
    server.restart();
    for id in &accepted {
        assert_eq!(server.job(id)["state"], "available");
    }
    let stats = server.get("/ojs/v1/admin/stats").expect(200);
    // An answer may have been cut off on its way; a job cannot appear from nowhere.
    let there = stats["jobs"]["available"].as_u64().unwrap();
    assert!((accepted.len() as u64..=accepted.len() as u64 + 4).contains(&there), "{stats}");
}

#[test]
fn clients_that_hold_on_do_not_keep_it() {
    // Otherwise the head and the body alone could take longer than the test waits.
    let flags = [
        ["--shutdown-grace", "300ms"],
        ["--http-header-timeout", "1h"],
        ["--http-body-timeout", "1h"],
    ];
    let mut server = Server::start_with(&flags.concat());
    let idle = Wire::open(server.address()).unwrap();
    let mut kept_alive = Wire::open(server.address()).unwrap();
    assert_eq!(kept_alive.get("/ojs/v1/health").unwrap().status, 200);
    let half_head = Wire::open(server.address()).unwrap();
    half_head.write(b"POST /ojs/v1/jobs HTT").unwrap();
    let half_body = half_a_body(&server);
    server.signal("TERM");
    assert_eq!(server.wait(LONG).code(), Some(0));
    assert_clean(server.dir());
    drop((idle, kept_alive, half_head, half_body));
}

#[test]
fn a_repeated_request_changes_nothing() {
    let mut server = Server::start_with(&["--shutdown-grace", "500ms"]);
    let _held = half_a_body(&server);
    server.signal("TERM");
    server.signal("INT");
    server.signal("TERM");
    assert_eq!(server.wait(LONG).code(), Some(0));
    assert_clean(server.dir());
}

/// A request that the server has begun with and that does not end.
fn half_a_body(server: &Server) -> Wire {
    let mut wire = Wire::open(server.address()).unwrap();
    let head = "POST /ojs/v1/jobs HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n";
    wire.write(head.as_bytes()).unwrap();
    assert_eq!(wire.answer().unwrap().status, 100);
    wire.write(b"{").unwrap();
    wire
}

fn wait_for_a_job(server: &Server, n: usize) -> Wire {
    let wire = Wire::open(server.address()).unwrap();
    let ask = json!({"queues": [format!("q{n}")], "wait_ms": 30_000}).to_string();
    wire.write(&request("POST", "/ojs/v1/workers/fetch", &[], ask.as_bytes())).unwrap();
    wire
}

fn enqueue_until_the_end(
    address: std::net::SocketAddr,
    n: usize,
    count: &AtomicUsize,
) -> Vec<String> {
    let mut wire = Wire::open(address).unwrap();
    let mut accepted = Vec::new();
    while let Ok(answer) = wire.post("/ojs/v1/jobs", &json!({"type": "a", "args": [n]})) {
        match answer.status {
            201 => {
                accepted.push(id_of(&answer.json()));
                count.fetch_add(1, Ordering::Relaxed);
            }
            503 => {}
            status => panic!("{status} {}", answer.text()),
        }
        if answer.header("connection") == Some("close") {
            break;
        }
    }
    accepted
}

fn id_of(body: &Value) -> String {
    body["job"]["id"].as_str().unwrap().to_owned()
}

fn wait_until_refused(server: &Server) {
    let until = Instant::now() + LONG;
    loop {
        match TcpStream::connect(server.address()) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return,
            _ => assert!(Instant::now() < until, "new connections are still accepted"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Everything is in the file proper, and nothing has to be recovered.
#[track_caller]
fn assert_clean(dir: &Path) {
    assert!(fs::metadata(dir.join("rota.db")).unwrap().len() > 0);
    for log in ["rota.db-wal", "rota.db-journal"] {
        let bytes = fs::metadata(dir.join(log)).map_or(0, |found| found.len());
        assert_eq!(bytes, 0, "{log} was left behind");
    }
}
