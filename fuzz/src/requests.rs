//! Every HTTP request gets a well-formed answer, whatever its path, query, headers and body.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use rota_engine::Config;
use rota_model::Durability;
use rota_server::http::{App, HttpService, Peer, service};
use rota_server::runtime::{Archive, Options, Runtime as Threads};
use rota_settings::Settings;
use rota_storage::{KeepRule, Options as StorageOptions, Storage};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::request;

/// An error quotes what the client sent, but never all of a large request.
const LARGEST_ERROR_BYTES: usize = 8 << 10;
/// A fetch waits 30 s at most; nothing else waits for so long.
const LONGEST_ANSWER: Duration = Duration::from_secs(40);

/// The HTTP side of a server, without a port.
pub struct Fixture {
    tokio: Runtime,
    service: HttpService,
    /// Runs as long as the fixture, unless it was stopped.
    _threads: Option<Threads>,
    _data: TempDir,
}

/// What a request came to.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub error: Option<Value>,
}

impl Fixture {
    /// The engine and the store have stopped. A request that parses is not carried out, so what
    /// happens depends on the request alone: a crash repeats, and thousands run in a second.
    #[must_use]
    pub fn without_engine() -> Self {
        Self::new(false)
    }

    /// A whole server. Requests change its state.
    #[must_use]
    pub fn with_engine() -> Self {
        Self::new(true)
    }

    fn new(with_engine: bool) -> Self {
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads can be started");
        let data = TempDir::new().expect("a temporary directory");
        let start = async {
            let options = StorageOptions {
                durability: Durability::Os,
                reserve_bytes: 0,
                ..StorageOptions::default()
            };
            let storage = rota_storage::open(data.path(), &options, &mut |_| ());
            let Storage { log, view, term } = storage.expect("a new data directory");
            Threads::start(log, view, thread_options(&data.path().join("archive"), term))
                .expect("an empty store loads")
        };
        let threads = tokio.block_on(start);
        let app = App::new(threads.handle(), threads.health(), Settings::default(), None);
        let service = service(Arc::new(app));
        let threads = if with_engine {
            Some(threads)
        } else {
            tokio.block_on(threads.stop());
            None
        };
        Self { tokio, service, _threads: threads, _data: data }
    }

    /// Sends the request that the bytes describe, if they describe one. Panics on an answer that no
    /// request may get. `None` without a request or an answer: without an engine, some requests wait
    /// for the store forever.
    pub fn check(&self, bytes: &[u8]) -> Option<Answer> {
        let request = request::parse(bytes)?;
        let line = format!("{} {}", request.method(), request.uri());
        let response = self.tokio.block_on(self.answer(request))?;
        let (head, body) = response.into_parts();
        let status = head.status;
        if status.is_success() {
            return Some(Answer { status, error: None });
        }
        let body = self.tokio.block_on(body.collect()).expect("an error is complete").to_bytes();
        let shown = format!("{line}: {status} {}", String::from_utf8_lossy(&body));
        let refused = status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE;
        assert!(refused, "{shown}");
        assert!(body.len() <= LARGEST_ERROR_BYTES, "{} bytes of error: {shown}", body.len());
        let json = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(json(CONTENT_TYPE), Some("application/openjobspec+json"), "{shown}");
        let answer: Value = serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{shown}"));
        if answer["status"] == "degraded" {
            // A health check says how the server is in any case.
            return Some(Answer { status, error: None });
        }
        check_error(&answer["error"], &shown);
        let retryable = answer["error"]["retryable"] == true;
        assert!(!retryable || head.headers.contains_key(RETRY_AFTER), "{shown}");
        Some(Answer { status, error: Some(answer["error"].clone()) })
    }

    async fn answer(&self, request: Request<Body>) -> Option<Response<Body>> {
        let peer = Arc::new(Peer {
            address: ([127, 0, 0, 1], 1).into(),
            certificate: None,
            probes_only: false,
        });
        let mut serving = pin!(self.service.clone().answer_request(peer, request));
        if self._threads.is_none() {
            // All that it could wait for is gone.
            let once = poll_fn(|cx| Poll::Ready(serving.as_mut().poll(cx))).await;
            return match once {
                Poll::Ready(response) => Some(response),
                Poll::Pending => None,
            };
        }
        let answer = tokio::time::timeout(LONGEST_ANSWER, serving).await;
        Some(answer.expect("every request is answered in time"))
    }
}

fn check_error(error: &Value, shown: &str) {
    for name in ["code", "message", "request_id", "hint"] {
        let text = error[name].as_str();
        assert!(text.is_some_and(|text| !text.is_empty()), "no error.{name}: {shown}");
    }
    assert!(error["retryable"].is_boolean(), "no error.retryable: {shown}");
    let details = error["details"].as_object();
    assert!(details.is_some_and(|details| !details.is_empty()), "no error.details: {shown}");
}

fn thread_options(archive: &Path, term: u64) -> Options {
    Options {
        config: Config::default(),
        commands: 1024,
        command_bytes: 64 << 20,
        batch: 256,
        view_bytes: 1 << 20,
        cache_bytes: 1 << 20,
        events: 1024,
        retention_batch: 100,
        archive: Archive::new(archive.to_owned(), |_, _| {}),
        term,
        keep: KeepRule::default(),
        // Aborts, because a panic on a thread of the server would not end the test.
        on_fatal: Arc::new(|message| {
            eprintln!("the server cannot go on: {message}");
            std::process::abort();
        }),
    }
}
