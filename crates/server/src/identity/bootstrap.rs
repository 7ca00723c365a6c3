//! The first operator key, without which nobody could create others.

use std::path::{Path, PathBuf};

use rota_engine::{Command, Reply};
use rota_identity::{ApiKey, KeyName, KeyText, KeyTextError, Permissions, RANDOM_BYTES};
use rota_model::Millis;

use crate::runtime::{Handle, Unavailable};

/// Where the first key comes from.
#[derive(Debug, Clone)]
pub enum FirstKey {
    /// From the configuration.
    Given(KeyText),
    /// The server makes one if there has never been an operator key.
    Made,
}

#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error("the bootstrap key in {place} {cause}; `rota keys generate` makes one")]
    Form { place: String, cause: KeyTextError },
    #[error("the file with the bootstrap key, {}, cannot be read: {cause}", path.display())]
    File { path: PathBuf, cause: std::io::Error },
    #[error("there is a bootstrap key in ROTA_BOOTSTRAP_KEY and in {}; give one of them", .0.display())]
    Two(PathBuf),
    #[error("the system gives no random numbers for the first operator key: {0}")]
    Random(getrandom::Error),
    #[error("the first operator key cannot be stored ({0}); `rota keys generate` makes another")]
    Refused(String),
}

/// A file with a key is no longer than this many bytes.
const MAX_FILE_BYTES: u64 = 1024;

impl FirstKey {
    /// The key in the file or in the variable.
    pub fn given(file: Option<&Path>, variable: Option<&str>) -> Result<Self, BootstrapError> {
        let parse = |text: &str, place: String| {
            KeyText::parse(text.trim()).map_err(|cause| BootstrapError::Form { place, cause })
        };
        match (file, variable) {
            (None, None) => Ok(Self::Made),
            (Some(path), Some(_)) => Err(BootstrapError::Two(path.to_owned())),
            (None, Some(text)) => parse(text, "ROTA_BOOTSTRAP_KEY".into()).map(Self::Given),
            (Some(path), None) => {
                let text = read(path)
                    .map_err(|cause| BootstrapError::File { path: path.to_owned(), cause })?;
                parse(&text, path.display().to_string()).map(Self::Given)
            }
        }
    }

    /// Makes sure that the key is stored. Returns a key that was made, to be shown once.
    pub(crate) async fn store(self, handle: &Handle) -> Result<Option<KeyText>, BootstrapError> {
        let (text, is_made) = match self {
            Self::Given(text) => (text, false),
            Self::Made => {
                let look =
                    |engine: &rota_engine::Engine| engine.keys().any(|key| key.tenant.is_none());
                if handle.look(look).await.map_err(|why| refused(&why))? {
                    return Ok(None);
                }
                (new_key().map_err(BootstrapError::Random)?, true)
            }
        };
        match handle.command(Command::CreateKey(Box::new(operator_key(&text)))).await {
            Ok(Reply::Key(key)) => {
                warn_if_ended(&key);
                Ok(is_made.then_some(text))
            }
            Ok(Reply::Refused(refusal)) => Err(BootstrapError::Refused(format!("{refusal:?}"))),
            Ok(reply) => Err(BootstrapError::Refused(format!("{reply:?}"))),
            Err(why) => Err(refused(&why)),
        }
    }
}

/// A new key from the system's random numbers.
pub fn new_key() -> Result<KeyText, getrandom::Error> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    Ok(KeyText::new(&random))
}

fn operator_key(text: &KeyText) -> ApiKey {
    ApiKey {
        id: text.id(),
        hash: text.hash(),
        name: KeyName::parse("first operator key").expect("a valid name"),
        tenant: None,
        permissions: Permissions::of_operator(),
        queues: None,
        job_types: None,
        created: Millis(0),
        expires: None,
        revoked: None,
        last_used: None,
        rotated_from: None,
        successor: None,
        bootstrap: true,
    }
}

fn warn_if_ended(key: &ApiKey) {
    if key.revoked.is_some() {
        tracing::warn!(key = %key.id, "the bootstrap key was revoked and is not accepted");
    } else if key.successor.is_some() {
        tracing::warn!(key = %key.id, "the bootstrap key was rotated; put its successor in its place");
    }
}

fn refused(why: &Unavailable) -> BootstrapError {
    BootstrapError::Refused(format!("{why:?}"))
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_one_place_and_errors_do_not_show_it() {
        let key = new_key().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, format!("{}\n", key.reveal())).unwrap();
        let given = |file, variable| FirstKey::given(file, variable);
        for first in [given(Some(&*path), None), given(None, Some(key.reveal()))] {
            let FirstKey::Given(read) = first.unwrap() else { panic!("a key is given") };
            assert_eq!(read.hash(), key.hash());
        }
        assert!(matches!(given(None, None), Ok(FirstKey::Made)));
        assert!(matches!(given(Some(&*path), Some("x")), Err(BootstrapError::Two(_))));
        let wrong = &key.reveal()[..60];
        let error = given(None, Some(wrong)).unwrap_err().to_string();
        assert!(error.contains("ROTA_BOOTSTRAP_KEY") && !error.contains(wrong), "{error}");
        let error = given(Some(&directory.path().join("none")), None).unwrap_err();
        assert!(matches!(error, BootstrapError::File { .. }));
    }
}
