//! Log lines, for people or for machines.

use std::io::IsTerminal;

use rota_server::settings::{LogFormat, LogLevel, Settings};
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error. `ROTA_LOG` overrules the level with a filter such as
/// `rota_server=debug`.
pub(crate) fn start(settings: &Settings) {
    let level = match settings.log.level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let filter = EnvFilter::try_from_env("ROTA_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    let started = match settings.log.format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        eprintln!("rota: logging could not be started: {error}");
    }
}
