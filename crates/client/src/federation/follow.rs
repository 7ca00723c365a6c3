//! Taking over a description of the regions that changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method};
use tokio::task::JoinHandle;

use super::SettingsError;
use super::connection::FederatedClient;
use super::event::Event;
use super::registry_source::RegistrySource;
use super::settings::{Settings, malformed};
use crate::forward::Forward;

/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// The longest list of regions that is read.
const MOST_BYTES: usize = 16 << 20;

/// Follows a description of the regions until it is dropped.
#[must_use = "following ends when this is dropped"]
pub struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FederatedClient {
    /// Takes over the file whenever its content changes, and the list of regions of its `registry` whenever that
    /// changes. What is wrong changes nothing and is reported.
    pub fn follow_file(&self, path: impl Into<PathBuf>) -> Following {
        let (client, path) = (self.clone(), path.into());
        Following(tokio::spawn(async move {
            let mut known = tokio::fs::read(&path).await.ok();
            let mut _endpoint = client.follow_registry();
            loop {
                tokio::time::sleep(LOOK).await;
                let now = tokio::fs::read(&path).await.ok();
                if now == known {
                    continue;
                }
                known = now;
                let renewed =
                    Settings::read(&path).and_then(|settings| client.reconfigure(settings));
                match renewed {
                    // The list is taken over again, on top of the new file.
                    Ok(()) => _endpoint = client.follow_registry(),
                    Err(error) => client.not_renewed(&error),
                }
            }
        }))
    }

    /// Takes over the regions that the endpoint in the settings lists, whenever they change; does nothing without
    /// one. Everything else stays as it is in the settings of this moment.
    pub fn follow_registry(&self) -> Option<Following> {
        let settings = self.settings();
        let source = settings.registry.clone()?;
        let client = self.clone();
        Some(Following(tokio::spawn(async move {
            let every = Duration::from_secs(source.interval_seconds);
            let mut known = None;
            loop {
                match client.listed(&source, &settings).await {
                    Ok(list) if known.as_ref() == Some(&list) => {}
                    Ok(list) => {
                        let renewed = settings.with_listed(&list, &source.url);
                        let renewed = renewed.and_then(|settings| client.reconfigure(settings));
                        if let Err(error) = renewed {
                            client.not_renewed(&error);
                        }
                        known = Some(list);
                    }
                    Err(error) => client.not_renewed(&error),
                }
                tokio::time::sleep(every).await;
            }
        })))
    }

    /// The endpoint's answer.
    async fn listed(
        &self,
        source: &RegistrySource,
        settings: &Arc<Settings>,
    ) -> Result<Bytes, SettingsError> {
        let client = source.client(settings)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(authorization) = client.authorization() {
            headers.insert(http::header::AUTHORIZATION, authorization.clone());
        }
        let query = source.url.split_once('?').map(|(_, query)| format!("?{query}"));
        let request = Forward {
            method: Method::GET,
            path: query.unwrap_or_default(),
            headers,
            body: Bytes::new(),
            longer: Duration::ZERO,
        };
        let answer = client.forward(request).await;
        let answer = answer
            .map_err(|error| SettingsError::Region { region: "registry".to_owned(), error })?;
        match answer.status {
            200 if answer.body.len() <= MOST_BYTES => Ok(answer.body),
            200 => Err(malformed(&source.url, "it is too long".to_owned())),
            status => Err(malformed(&source.url, format!("it answered {status}"))),
        }
    }

    fn not_renewed(&self, error: &SettingsError) {
        self.shared.tell(&Event::RegistryNotRenewed { reason: error.to_string() });
    }
}
