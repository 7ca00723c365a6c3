//! The client against servers that a real one cannot easily be made to be: answers that get lost, and
//! servers that know no more of the protocol than fetch, ack and nack.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

mod enqueue;
mod server;
mod worker;
