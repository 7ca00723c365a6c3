//! Keeping data safe: backup, restore and doctor, with real processes.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

#[path = "../support/database.rs"]
mod database;
#[path = "../support/mod.rs"]
mod support;

use support::{process, small_disk, wire};

mod audit_verify;
mod backup;
mod doctor_data;
mod doctor_server;
mod file_modes;
mod migration_killed;
mod moments;
mod repair;
mod restore;
mod restore_killed;
mod servers_with_jobs;
mod steady_load;
