//! Connections: encryption, protocols, certificates, proxies, and how many there may be.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod authority;
mod secure;

mod addresses;
mod client_certificates;
mod commands;
mod crowds;
mod handshakes;
mod http2;
mod reload;
mod slow;
mod undelivered;
mod undelivered_http2;

use support::wire;
