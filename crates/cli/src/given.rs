//! Collects settings from flags, environment and file.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use rota_settings::{Settings, declarations};

use crate::Failure;

pub(crate) fn settings(matches: &ArgMatches) -> Result<Settings, Failure> {
    let flags: Vec<(String, String)> = declarations()
        .iter()
        .filter_map(|setting| {
            let value = matches.get_one::<String>(setting.key)?;
            Some((setting.key.to_owned(), value.clone()))
        })
        .collect();
    let path = matches.get_one::<String>("config").map(PathBuf::from);
    resolve(&flags, path.as_deref())
}

/// The settings that a server with these flags would use.
pub(crate) fn resolve(
    flags: &[(String, String)],
    file: Option<&Path>,
) -> Result<Settings, Failure> {
    let file = file.map(read).transpose()?;
    Settings::resolve(flags, environment()?.into_iter(), file)
        .map_err(|error| Failure::usage(error.to_string()))
}

fn read(path: &Path) -> Result<(&Path, String), Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((path, text)),
        Err(cause) => Err(Failure::usage(format!(
            "the settings file {} cannot be read: {cause}",
            path.display()
        ))),
    }
}

/// Considers only variables with our prefix, which must be valid text.
fn environment() -> Result<Vec<(String, String)>, Failure> {
    let ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ROTA_"));
    ours.map(|(name, value)| match (name.into_string(), value.into_string()) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        (name, _) => {
            let name = name.unwrap_or_else(|raw| raw.to_string_lossy().into_owned());
            Err(Failure::usage(format!("the variable {name} is not valid UTF-8")))
        }
    })
    .collect()
}
