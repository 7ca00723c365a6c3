//! The calls of the public OJS SDKs: the requests that they send, and the types that they decode answers to.
//!
//! Each SDK has a file. Its types require what the SDK requires and are as strict about values as its
//! language, so a change that would break the SDK fails here.

// Many members are only there to be decoded.
#![allow(dead_code)]

mod go;
mod java;
mod javascript;
mod python;
mod rust;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::shorthand::fresh_queue;
use crate::support::{Reply, Server};

/// A client with the headers of one SDK, on the server that all of them share.
pub struct Sdk {
    server: Arc<Server>,
    headers: &'static [(&'static str, &'static str)],
    /// A queue that no other test uses.
    pub queue: String,
}

impl Sdk {
    pub fn new(headers: &'static [(&'static str, &'static str)]) -> Self {
        static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let server = running.upgrade().unwrap_or_else(|| Arc::new(Server::start()));
        *running = Arc::downgrade(&server);
        Self { server, headers, queue: fresh_queue() }
    }

    pub fn send(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let body = body.map(|body| body.to_string());
        self.server.send(method, path, self.headers, body.as_deref().map(str::as_bytes))
    }

    /// A call that succeeds, with its answer decoded to the SDK's type.
    #[track_caller]
    pub fn call<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<Value>) -> T {
        let reply = self.send(method, &format!("/ojs/v1{path}"), body);
        assert!((200..300).contains(&reply.status), "{method} {path}: {}", reply.text);
        serde_json::from_str(&reply.text)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}: {}", reply.text))
    }

    #[track_caller]
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        self.call("GET", path, None)
    }

    #[track_caller]
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: Value) -> T {
        self.call("POST", path, Some(body))
    }

    #[track_caller]
    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> T {
        self.call("DELETE", path, None)
    }

    /// A call of a feature that is not served, with the error decoded to the SDK's type.
    #[track_caller]
    pub fn refused<T: DeserializeOwned>(&self, method: &str, path: &str, body: Value) -> T {
        let body = (method != "GET").then_some(body);
        let reply = self.send(method, &format!("/ojs/v1{path}"), body);
        assert_eq!(reply.status, 422, "{method} {path}: {}", reply.text);
        assert_eq!(reply.body["error"]["code"], "unsupported", "{}", reply.text);
        serde_json::from_str(&reply.text).unwrap_or_else(|error| panic!("{error}: {}", reply.text))
    }

    /// Fetches one job as `worker`, without decoding it.
    #[track_caller]
    pub fn fetch_one(&self) -> String {
        let ask = json!({"queues": [self.queue], "count": 1, "worker_id": "w"});
        let fetched: Value = self.post("/workers/fetch", ask);
        fetched["jobs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// A job in the dead letter, and its id.
    #[track_caller]
    pub fn dead_letter_job(&self) -> String {
        let job = json!({
            "type": "email.send", "args": [{"to": "a"}],
            "options": {"queue": self.queue, "retry": {"max_attempts": 1}},
        });
        let _: Value = self.post("/jobs", job);
        let id = self.fetch_one();
        let error = json!({"code": "handler_error", "message": "no", "retryable": true});
        let _: Value = self.post("/workers/nack", json!({"job_id": id, "error": error}));
        id
    }
}

/// Calls that every SDK has for features that are not served.
const UNSERVED: [(&str, &str); 9] = [
    ("POST", "/workflows"),
    ("GET", "/workflows/x"),
    ("DELETE", "/workflows/x"),
    ("GET", "/schemas"),
    ("POST", "/schemas"),
    ("GET", "/schemas/urn%3Aa"),
    ("DELETE", "/schemas/urn%3Aa"),
    ("POST", "/workers/progress"),
    ("POST", "/jobs/019539a4-b68c-7def-8000-1a2b3c4d5e6f/checkpoint"),
];
