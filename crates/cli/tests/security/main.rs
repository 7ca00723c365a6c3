//! Who may do what: credentials of every kind, over HTTP, against a real server.

// Tests fail by panicking.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;
// Most of it is for the tests of TLS.
#[allow(dead_code)]
#[path = "../transport/authority.rs"]
mod authority;
// Most of it is for the tests of WebSockets.
#[allow(dead_code)]
#[path = "../protocol/web_socket_reader.rs"]
mod web_socket_reader;

mod allowed_types;
mod api_keys;
mod audit;
mod bodies_under_way;
mod credential_lists;
mod ended_credentials;
mod first_key;
mod key_admin;
mod lasting_credentials;
mod limit_keys;
mod matrix;
mod request_limits;
mod secrets;
mod secure_key_set;
mod secured;
mod tenants_pools;
mod token_attacks;
mod token_maker;
mod tokens;
mod unknown_things;
