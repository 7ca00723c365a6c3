//! The description of a federation, in a file or from an endpoint.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rota_federation::{
    BreakerSettings, Failover, Policy, Region, RegionId, Registry, Strategy, Topology,
};
use serde::Deserialize;

use super::registry_source::RegistrySource;
use super::{OnAmbiguous, SettingsError};
use crate::{Client, Credentials, Retries};

/// The description of a federation: TOML, or JSON with the same members.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The name of the whole federation, for people.
    #[serde(default)]
    pub federation_id: Option<String>,
    /// The region that is nearest to this program.
    pub local_region: String,
    /// How regions are connected: `mesh`, `active-active` or `hub-spoke`.
    #[serde(default = "mesh")]
    pub topology: String,
    /// The region in the middle; for `hub-spoke` only.
    #[serde(default)]
    pub hub: Option<String>,
    /// The strategy of jobs that do not choose one.
    #[serde(default)]
    pub default_strategy: Option<String>,
    /// The regions.
    pub regions: Vec<RegionSettings>,
    /// For the strategy `active-passive`: the primary region and then the others.
    #[serde(default)]
    pub active_passive: Vec<String>,
    /// For the strategy `geographic`: the region for each part of the world.
    #[serde(default)]
    pub geography: BTreeMap<String, String>,
    /// What happens to a job of which nobody knows whether it was enqueued.
    #[serde(default)]
    pub on_ambiguous: OnAmbiguous,
    /// With `on_ambiguous = "send"`: how long a region that is back is asked whether it has the job after all, in
    /// seconds.
    #[serde(default = "two_minutes")]
    pub reconcile_for_seconds: u64,
    /// How long a region that answered that it is full gets no jobs, in seconds.
    #[serde(default = "ten")]
    pub full_for_seconds: u64,
    /// How long a region may take to answer a request, in seconds.
    #[serde(default = "ten")]
    pub request_timeout_seconds: u64,
    /// How long a connection may take, in seconds.
    #[serde(default = "two")]
    pub connect_timeout_seconds: u64,
    /// Health checks.
    #[serde(default)]
    pub health_check: HealthCheck,
    /// Collecting the load of the regions.
    #[serde(default)]
    pub load: LoadCollection,
    /// Circuit breakers.
    #[serde(default)]
    pub circuit_breaker: CircuitBreaker,
    /// Failover.
    #[serde(default)]
    pub failover: FailoverSettings,
    /// For `rota federate` only.
    #[serde(default)]
    pub gateway: GatewaySettings,
    /// The region that counts as the local one for jobs that choose nothing themselves, that no rule matches, and
    /// whose queue no region declares.
    #[serde(default)]
    pub default_region: Option<String>,
    /// Where the list of regions is renewed from while the program runs.
    #[serde(default)]
    pub registry: Option<RegistrySource>,
    /// Rules for jobs that do not choose a region or a strategy themselves. The first that matches counts.
    #[serde(default)]
    pub rules: Vec<RuleSettings>,
}

/// A region with its credentials.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionSettings {
    /// Its name.
    pub id: String,
    /// The base address of its server.
    pub url: String,
    /// How much it takes, compared with others that are as good.
    #[serde(default = "one")]
    pub weight: u32,
    /// What it can do.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The queues that are served there. Jobs of these queues go to the regions that declare them.
    #[serde(default)]
    pub queues: Vec<String>,
    /// Its place among the regions that declare the same queue, lowest first.
    #[serde(default = "one")]
    pub priority: u32,
    /// Seconds between two health checks, if other than `health_check.interval_seconds`.
    #[serde(default)]
    pub health_interval_seconds: Option<u64>,
    /// The environment variable with the token for this region.
    #[serde(default)]
    pub token_env: Option<String>,
    /// The file with the token for this region.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// The file with the authorities that are trusted for this region.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// The file with the certificate that this region is shown.
    #[serde(default)]
    pub client_cert: Option<PathBuf>,
    /// The file with the private key of that certificate.
    #[serde(default)]
    pub client_key: Option<PathBuf>,
}

