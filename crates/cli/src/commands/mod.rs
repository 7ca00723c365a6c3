//! The commands, one module each.

mod audit;
mod backup;
mod bench;
mod completions;
mod config;
mod confirm;
mod copy;
mod cron;
mod dead_letter;
mod demo;
mod doctor;
mod enqueue;
mod events;
mod explain;
mod fairness;
mod federate;
mod health;
mod job_limit;
mod job_options;
mod jobs;
mod keys;
mod limits;
mod maintenance;
mod named;
mod number;
mod pools;
mod queues;
mod rate;
mod regions;
mod restore;
mod serve;
mod setting;
mod size;
mod tenants;
mod weights;
mod work;
mod workers;

use clap::{ArgMatches, FromArgMatches, Subcommand};

use self::named::named;
use crate::Failure;
use crate::remote::wait_for;

// Not a doc comment, because clap would print it. These are the commands with static flags;
// `serve` and `config` take the settings that the server declares.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Enqueue(enqueue::Enqueue),
    Work(work::Work),
    Jobs(jobs::Jobs),
    Explain(explain::Explain),
    Queues(queues::Queues),
    Workers(workers::Workers),
    Pools(pools::Pools),
    Tenants(tenants::Tenants),
    Keys(keys::Keys),
    Fairness(fairness::Fairness),
    Limits(limits::Limits),
    Cron(cron::Crons),
    DeadLetter(dead_letter::DeadLetter),
    Events(events::Events),
    Health(health::Health),
    Maintenance(maintenance::Maintenance),
    Audit(audit::Audit),
    Federate(federate::Federate),
    Regions(regions::Regions),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Doctor(doctor::Doctor),
    Bench(bench::Bench),
    Demo(demo::Demo),
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
        Command::Enqueue(command) => wait_for(command.run()),
        Command::Work(command) => wait_for(command.run()),
        Command::Jobs(command) => wait_for(command.run()),
        Command::Explain(command) => wait_for(command.run()),
        Command::Queues(command) => wait_for(command.run()),
        Command::Workers(command) => wait_for(command.run()),
        Command::Pools(command) => wait_for(command.run()),
        Command::Keys(command) => wait_for(command.run()),
        Command::Tenants(command) => wait_for(command.run()),
        Command::Fairness(command) => wait_for(command.run()),
        Command::Limits(command) => wait_for(command.run()),
        Command::Cron(command) => wait_for(command.run()),
        Command::DeadLetter(command) => wait_for(command.run()),
        Command::Events(command) => wait_for(command.run()),
        Command::Health(command) => wait_for(command.run()),
        Command::Maintenance(command) => wait_for(command.run()),
        Command::Audit(command) => wait_for(command.run()),
        Command::Federate(command) => command.run(),
        Command::Regions(command) => wait_for(command.run()),
        Command::Backup(command) => command.run(),
        Command::Restore(command) => command.run(),
        Command::Doctor(command) => wait_for(command.run()),
        Command::Bench(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Completions(command) => command.run(),
    }
}
