//! One file for each command.

pub(crate) mod config;
pub(crate) mod serve;
