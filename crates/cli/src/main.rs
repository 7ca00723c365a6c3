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

fn main() -> ExitCode {
    let arguments = arguments::parse();
    match commands::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.say(arguments::wants_json(&arguments));
            ExitCode::from(failure.code)
        }
    }
}
