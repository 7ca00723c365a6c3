//! One file for each command.

mod backup;
mod completions;
mod config;
mod copy;
mod doctor;
mod health;
mod restore;
mod serve;

use clap::{ArgMatches, FromArgMatches, Subcommand};

use crate::Failure;
use crate::remote::wait_for;

/// The commands whose flags are known when this is compiled. `serve` and `config` take the settings,
/// which are declared by the server.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Health(health::Health),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    match arguments.subcommand() {
        Some(("serve", matches)) => return serve::run(matches),
        Some(("config", matches)) => return config::run(matches),
        _ => {}
    }
    let command =
        Command::from_arg_matches(arguments).map_err(|error| Failure::usage(error.to_string()))?;
    match command {
        Command::Health(command) => wait_for(command.run()),
        Command::Backup(command) => command.run(),
        Command::Restore(command) => command.run(),
        Command::Doctor(command) => wait_for(command.run()),
        Command::Completions(command) => command.run(),
    }
}
