//! Nobody keeps others from being answered, however many connections it holds.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::authority::Authority;
use crate::secure::start;
use crate::support::Server;
use crate::wire::Wire;

const LONG: Duration = Duration::from_secs(60);
/// A head of which the end is missing.
const HALF: &[u8] = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: rota\r\nContent-Type: app";

/// A connection that comes from another address of this machine.
fn connect_from(last: u8, server: &Server) -> TcpStream {
    connect(server, |socket| {
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0))).unwrap();
    })
}

/// A request whose answer is longer than what the system buffers, on a connection that nobody reads.
fn ask_and_not_read(server: &Server, times: usize) -> TcpStream {
    let mut stream = connect(server, |socket| socket.set_recv_buffer_size(4096).unwrap());
    let request = b"GET /ojs/v1/jobs?limit=12 HTTP/1.1\r\nHost: rota\r\n\r\n";
    stream.write_all(&request.repeat(times)).unwrap();
    // The beginning of the answer shows that there is one.
    stream.read_exact(&mut [0; 100]).unwrap();
    stream
}

fn enqueue_long_jobs(server: &Server) {
    for _ in 0..12 {
        let job = json!({"type": "a", "args": ["x".repeat(1_000_000)], "queue": "q"});
        server.post("/ojs/v1/jobs", job).expect(201);
    }
}

fn connect(server: &Server, prepare: impl FnOnce(&tokio::net::TcpSocket)) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        prepare(&socket);
        socket.connect(server.address()).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

fn half_sent(count: usize, last: u8, server: &Server) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = connect_from(last, server);
        stream.write_all(HALF).unwrap();
        stream
    };
    (0..count).map(open).collect()
}

/// How many the server has not closed.
fn still_open(streams: &mut [TcpStream]) -> usize {
    let is_open = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        stream.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    streams.iter_mut().map(is_open).filter(|open| *open).count()
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !so() {
        assert!(Instant::now() < end, "not within a minute: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Timeouts are so long that they cannot be what makes room.
const NO_TIMEOUTS: [&str; 4] = ["--http-header-timeout", "1h", "--http-body-timeout", "1h"];

#[cfg(target_os = "linux")]
#[test]
fn thousands_of_half_sent_requests_of_one_address_keep_nobody_out() {
    let flags = [&NO_TIMEOUTS[..], &["--http-max-connections", "2000"]].concat();
    let server = Server::start_with(&flags);
    let mut crowd = half_sent(3000, 2, &server);
    let job = json!({"type": "a", "args": [], "queue": "q"});
    let mut served = 0;
    let mut kept = Vec::new();
    for _ in 0..100 {
        let mut wire = Wire::over(connect_from(3, &server));
        served += usize::from(wire.post("/ojs/v1/jobs", &job).unwrap().status == 201);
        kept.push(wire);
    }
    assert_eq!(served, 100);
    // They are not only served at once, but get connections of their own again.
    until("a connection that stays", || {
        let mut wire = Wire::over(connect_from(3, &server));
        wire.get("/health").unwrap().header("connection") != Some("close")
    });
    // Its share is left to the crowd.
    let left = still_open(&mut crowd);
    assert!((500..2000).contains(&left), "{left} are still open");
}

#[cfg(target_os = "linux")]
#[test]
fn an_address_with_one_slow_request_keeps_it() {
    let flags = [&NO_TIMEOUTS[..], &["--http-max-connections", "200"]].concat();
    let server = Server::start_with(&flags);
    let mut slow = half_sent(1, 3, &server).remove(0);
    let mut crowd = half_sent(300, 2, &server);
    until("the crowd gives way", || {
        let mut wire = Wire::over(connect_from(4, &server));
        wire.get("/health").unwrap().header("connection") != Some("close")
    });
    assert!(still_open(&mut crowd) < 200);
    // The rest of the head, and the body.
    slow.write_all(b"lication/json\r\nContent-Length: 22\r\n\r\n{\"type\":\"a\",\"args\":[]}")
        .unwrap();
    let mut wire = Wire::over(slow);
    assert_eq!(wire.answer().unwrap().status, 201);
}

#[test]
fn an_address_beyond_its_cap_gets_probes_only() {
    let flags = ["--http-max-connections-per-address", "5"];
    let server = Server::start_with(&flags);
    let mut own: Vec<Wire> = (0..5).map(|_| Wire::open(server.address()).unwrap()).collect();
    for wire in &mut own {
        assert_eq!(wire.get("/ojs/v1/jobs?limit=1").unwrap().status, 200);
    }
    for _ in 0..20 {
        let mut wire = Wire::open(server.address()).unwrap();
        let answer = wire.get("/ready").unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        wire.rest().unwrap();
    }
    let mut wire = Wire::open(server.address()).unwrap();
    let answer = wire.get("/ojs/v1/jobs").unwrap();
    assert_eq!(answer.status, 503);
    assert!(answer.header("retry-after").is_some());
    assert!(answer.text().contains("http.max_connections_per_address"), "{}", answer.text());
    drop(own);
    until("its connections are its own again", || {
        let answer = Wire::open(server.address()).unwrap().get("/ojs/v1/jobs");
        answer.is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn probes_get_in_while_every_connection_is_in_use() {
    let server = Server::start_with(&["--http-max-connections", "40"]);
    enqueue_long_jobs(&server);
    let mut idle: Vec<Wire> = (0..38).map(|_| Wire::open(server.address()).unwrap()).collect();
    for wire in &mut idle {
        assert_eq!(wire.get("/health").unwrap().status, 200);
    }
    // The two that are kept back are busy as well.
    let _unread: Vec<TcpStream> = (0..2).map(|_| ask_and_not_read(&server, 1)).collect();
    let mut wire = Wire::open(server.address()).unwrap();
    assert_eq!(wire.get("/ojs/v1/jobs").unwrap().status, 503, "all connections are in use");
    for path in ["/health", "/ready", "/metrics"] {
        let mut wire = Wire::open(server.address()).unwrap();
        assert_eq!(wire.get(path).unwrap().status, 200, "{path}");
    }
}

#[test]
fn handshakes_of_one_address_wait_for_each_other() {
    let authority = Authority::new();
    let flags = ["--tls-max-handshakes-per-address", "2", "--tls-handshake-timeout", "1h"];
    let server = start(&authority, &flags);
    // Two that have begun and do not go on.
    let begun: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(&[22, 3, 1]).unwrap();
            stream
        })
        .collect();
    let options = crate::secure::Options::default();
    thread::scope(|scope| {
        // The server may take up another connection before the two; then that one ends, and the next waits.
        let next = |_| {
            let other = scope.spawn(|| {
                let mut wire = crate::secure::connect(&server, &authority, &options).unwrap();
                wire.get("/health").unwrap().status
            });
            thread::sleep(Duration::from_millis(300));
            (!other.is_finished()).then_some(other)
        };
        let waiting = (0..20).find_map(next).expect("nobody waits for the two");
        drop(begun);
        assert_eq!(waiting.join().unwrap(), 200);
    });
}

/// The stop would otherwise take ten minutes.
#[test]
fn an_answer_that_nobody_reads_does_not_delay_a_stop() {
    let mut server = Server::start_with(&["--shutdown-grace", "10m"]);
    enqueue_long_jobs(&server);
    let _silent = ask_and_not_read(&server, 20);
    assert_eq!(server.terminate().code(), Some(0));
}