/// A gateway in front of the regions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GatewaySettings {
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The region of everything that is in one region only, such as schedules; the local one unless given.
    pub home_region: Option<String>,
    /// The regions from which workers get jobs, in this order; the local one unless given.
    pub fetch_regions: Vec<String>,
}

/// A rule for jobs. What it does not name may be anything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// The job type, or its beginning followed by `*`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The queue, or its beginning followed by `*`.
    pub queue: Option<String>,
    /// The tenant.
    pub tenant: Option<String>,
    /// A tag of the job.
    pub tag: Option<String>,
    /// The region that counts as the local one for these jobs.
    pub region: Option<String>,
    /// Whether these jobs run in that region or nowhere.
    pub pin: bool,
    /// Their strategy.
    pub strategy: Option<String>,
}

/// Health checks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthCheck {
    /// Seconds between two checks of a region.
    pub interval_seconds: u64,
    /// Seconds that a check may take.
    pub timeout_seconds: u64,
}

/// Collecting the load of the regions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadCollection {
    /// Seconds between two collections.
    pub interval_seconds: u64,
}

/// Circuit breakers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CircuitBreaker {
    /// Consecutive failures that open it.
    pub failure_threshold: u32,
    /// Seconds that it stays open.
    pub cooldown_seconds: u64,
}

/// Failover.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FailoverSettings {
    /// Whether another region is tried.
    pub enabled: bool,
    /// How many other regions are tried for one job.
    pub max_redirects: u32,
    /// Regions that nothing fails over to.
    pub exclude_regions: Vec<String>,
    /// Regions that are tried first, in this order.
    pub prefer_regions: Vec<String>,
}

fn mesh() -> String {
    "mesh".to_owned()
}

fn one() -> u32 {
    1
}

fn two() -> u64 {
    2
}

fn two_minutes() -> u64 {
    120
}

fn ten() -> u64 {
    10
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self { interval_seconds: 10, timeout_seconds: 5 }
    }
}

impl Default for LoadCollection {
    fn default() -> Self {
        Self { interval_seconds: 10 }
    }
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self { failure_threshold: 5, cooldown_seconds: 30 }
    }
}

impl Default for FailoverSettings {
    fn default() -> Self {
        let Failover { enabled, max_redirects, exclude, prefer } = Failover::default();
        Self { enabled, max_redirects, exclude_regions: exclude, prefer_regions: prefer }
    }
}

/// The longest of all intervals and timeouts.
const LONGEST_SECONDS: u64 = 24 * 3_600;

