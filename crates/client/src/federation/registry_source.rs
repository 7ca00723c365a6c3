//! An endpoint that tells which regions there are.

use std::path::PathBuf;

use serde::Deserialize;

use super::SettingsError;
use super::settings::{RegionSettings, Settings, invalid, malformed};
use crate::{Client, Credentials, Retries};

/// An endpoint that tells which regions there are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrySource {
    /// Its address. It answers with `{"federation_id", "regions": [{"id", "url", "weight", "tags"}]}`.
    pub url: String,
    /// Seconds between two requests.
    #[serde(default = "half_a_minute")]
    pub interval_seconds: u64,
    /// The environment variable with the token for this endpoint.
    #[serde(default)]
    pub token_env: Option<String>,
    /// The file with the token for this endpoint.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// The file with the authorities that are trusted for this endpoint.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// The file with the certificate that this endpoint is shown.
    #[serde(default)]
    pub client_cert: Option<PathBuf>,
    /// The file with the private key of that certificate.
    #[serde(default)]
    pub client_key: Option<PathBuf>,
}

fn half_a_minute() -> u64 {
    30
}

/// What the endpoint answers. It says where regions are and what they are for, never how to authenticate there:
/// credentials stay in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    federation_id: Option<String>,
    regions: Vec<ListedRegion>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedRegion {
    id: String,
    url: String,
    #[serde(default)]
    weight: Option<u32>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    queues: Option<Vec<String>>,
    #[serde(default)]
    priority: Option<u32>,
}

impl RegistrySource {
    pub(super) fn check(&self) -> Result<(), SettingsError> {
        // The same rules as for the address of a region.
        rota_federation::Region::new("registry", self.base())
            .map_err(|error| invalid("registry.url", error.to_string()))?;
        Ok(())
    }

    /// The address without its query.
    fn base(&self) -> &str {
        self.url.split_once('?').map_or(&self.url, |(base, _)| base)
    }

    pub(super) fn client(&self, settings: &Settings) -> Result<Client, SettingsError> {
        let as_region = RegionSettings {
            token_env: self.token_env.clone(),
            token_file: self.token_file.clone(),
            ca_file: self.ca_file.clone(),
            client_cert: self.client_cert.clone(),
            client_key: self.client_key.clone(),
            ..RegionSettings::new("registry", self.base())
        };
        let credentials: Credentials = as_region.credentials()?;
        let seconds = std::time::Duration::from_secs;
        Client::builder()
            .connect_timeout(seconds(settings.connect_timeout_seconds))
            .request_timeout(seconds(settings.request_timeout_seconds))
            .retries(Retries::none())
            .credentials(credentials)
            .build(self.base())
            .map_err(|error| SettingsError::Region { region: "registry".to_owned(), error })
    }
}

impl Settings {
    /// These settings with the regions that the endpoint lists. A region that is in the file as well keeps its
    /// credentials, and what the endpoint does not say about it.
    pub(super) fn with_listed(&self, json: &[u8], origin: &str) -> Result<Self, SettingsError> {
        let listed: Listed =
            serde_json::from_slice(json).map_err(|cause| malformed(origin, cause.to_string()))?;
        let region = |listed: ListedRegion| {
            let known = self.regions.iter().find(|region| region.id == listed.id).cloned();
            let mut region = known.unwrap_or_else(|| RegionSettings::new(&listed.id, &listed.url));
            region.url = listed.url;
            region.weight = listed.weight.unwrap_or(region.weight);
            region.tags = listed.tags.unwrap_or(region.tags);
            region.queues = listed.queues.unwrap_or(region.queues);
            region.priority = listed.priority.unwrap_or(region.priority);
            region
        };
        let mut settings = self.clone();
        settings.regions = listed.regions.into_iter().map(region).collect();
        if listed.federation_id.is_some() {
            settings.federation_id = listed.federation_id;
        }
        settings.check()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings() -> Settings {
        let settings = json!({
            "local_region": "eu",
            "regions": [{"id": "eu", "url": "https://eu.example.com", "token_env": "EU", "tags": ["a"]}],
            "registry": {"url": "https://registry.example.com/regions"},
        });
        Settings::from_json(&settings.to_string(), "the test").unwrap()
    }

    #[test]
    fn the_endpoint_says_where_regions_are_and_the_file_how_to_authenticate() {
        let listed = json!({"federation_id": "prod", "regions": [
            {"id": "eu", "url": "https://new.example.com", "weight": 3},
            {"id": "us", "url": "https://us.example.com", "tags": ["gpu"]},
        ]});
        let renewed = settings().with_listed(listed.to_string().as_bytes(), "it").unwrap();
        let [eu, us] = &renewed.regions[..] else { panic!("two regions") };
        assert_eq!((&*eu.url, eu.weight), ("https://new.example.com", 3));
        assert_eq!((eu.token_env.as_deref(), &eu.tags[..]), (Some("EU"), &["a".to_owned()][..]));
        assert_eq!((us.token_env.as_deref(), &us.tags[..]), (None, &["gpu".to_owned()][..]));
        assert_eq!(renewed.federation_id.as_deref(), Some("prod"));
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_as_a_whole() {
        for listed in [
            json!({"regions": []}),
            json!({"regions": [{"id": "us", "url": "https://us.example.com"}]}),
            json!({"regions": [{"id": "eu", "url": "http://eu.example.com"}]}),
            json!({"regions": [{"id": "eu", "url": "https://eu.example.com", "token_file": "/etc/shadow"}]}),
            json!({"region": []}),
        ] {
            let renewed = settings().with_listed(listed.to_string().as_bytes(), "it");
            assert!(renewed.is_err(), "{listed}");
        }
        let open = RegistrySource {
            url: "http://registry.example.com".to_owned(),
            ..settings().registry.unwrap()
        };
        assert!(open.check().is_err(), "only https");
    }
}
