//! `rota`: one binary for everything.

mod arguments;
mod commands;
mod failure;
mod given;
mod local;
mod logging;
mod output;
mod remote;

use std::process::ExitCode;

pub(crate) use failure::Failure;

/// A request's memory is taken on one thread and given back on another, which the system's
/// allocator is slow at.
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
