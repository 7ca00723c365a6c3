//! The data directory that a command works on.

use std::path::PathBuf;

use clap::Args;
use rota_settings::{Origin, Settings};

use crate::{Failure, given};

/// Options of every command that works on a data directory.
#[derive(Debug, Args)]
pub(crate) struct Local {
    /// The data directory; default: from the settings (ROTA_DATA, or ./rota-data)
    #[arg(long, value_name = "DIR", help_heading = "Data and output")]
    data: Option<String>,

    /// The TOML file with the server's settings
    #[arg(long, value_name = "FILE", env = "ROTA_CONFIG", help_heading = "Data and output")]
    config: Option<PathBuf>,

    /// Print JSON for scripts, errors too
    #[arg(long, help_heading = "Data and output")]
    pub json: bool,
}

impl Local {
    /// The settings that `rota serve` would have with the same flags.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let flags: Vec<_> = self.data.iter().map(|dir| ("data".to_owned(), dir.clone())).collect();
        given::resolve(&flags, self.config.as_deref())
    }
}

/// Whether the directory was chosen explicitly or is the default.
pub(crate) fn is_chosen(settings: &Settings) -> bool {
    settings.table().iter().any(|row| row.key == "data" && row.origin != Origin::Default)
}
