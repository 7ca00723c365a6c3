//! HTTP/1.1 and HTTP/2: which one a client speaks, and how each is served.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::MAX_READ_TIME;
use super::connection::Connection;
use super::open_answers::{OpenAnswer, OpenAnswers, Unfinished};
use super::progress::Progress;

/// How every HTTP/2 connection begins.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Requests that one HTTP/2 connection may have under way.
const MAX_STREAMS: u32 = 128;
/// Bytes of one HTTP/2 answer that wait to be sent.
const MAX_STREAM_BUFFER: usize = 64 << 10;
/// Bytes of the headers of an HTTP/2 request.
const MAX_HEADER_BYTES: u32 = 64 << 10;
/// How long a peer of an HTTP/2 connection may leave a ping unanswered.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How often to look whether a client reads its answers while the server stops.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// How long a client may leave its answers unread while the server stops.
const MAX_UNREAD: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

impl Protocol {
    /// The names by which clients choose one in a TLS handshake.
    pub const NAMES: [&'static [u8]; 2] = [b"h2", b"http/1.1"];

    pub fn from_handshake(name: Option<&[u8]>) -> Self {
        if name == Some(b"h2") { Self::Http2 } else { Self::Http1 }
    }

    /// Waits for the first bytes of a client that says nothing about its protocol before.
    pub async fn detect(stream: &TcpStream) -> io::Result<Self> {
        let mut first = [0; PREFACE.len()];
        loop {
            let count = stream.peek(&mut first).await?;
            if count == 0 || first[..count] != PREFACE[..count] {
                return Ok(Self::Http1);
            }
            if count == PREFACE.len() {
                return Ok(Self::Http2);
            }
            // The rest comes in another packet. Peeking would return the same bytes at once.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Serves connections of either protocol.
pub(super) struct Protocols {
    http1: http1::Builder,
    /// For slots that serve one request.
    http1_once: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    header_timeout: Duration,
    write_timeout: Duration,
}

impl Protocols {
    pub fn new(header_timeout: Duration, write_timeout: Duration) -> Self {
        let mut http1 = http1::Builder::new();
        // A client that has closed its side gets its answer; requests that wait watch for it themselves.
        http1.timer(TokioTimer::new()).header_read_timeout(header_timeout).half_close(true);
        let mut http1_once = http1.clone();
        http1_once.header_read_timeout(header_timeout.min(MAX_READ_TIME)).keep_alive(false);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_send_buf_size(MAX_STREAM_BUFFER)
            .max_header_list_size(MAX_HEADER_BYTES)
            // Finds peers that are gone without a word, also while their requests wait.
            .keep_alive_interval(PING_TIMEOUT)
            .keep_alive_timeout(PING_TIMEOUT);
        Self { http1, http1_once, http2, header_timeout, write_timeout }
    }

    /// How long a client may take to send the first bytes, or the headers of a request.
    pub fn header_timeout(&self, once: bool) -> Duration {
        if once { self.header_timeout.min(MAX_READ_TIME) } else { self.header_timeout }
    }

    /// Serves until the connection ends. With `once` it serves one request, or those that come with it.
    pub async fn serve<S, F>(
        &self,
        connection: Connection,
        service: S,
        once: bool,
        progress: &Arc<Progress>,
        stopping: watch::Receiver<bool>,
    ) -> hyper::Result<()>
    where
        S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future = F>,
        F: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
    {
        let (protocol, io) = (connection.protocol(), TokioIo::new(connection));
        if protocol == Protocol::Http1 {
            let http = if once { &self.http1_once } else { &self.http1 };
            let connection = http.serve_connection(io, service).with_upgrades();
            tokio::pin!(connection);
            let shut_down = |it: Pin<&mut _>| http1::UpgradeableConnection::graceful_shutdown(it);
            return run(connection, shut_down, progress, stopping).await;
        }
        let answers = Arc::new(OpenAnswers::default());
        let service = Counted { service, progress: progress.clone(), answers: answers.clone() };
        let connection = self.http2.serve_connection(io, service);
        tokio::pin!(connection);
        let shut_down = |it: Pin<&mut _>| http2::Connection::graceful_shutdown(it);
        let idle = idle(progress, self.header_timeout(once));
        tokio::select! {
            ended = run(connection.as_mut(), shut_down, progress, stopping) => return ended,
            () = idle => {}
            () = answers.give_up_untaken(self.write_timeout) => {}
        }
        // Nothing is under way, so nothing is lost; the client learns that it must connect again.
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(MAX_UNREAD, connection).await;
        Ok(())
    }
}

/// Drives a connection. When the server stops, lets requests under way finish, and their answers be
/// read.
async fn run<C>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    progress: &Progress,
    mut stopping: watch::Receiver<bool>,
) -> hyper::Result<()>
where
    C: Future<Output = hyper::Result<()>>,
{
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    shut_down(connection.as_mut());
    loop {
        if progress.is_unread_for(MAX_UNREAD) {
            tracing::debug!("a client that does not read its answer was cut off");
            return Ok(());
        }
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = tokio::time::sleep(STOP_INTERVAL) => {}
        }
    }
}

/// Completes when the connection has had neither a request nor an answer for this long. HTTP/2 has no
/// timeout for headers of its own, and an unfinished head is not a request.
async fn idle(progress: &Progress, longest: Duration) {
    loop {
        let left = match progress.idle_for() {
            Some(passed) if passed >= longest => return,
            Some(passed) => longest - passed,
            None => longest,
        };
        tokio::time::sleep(left).await;
    }
}

/// Keeps account of the answers that are not written completely.
struct Counted<S> {
    service: S,
    progress: Arc<Progress>,
    answers: Arc<OpenAnswers>,
}

impl<S, F> Service<Request<Incoming>> for Counted<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future = F>,
    F: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
{
    type Response = Response<OpenAnswer>;
    type Error = Infallible;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<OpenAnswer>, Infallible>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let answering = self.service.call(request);
        let unfinished = Unfinished::new(self.progress.clone());
        let answers = self.answers.clone();
        Box::pin(async move {
            let response = answering.await?;
            Ok(response.map(|body| answers.add(body, unfinished)))
        })
    }
}
