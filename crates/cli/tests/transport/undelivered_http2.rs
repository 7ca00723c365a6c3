//! Fetches over HTTP/2 whose answer cannot be written: the jobs go back at once, and the attempts do not count.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::http2::{ask, connect, wait_for};
use crate::support::Server;
use crate::undelivered::{JOBS, large_job, narrow};

const FETCH: &str = "/ojs/v1/workers/fetch";

/// Waits on a connection of its own.
async fn wait_for_state(client: &SendRequest<Bytes>, id: &str, state: &str) {
    loop {
        let job = ask(client, "GET", &format!("/ojs/v1/jobs/{id}"), "").await.unwrap().1;
        if job["job"]["state"] == state {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn post(uri: &str, client: &mut SendRequest<Bytes>, body: &str) -> h2::client::ResponseFuture {
    let uri = format!("http://rota{uri}");
    let head = http::Request::builder().method("POST").uri(uri);
    let head = head.header("content-type", "application/json").body(()).unwrap();
    let (response, mut stream) = client.send_request(head, false).unwrap();
    stream.send_data(Bytes::copy_from_slice(body.as_bytes()), true).unwrap();
    response
}

#[test]
fn a_reset_stream_gives_back_its_jobs_although_all_was_handed_over() {
    let server = Server::start();
    wait_for(async {
        let tcp = TcpStream::connect(server.address()).await.unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(1 << 10);
        let (client, connection) = builder.handshake::<_, Bytes>(tcp).await.unwrap();
        let connection = tokio::spawn(connection);
        // Long enough for the window, and short enough for the server's own buffer.
        let id = server.enqueue(json!({"type": "a", "queue": "q", "args": ["x".repeat(9_000)]}));
        let mut ready = client.clone().ready().await.unwrap();
        let fetch = json!({"queues": ["q"]}).to_string();
        let response = post(FETCH, &mut ready, &fetch).await.unwrap();
        assert_eq!(server.job(&id)["state"], "active");
        drop(response);
        let other = connect(&server).await;
        wait_for_state(&other, &id, "available").await;
        assert!(!connection.is_finished(), "the connection goes on");
        let (_, fetched) = ask(&other, "POST", FETCH, &fetch).await.unwrap();
        assert_eq!(fetched["jobs"][0]["attempt"], 1, "{fetched}");
    });
}

#[test]
fn an_answer_that_its_stream_has_no_room_for_is_given_up_and_its_jobs_go_back() {
    let server = Server::start_with(&["--http-write-timeout", "300ms"]);
    wait_for(async {
        let tcp = TcpStream::connect(server.address()).await.unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(1 << 10);
        let (client, connection) = builder.handshake::<_, Bytes>(tcp).await.unwrap();
        tokio::spawn(connection);
        let id = server.enqueue(json!({"type": "a", "queue": "q", "args": ["x".repeat(9_000)]}));
        let mut ready = client.clone().ready().await.unwrap();
        let fetch = json!({"queues": ["q"]}).to_string();
        let response = post(FETCH, &mut ready, &fetch).await.unwrap();
        wait_for_state(&connect(&server).await, &id, "available").await;
        let mut body = response.into_body();
        let end = loop {
            match body.data().await {
                Some(Ok(bytes)) => body.flow_control().release_capacity(bytes.len()).unwrap(),
                end => break end,
            }
        };
        assert!(matches!(end, Some(Err(_))), "it does not look complete: {end:?}");
    });
}

/// A connection whose client stops reading when it is told to.
struct Paused {
    stream: TcpStream,
    paused: Arc<AtomicBool>,
}

impl AsyncRead for Paused {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.paused.load(Relaxed) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Paused {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Bytes that the server has for this port of a client, and that its kernel cannot send.
fn unsent(client_port: u16) -> String {
    let all = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let peer = format!(":{client_port:04X}");
    let line = all.lines().find(|line| {
        line.split_whitespace().nth(2).is_some_and(|address| address.ends_with(&peer))
    });
    let queues = line.and_then(|line| line.split_whitespace().nth(4)).unwrap_or_default();
    queues.split(':').next().unwrap_or_default().to_owned()
}

/// A fetch behind an answer that the client does not read, and then the connection is reset. Returns the jobs of
/// the next fetch: all starts of an hour were in the first.
async fn fetch_behind_an_unread_answer(server: &Server, read_first: bool) -> serde_json::Value {
    let stream = narrow(server.address()).await;
    let port = stream.local_addr().unwrap().port();
    let paused = Arc::new(AtomicBool::new(false));
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(16 << 20).initial_connection_window_size(16 << 20);
    let paused_stream = Paused { stream, paused: paused.clone() };
    let (client, connection) = builder.handshake::<_, Bytes>(paused_stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut job = large_job("q");
    job["rate_limit"] = json!({"key": "k", "rate": {"limit": JOBS, "period": "PT1H"}});
    let ids: Vec<_> = (0..JOBS).map(|_| server.enqueue(job.clone())).collect();
    let fetch = json!({"queues": ["q"], "count": JOBS}).to_string();
    let mut ready = client.clone().ready().await.unwrap();
    // Dropping a response would reset its stream.
    let (mut fetching, mut fetched) = (None, None);
    if read_first {
        let response = post(FETCH, &mut ready, &fetch).await.unwrap();
        let body = fetched.insert(response.into_body());
        assert!(body.data().await.unwrap().is_ok());
        paused.store(true, Relaxed);
    } else {
        let uri = "http://rota/ojs/v1/admin/jobs?queue=other&limit=100";
        let list = http::Request::builder().uri(uri).body(()).unwrap();
        let (response, _) = ready.send_request(list, true).unwrap();
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200);
        fetched = Some(response.into_body());
        paused.store(true, Relaxed);
        let (mut last, mut same) = (String::new(), 0);
        while same < 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let now = unsent(port);
            same = if now == last && now.contains(|c| c != '0') { same + 1 } else { 0 };
            last = now;
        }
        fetching = Some(post(FETCH, &mut ready.ready().await.unwrap(), &fetch));
    }
    let other = connect(server).await;
    wait_for_state(&other, &ids[0], "active").await;
    connection.abort();
    drop((fetching, fetched));
    for id in &ids {
        wait_for_state(&other, id, "available").await;
    }
    ask(&other, "POST", FETCH, &fetch).await.unwrap().1["jobs"].clone()
}

#[test]
#[cfg(target_os = "linux")]
fn a_start_counts_for_a_rate_limit_only_if_some_of_its_answer_was_sent() {
    let server = Server::start();
    (0..8).for_each(|_| drop(server.enqueue(large_job("other"))));
    wait_for(async {
        let jobs = fetch_behind_an_unread_answer(&server, false).await;
        assert_eq!(jobs[0]["attempt"], 1, "nothing was sent, so it may start again: {jobs}");
    });
    let server = Server::start();
    wait_for(async {
        let jobs = fetch_behind_an_unread_answer(&server, true).await;
        assert_eq!(jobs, json!([]), "the worker may have begun");
    });
}
