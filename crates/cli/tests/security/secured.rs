//! A server that asks for credentials, and requests with them.

use rota_identity::{KeyText, RANDOM_BYTES};
use serde_json::{Value, json};

use crate::support::{JSON, Reply, Server};

/// The operator's key of these tests.
pub fn operator_key() -> KeyText {
    KeyText::new(&[7; RANDOM_BYTES])
}

pub struct Secured {
    pub server: Server,
    operator: String,
}

impl Secured {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(flags: &[&str]) -> Self {
        let operator = operator_key().reveal().to_owned();
        let flags = [&["--auth-modes", "keys"], flags].concat();
        let server = Server::start_in_env(&flags, &[("ROTA_BOOTSTRAP_KEY", &operator)]);
        Self { server, operator }
    }

    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// A request with this key.
    pub fn send(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.send_with(key, &[], method, path, body)
    }

    pub fn send_with(
        &self,
        key: &str,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        let authorization = format!("Bearer {key}");
        let mut all = vec![("Authorization", &*authorization)];
        all.extend(headers);
        if body.is_some() {
            all.push(JSON);
        }
        let body = body.map(|body| body.to_string());
        self.server.send(method, path, &all, body.as_deref().map(str::as_bytes))
    }

    pub fn get(&self, key: &str, path: &str) -> Reply {
        self.send(key, "GET", path, None)
    }

    pub fn post(&self, key: &str, path: &str, body: Value) -> Reply {
        self.send(key, "POST", path, Some(body))
    }

    /// A new key, made by the operator: the answer with the key in it.
    #[track_caller]
    pub fn create(&self, about: Value) -> Value {
        self.post(self.operator(), "/ojs/v1/admin/keys", about).expect(201)
    }

    /// A new key of a tenant with these scopes.
    #[track_caller]
    pub fn key(&self, tenant: &str, scopes: &[&str]) -> String {
        let key = self.create(json!({"name": "test", "tenant_id": tenant, "scopes": scopes}));
        text_of(&key)
    }
}

/// The whole key in the answer to its creation.
pub fn text_of(created: &Value) -> String {
    created["key"].as_str().expect("a new key is shown").to_owned()
}

pub fn id_of(created: &Value) -> String {
    created["id"].as_str().expect("a key has an id").to_owned()
}

pub fn job(kind: &str, queue: &str) -> Value {
    json!({"type": kind, "args": [], "options": {"queue": queue}})
}
