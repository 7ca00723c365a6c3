//! Log lines, as text or as JSON.

use std::io::IsTerminal;

use rota_settings::{LogFormat, LogLevel, Settings};
use tracing_subscriber::EnvFilter;

use crate::Failure;

/// Starts logging to standard error. `ROTA_LOG` overrides the level with a filter such as
/// `rota_server=debug`.
pub(crate) fn start(settings: &Settings) -> Result<(), Failure> {
    let level = match settings.log.level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let filter = match std::env::var("ROTA_LOG") {
        Ok(text) if !text.is_empty() => EnvFilter::builder().parse(&text).map_err(|cause| {
            Failure::usage(format!("the variable ROTA_LOG is no filter for log lines: {cause}"))
        })?,
        _ => EnvFilter::new(level),
    };
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    let started = match settings.log.format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::error(format!("logging could not be started: {error}")))
}
