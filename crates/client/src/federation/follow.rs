//! Taking over a description of the regions that changes.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::connection::FederatedClient;
use super::event::Event;
use super::settings::Settings;

/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Follows a description of the regions until it is dropped.
#[must_use = "following ends when this is dropped"]
pub struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FederatedClient {
    /// Takes over the file whenever its content changes. A file that is wrong changes nothing and is reported.
    pub fn follow_file(&self, path: impl Into<PathBuf>) -> Following {
        let (client, path) = (self.clone(), path.into());
        Following(tokio::spawn(async move {
            let mut known = tokio::fs::read(&path).await.ok();
            loop {
                tokio::time::sleep(LOOK).await;
                let now = tokio::fs::read(&path).await.ok();
                if now == known {
                    continue;
                }
                known = now;
                let renewed =
                    Settings::read(&path).and_then(|settings| client.reconfigure(settings));
                if let Err(error) = renewed {
                    client.shared.tell(&Event::RegistryNotRenewed { reason: error.to_string() });
                }
            }
        }))
    }
}
