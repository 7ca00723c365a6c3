//! The `rota` binary: the server and its command line tools.

mod arguments;
mod commands;
mod credentials_file;
mod failure;
mod given;
mod hints;
mod leading_flags;
mod local;
mod logging;
mod output;
mod remote;
mod signals;

use std::process::ExitCode;

pub(crate) use failure::Failure;

/// A request's memory is allocated on one thread and freed on another, which the system
/// allocator handles slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (outcome, as_json) = match arguments::parse() {
        Ok(arguments) => (commands::run(&arguments), arguments::wants_json(&arguments)),
        Err(failure) => (Err(failure), true),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.say(as_json);
            ExitCode::from(failure.code)
        }
    }
}