impl Settings {
    /// Reads a file: JSON if its name ends with `.json`, else TOML.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SettingsError> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|cause| SettingsError::Unreadable { path: origin.clone(), cause })?;
        match path.extension().is_some_and(|extension| extension == "json") {
            true => Self::from_json(&text, &origin),
            false => Self::from_toml(&text, &origin),
        }
    }

    /// Parses TOML. `origin` is named in errors.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map_err(|cause| malformed(origin, cause.to_string()))
    }

    /// Parses JSON. `origin` is named in errors.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SettingsError> {
        serde_json::from_str(text).map_err(|cause| malformed(origin, cause.to_string()))
    }

    /// Checks everything that needs no connection and no file.
    pub fn check(&self) -> Result<(), SettingsError> {
        let federation = rota_federation::Federation::new(self.registry()?, self.policy()?)?;
        self.check_names(federation.registry())?;
        for (setting, seconds) in [
            ("health_check.interval_seconds", self.health_check.interval_seconds),
            ("health_check.timeout_seconds", self.health_check.timeout_seconds),
            ("load.interval_seconds", self.load.interval_seconds),
            ("circuit_breaker.cooldown_seconds", self.circuit_breaker.cooldown_seconds),
            ("reconcile_for_seconds", self.reconcile_for_seconds),
            ("request_timeout_seconds", self.request_timeout_seconds),
            ("connect_timeout_seconds", self.connect_timeout_seconds),
        ] {
            check_seconds(setting, seconds)?;
        }
        for region in &self.regions {
            let interval = region.health_interval_seconds.unwrap_or(1);
            check_seconds("regions.health_interval_seconds", interval)?;
        }
        if let Some(registry) = &self.registry {
            check_seconds("registry.interval_seconds", registry.interval_seconds)?;
            registry.check()?;
        }
        if self.full_for_seconds > LONGEST_SECONDS {
            return Err(invalid("full_for_seconds", format!("must be 0 to {LONGEST_SECONDS}")));
        }
        if self.circuit_breaker.failure_threshold == 0 {
            return Err(invalid("circuit_breaker.failure_threshold", "must be at least 1".into()));
        }
        Ok(())
    }

    /// Checks the regions that the gateway and the rules name.
    fn check_names(&self, registry: &Registry) -> Result<(), SettingsError> {
        let unknown = |setting, name: &str| {
            invalid(setting, format!("names region '{name}', which does not exist"))
        };
        let gateway = &self.gateway;
        for name in gateway.home_region.iter().chain(&gateway.fetch_regions) {
            registry.find(name).ok_or_else(|| unknown("gateway", name))?;
        }
        if let Some(name) = &self.default_region {
            registry.find(name).ok_or_else(|| unknown("default_region", name))?;
        }
        for rule in &self.rules {
            if let Some(name) = &rule.region {
                registry.find(name).ok_or_else(|| unknown("rules", name))?;
            }
            match (&rule.region, rule.pin, &rule.strategy) {
                (None, true, _) => {
                    return Err(invalid("rules", "with pin = true must name a region".into()));
                }
                (Some(_), true, Some(_)) => {
                    return Err(invalid("rules", "with pin = true have no strategy".into()));
                }
                (None, false, None) => {
                    return Err(invalid("rules", "must name a region or a strategy".into()));
                }
                _ => {}
            }
            if let Some(name) = &rule.strategy
                && Strategy::parse(name).is_none_or(|strategy| strategy == Strategy::GeoPin)
            {
                return Err(invalid("rules", format!("have an unknown strategy: '{name}'")));
            }
        }
        Ok(())
    }

    pub(super) fn registry(&self) -> Result<Registry, SettingsError> {
        let region = |settings: &RegionSettings| {
            let region = Region::new(&settings.id, &settings.url)?;
            let region = region.queues(settings.queues.clone(), settings.priority);
            region.weight(settings.weight)?.tags(&settings.tags)
        };
        let regions = self.regions.iter().map(region).collect::<Result<_, _>>()?;
        let topology = match (self.topology.as_str(), &self.hub) {
            ("hub-spoke", Some(hub)) => Topology::HubSpoke { hub: RegionId::parse(hub)? },
            ("hub-spoke", None) => {
                return Err(invalid(
                    "hub",
                    "must name a region if the topology is hub-spoke".into(),
                ));
            }
            ("mesh" | "active-active", Some(_)) => {
                return Err(invalid("hub", "is for the topology hub-spoke only".into()));
            }
            ("mesh", None) => Topology::Mesh,
            ("active-active", None) => Topology::ActiveActive,
            _ => {
                return Err(invalid("topology", "must be mesh, active-active or hub-spoke".into()));
            }
        };
        Ok(Registry::new(regions, topology)?)
    }

    pub(super) fn policy(&self) -> Result<Policy, SettingsError> {
        let default_strategy = match self.default_strategy.as_deref() {
            None => Strategy::default(),
            // The longer document's name for it.
            Some("latency-based") => Strategy::Latency,
            Some("geo-pin") => {
                let problem = "cannot be geo-pin: jobs without a region would go nowhere";
                return Err(invalid("default_strategy", problem.into()));
            }
            Some(name) => Strategy::parse(name).ok_or_else(|| {
                let known: Vec<&str> = Strategy::ALL.into_iter().map(Strategy::as_str).collect();
                invalid("default_strategy", format!("must be one of: {}", known.join(", ")))
            })?,
        };
        Ok(Policy {
            default_strategy,
            order: self.active_passive.clone(),
            geography: self.geography.clone(),
            failover: Failover {
                enabled: self.failover.enabled,
                max_redirects: self.failover.max_redirects,
                exclude: self.failover.exclude_regions.clone(),
                prefer: self.failover.prefer_regions.clone(),
            },
            full_for: Duration::from_secs(self.full_for_seconds),
            breaker: BreakerSettings {
                failures: self.circuit_breaker.failure_threshold,
                cooldown: Duration::from_secs(self.circuit_breaker.cooldown_seconds),
            },
            ..Policy::new(&self.local_region)
        })
    }

    /// One client for each region, with that region's credentials only.
    pub(super) fn clients(&self) -> Result<Vec<Client>, SettingsError> {
        self.regions.iter().map(|region| self.client(region)).collect()
    }

    fn client(&self, region: &RegionSettings) -> Result<Client, SettingsError> {
        let named = |error| SettingsError::Region { region: region.id.clone(), error };
        let credentials = region.credentials()?;
        Client::builder()
            .connect_timeout(Duration::from_secs(self.connect_timeout_seconds))
            .request_timeout(Duration::from_secs(self.request_timeout_seconds))
            .retries(Retries::none())
            .credentials(credentials)
            .build(&region.url)
            .map_err(named)
    }
}

