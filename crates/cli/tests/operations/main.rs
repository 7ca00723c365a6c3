//! Starting, stopping, failing and coming back, with real processes.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

use support::{process, small_disk, wire};

mod seeded_random;

mod bad_input;
#[cfg(target_os = "linux")]
mod clocks;
mod connections;
mod damaged_data;
mod full_disk;
mod full_disk_beside_others;
mod greeting;
mod hostile_tenants;
#[cfg(target_os = "linux")]
mod io_faults;
mod kill_nine;
mod logs;
mod overload;
mod pauses;
mod settings;
mod start;
mod stop;
mod unread_answers;
