//! `rota`: one binary for everything.

mod arguments;
mod commands;
mod given;
mod logging;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = arguments::parse();
    let outcome = match arguments.subcommand() {
        Some(("serve", matches)) => commands::serve::run(matches),
        Some(("config", matches)) => commands::config::run(matches),
        _ => unreachable!("clap demands a subcommand"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("rota: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Why a command ended badly.
pub(crate) struct Failure {
    pub message: String,
    pub code: u8,
}

impl Failure {
    /// Something went wrong.
    pub fn error(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    /// What was asked for makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }
}