impl RegionSettings {
    /// A region without credentials.
    #[must_use]
    pub fn new(id: &str, url: &str) -> Self {
        Self {
            id: id.to_owned(),
            url: url.to_owned(),
            weight: one(),
            tags: Vec::new(),
            queues: Vec::new(),
            priority: one(),
            health_interval_seconds: None,
            token_env: None,
            token_file: None,
            ca_file: None,
            client_cert: None,
            client_key: None,
        }
    }

    pub(super) fn credentials(&self) -> Result<Credentials, SettingsError> {
        let named = |error| SettingsError::Region { region: self.id.clone(), error };
        let unusable = |reason: String| named(crate::Error::BadCredentials { reason });
        let token = match (&self.token_env, &self.token_file) {
            (Some(_), Some(_)) => {
                return Err(unusable("token_env and token_file exclude each other".to_owned()));
            }
            (Some(name), None) => Some(
                std::env::var(name)
                    .map_err(|_| unusable(format!("the environment variable {name} is not set")))?,
            ),
            (None, Some(path)) => Some(std::fs::read_to_string(path).map_err(|cause| {
                unusable(format!("{} cannot be read: {cause}", path.display()))
            })?),
            (None, None) => None,
        };
        let mut credentials = Credentials::new();
        if let Some(token) = token {
            credentials = credentials.token(&token).map_err(named)?;
        }
        if let Some(path) = &self.ca_file {
            credentials = credentials.ca_file(path);
        }
        match (&self.client_cert, &self.client_key) {
            (Some(certificate), Some(key)) => Ok(credentials.certificate(certificate, key)),
            (None, None) => Ok(credentials),
            _ => Err(unusable("client_cert and client_key belong together".to_owned())),
        }
    }
}

fn check_seconds(setting: &'static str, seconds: u64) -> Result<(), SettingsError> {
    match (1..=LONGEST_SECONDS).contains(&seconds) {
        true => Ok(()),
        false => Err(invalid(setting, format!("must be 1 to {LONGEST_SECONDS}"))),
    }
}

pub(super) fn invalid(setting: &'static str, problem: String) -> SettingsError {
    SettingsError::Invalid { setting, problem }
}

pub(super) fn malformed(origin: &str, reason: String) -> SettingsError {
    SettingsError::Malformed { origin: origin.to_owned(), reason }
}
