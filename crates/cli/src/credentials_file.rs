//! The file with credentials for servers, by URL.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rota_client::Client;
use serde::Deserialize;

use crate::Failure;

/// One server's entry. Paths are relative to the working directory.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub token: Option<String>,
    pub ca_file: Option<PathBuf>,
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
}

/// The entry for this URL, or an empty one. A file that was named must be there.
pub(crate) fn entry(named: Option<&Path>, url: &str) -> Result<Entry, Failure> {
    let Some(path) = named.map(Path::to_owned).or_else(usual_path) else {
        return Ok(Entry::default());
    };
    let text = match read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {
            return Ok(Entry::default());
        }
        Err(cause) => {
            let message = format!("the credentials {} cannot be read: {cause}", path.display());
            return Err(Failure::usage(message));
        }
        Ok(None) => return Err(readable_by_others(&path)),
        Ok(Some(text)) => text,
    };
    let entries: BTreeMap<String, Entry> = toml::from_str(&text).map_err(|cause| {
        // The whole message would repeat the line, which may be a token.
        let message = format!("the credentials {} are not valid", path.display());
        let place = cause.span().map(|span| text[..span.start].lines().count().max(1));
        let place = place.map(|line| format!(" in line {line}")).unwrap_or_default();
        Failure::usage(format!("{message}{place}")).hint(EXAMPLE)
    })?;
    let wanted = normalized(url);
    let found = entries.into_iter().find(|(key, _)| normalized(key) == wanted);
    Ok(found.map(|(_, entry)| entry).unwrap_or_default())
}

const EXAMPLE: &str = "It has a table for each server: [\"https://jobs.example.com\"] with token, ca_file, \
    client_cert and client_key.";

/// `None` if others may read it.
fn read(path: &Path) -> std::io::Result<Option<String>> {
    let text = std::fs::read_to_string(path)?;
    let mode = std::fs::metadata(path)?.permissions().mode();
    Ok((mode & 0o077 == 0).then_some(text))
}

fn readable_by_others(path: &Path) -> Failure {
    let path = path.display();
    Failure::usage(format!("the credentials {path} are accessible to others"))
        .hint(format!("Make them your own: chmod 600 {path}"))
}

fn usual_path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("rota/credentials.toml"))
}

/// As the client would use it; what is no URL stays as it is.
fn normalized(url: &str) -> String {
    Client::new(url).map_or_else(|_| url.to_owned(), |client| client.url())
}
