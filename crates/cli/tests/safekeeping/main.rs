//! Keeping data safe: backup, restore and doctor, with real processes.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

// Each test binary uses its own part of these.
#[path = "../operations/process.rs"]
#[allow(dead_code)]
mod process;
#[path = "../operations/small_disk.rs"]
#[allow(dead_code)]
mod small_disk;
#[path = "../operations/wire.rs"]
#[allow(dead_code)]
mod wire;

mod backup;
mod doctor_data;
mod doctor_server;
mod jobs;
mod load;
mod restore;
mod restore_killed;
