//! Signs tokens, and writes the keys that a server checks them with.

use std::path::{Path, PathBuf};

use jsonwebtoken::jwk::{Jwk, KeyAlgorithm};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::secured::operator_key;
use crate::support::{Reply, Server};

pub const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef-secret";
pub const RSA: &[u8] = include_bytes!("keys/rsa.pem");
pub const RSA_PUBLIC: &[u8] = include_bytes!("keys/rsa.pub.pem");
const EC: &[u8] = include_bytes!("keys/ec.pem");
const EC_PUBLIC: &str = include_str!("keys/ec.pub.pem");
const ED: &[u8] = include_bytes!("keys/ed.pem");
const ED_PUBLIC: &str = include_str!("keys/ed.pub.pem");
const STRANGER: &[u8] = include_bytes!("keys/stranger.pem");

pub fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_pem(RSA).unwrap()
}

pub fn ec() -> EncodingKey {
    EncodingKey::from_ec_pem(EC).unwrap()
}

pub fn ed() -> EncodingKey {
    EncodingKey::from_ed_pem(ED).unwrap()
}

/// A key that no server of these tests knows.
pub fn stranger() -> EncodingKey {
    EncodingKey::from_rsa_pem(STRANGER).unwrap()
}

pub fn now() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64
}

/// Claims that are accepted, of tenant acme, with these changes; null removes a claim.
pub fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example.com", "aud": "rota", "sub": "svc-orders", "tenantId": "acme",
        "scope": "enqueue inspect", "iat": now(), "exp": now() + 600,
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

pub fn sign(algorithm: Algorithm, kid: Option<&str>, key: &EncodingKey, claims: &Value) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(algorithm) };
    encode(&header, claims, key).unwrap()
}

/// A token that is accepted.
pub fn good() -> String {
    sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(json!({})))
}

/// A key set with one public key.
pub fn key_set(kid: &str, algorithm: Algorithm, key: &EncodingKey) -> Value {
    let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    jwk.common.key_id = Some(kid.to_owned());
    jwk.common.key_algorithm = Some(KeyAlgorithm::from(algorithm));
    json!({"keys": [jwk]})
}

/// A server that accepts tokens of the RSA key (by a key set), and of the others (from files).
pub struct WithTokens {
    pub server: Server,
    directory: tempfile::TempDir,
}

impl WithTokens {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| write(directory.path(), name, text);
        let set = key_set("rsa-1", Algorithm::RS256, &rsa()).to_string();
        let jwks = write("jwks.json", set.as_bytes());
        let pem = write("keys.pem", format!("{EC_PUBLIC}{ED_PUBLIC}").as_bytes());
        let secret = write("secret", SECRET);
        let mut all = vec!["--auth-modes", "jwt,keys"];
        all.extend(["--auth-jwt-jwks", jwks.to_str().unwrap()]);
        all.extend(["--auth-jwt-key-file", pem.to_str().unwrap()]);
        all.extend(["--auth-jwt-secret-file", secret.to_str().unwrap()]);
        all.extend(NAMES);
        all.extend(flags);
        let operator = operator_key().reveal().to_owned();
        let server = Server::start_in_env(&all, &[("ROTA_BOOTSTRAP_KEY", &operator)]);
        Self { server, directory }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn get(&self, token: &str, path: &str) -> Reply {
        let authorization = format!("Bearer {token}");
        self.server.send("GET", path, &[("Authorization", &authorization)], None)
    }

    /// Fails the test unless the token is refused with this text.
    #[track_caller]
    pub fn refuses(&self, token: &str, says: &str) {
        let reply = self.get(token, "/ojs/v1/queues");
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        let error = reply.expect_error(401, "unauthorized");
        assert!(challenge.contains("invalid_token"), "{challenge}");
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {error}");
        let signature = token.rsplit('.').next().unwrap();
        let text = error.to_string();
        assert!(signature.len() < 10 || !text.contains(signature), "the token is repeated");
    }
}

pub const NAMES: [&str; 4] =
    ["--auth-jwt-issuer", "https://id.example.com", "--auth-jwt-audience", "rota"];

pub fn write(directory: &Path, name: &str, text: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
