//! Events over a WebSocket (ojs-realtime 3): the upgrade, and the task that serves the connection.

mod connection;
mod message;
mod push;
mod remembered;
mod request;
mod session;
mod subscriptions;
mod upgrade;

pub(in super::super) use remembered::Remembered;
pub(in super::super) use upgrade::connect;
