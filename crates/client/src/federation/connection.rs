//! The federated client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rota_federation::{Attempt, AttemptResult, Circuit, Federation, Moment, RegionIndex};

use super::event::Event;
use super::find::Homes;
use super::reconcile::Doubts;
use super::rules::Rules;
use super::settings::Settings;
use super::watch::Watch;
use super::{FederationError, OnAmbiguous, SettingsError};
use crate::Client;

type NamedClient = (Arc<str>, Arc<Client>);
type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;

/// A client of many regions. Cheap to clone; clones share what they know about the regions.
#[derive(Clone)]
pub struct FederatedClient {
    pub(super) shared: Arc<Shared>,
    /// Whose jobs these are, if the caller said so.
    pub(super) tenant: Option<String>,
    /// Ends the health checks with the last clone.
    _watch: Option<Arc<Watch>>,
}

pub(super) struct Shared {
    started: Instant,
    regions: Mutex<Regions>,
    pub homes: Mutex<Homes>,
    pub doubts: Mutex<Doubts>,
    on_event: OnEvent,
}

/// The regions as they are configured now, and what is known about them.
pub(super) struct Regions {
    pub settings: Arc<Settings>,
    pub federation: Federation,
    /// The names and clients, in the order of the registry.
    clients: Vec<NamedClient>,
    pub rules: Arc<Rules>,
    /// Rises when the registry changes: places of regions are valid within one version.
    pub version: u64,
}

/// A region that a request goes to.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub region: RegionIndex,
    pub id: Arc<str>,
    pub client: Arc<Client>,
    version: u64,
}

/// A request to a region that is under way. Counts as abandoned if it is dropped without a result.
pub(super) struct Sending {
    shared: Arc<Shared>,
    pub target: Target,
    attempt: Option<Attempt>,
}

impl FederatedClient {
    /// Checks the settings and begins to watch the regions. Must be called within a tokio runtime.
    pub fn connect(settings: Settings) -> Result<Self, SettingsError> {
        Self::with_events(settings, |_| ())
    }

    /// Like [`connect`](Self::connect), and reports what happens between regions.
    pub fn with_events(
        settings: Settings,
        on_event: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Self, SettingsError> {
        let shared = Arc::new(Shared::new(settings, Arc::new(on_event))?);
        let watch = Arc::new(Watch::start(shared.clone()));
        Ok(Self { shared, tenant: None, _watch: Some(watch) })
    }

    /// The same regions, on behalf of this tenant.
    pub fn with_tenant(mut self, id: &str) -> Result<Self, FederationError> {
        let local = self.shared.regions().local_client();
        local.with_tenant(id).map_err(FederationError::Job)?;
        self.tenant = Some(id.to_owned());
        Ok(self)
    }

    /// Replaces the description of the federation. What is known about regions that stay is kept. Nothing changes
    /// if the new one is wrong.
    pub fn reconfigure(&self, settings: Settings) -> Result<(), SettingsError> {
        self.shared.reconfigure(settings)
    }

    /// The description of the federation that is in force.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        self.shared.regions().settings.clone()
    }

    /// The client of one region, for calls that are not routed.
    #[must_use]
    pub fn region(&self, id: &str) -> Option<Client> {
        let regions = self.shared.regions();
        let place = regions.federation.registry().find(id)?;
        Some(self.on_behalf(&regions.clients[place.position()].1))
    }

    /// The client on behalf of this client's tenant.
    pub(super) fn on_behalf(&self, client: &Client) -> Client {
        match &self.tenant {
            // The id was checked when it was given.
            Some(id) => client.clone().with_tenant(id).unwrap_or_else(|_| client.clone()),
            None => client.clone(),
        }
    }
}

impl std::fmt::Debug for FederatedClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FederatedClient").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

impl Shared {
    fn new(settings: Settings, on_event: OnEvent) -> Result<Self, SettingsError> {
        settings.check()?;
        let federation = Federation::new(settings.registry()?, settings.policy()?)?;
        let clients = named_clients(&settings)?;
        Ok(Self {
            started: Instant::now(),
            regions: Mutex::new(Regions {
                rules: Arc::new(Rules::new(&settings)),
                settings: Arc::new(settings),
                federation,
                clients,
                version: 0,
            }),
            homes: Mutex::default(),
            doubts: Mutex::default(),
            on_event,
        })
    }

    fn reconfigure(&self, settings: Settings) -> Result<(), SettingsError> {
        settings.check()?;
        let (registry, policy) = (settings.registry()?, settings.policy()?);
        let clients = named_clients(&settings)?;
        let mut regions = self.regions();
        regions.federation.reconfigure(registry, policy)?;
        regions.rules = Arc::new(Rules::new(&settings));
        (regions.settings, regions.clients) = (Arc::new(settings), clients);
        regions.version += 1;
        Ok(())
    }

    pub fn regions(&self) -> MutexGuard<'_, Regions> {
        // Nothing panics while it holds the lock, and if it did, the state would still be usable.
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Moment {
        Moment::at(self.started.elapsed())
    }

    pub fn tell(&self, event: &Event) {
        (self.on_event)(event);
    }

    pub fn on_ambiguous(&self) -> OnAmbiguous {
        self.regions().settings.on_ambiguous
    }

    /// Begins a request that is not a new job; `None` while the region's breaker does not allow one, or if it is no
    /// longer a region.
    pub fn ask(self: &Arc<Self>, target: &Target) -> Option<Sending> {
        let now = self.now();
        let mut regions = self.regions();
        let target = regions.renewed(target)?;
        let attempt = regions.federation.ask(target.region, now)?;
        Some(Sending { shared: self.clone(), target, attempt: Some(attempt) })
    }

    pub fn sending(self: &Arc<Self>, target: Target, attempt: Attempt) -> Sending {
        Sending { shared: self.clone(), target, attempt: Some(attempt) }
    }
}

fn named_clients(settings: &Settings) -> Result<Vec<NamedClient>, SettingsError> {
    let names = settings.regions.iter().map(|region| Arc::from(region.id.as_str()));
    Ok(names.zip(settings.clients()?.into_iter().map(Arc::new)).collect())
}

impl Regions {
    pub fn target(&self, region: RegionIndex) -> Target {
        let (id, client) = &self.clients[region.position()];
        Target { region, id: id.clone(), client: client.clone(), version: self.version }
    }

    /// All regions, in the order of the registry.
    pub fn targets(&self) -> impl Iterator<Item = Target> {
        self.federation.registry().indexes().map(|place| self.target(place))
    }

    /// All regions, the local one first and then by latency.
    pub fn nearest_first(&self) -> Vec<Target> {
        let federation = &self.federation;
        let mut places: Vec<RegionIndex> = federation.registry().indexes().collect();
        let latency = |place: &RegionIndex| {
            let ms = federation.observed(*place).latency().ms().unwrap_or(f64::INFINITY);
            if *place == federation.local() { -1.0 } else { ms }
        };
        places.sort_by(|one, other| latency(one).total_cmp(&latency(other)));
        places.into_iter().map(|place| self.target(place)).collect()
    }

    pub fn find(&self, id: &str) -> Option<Target> {
        Some(self.target(self.federation.registry().find(id)?))
    }

    fn local_client(&self) -> Client {
        (*self.clients[self.federation.local().position()].1).clone()
    }

    /// The same region in the present version of the registry.
    fn renewed(&self, target: &Target) -> Option<Target> {
        match target.version == self.version {
            true => Some(target.clone()),
            false => self.find(&target.id),
        }
    }
}

impl Sending {
    /// Records what the request taught about its region.
    pub fn finish(mut self, result: AttemptResult<'_>) {
        self.record(|federation, attempt, now| federation.finish(attempt, result, now));
    }

    /// Records the result of a health check.
    pub fn checked(mut self, round_trip: Option<std::time::Duration>) {
        self.record(|federation, attempt, now| federation.checked(attempt, round_trip, now));
    }

    fn record(&mut self, change: impl FnOnce(&mut Federation, Attempt, Moment)) {
        let Some(attempt) = self.attempt.take() else { return };
        let now = self.shared.now();
        let mut regions = self.shared.regions();
        // What is known about the region may be elsewhere by now.
        if regions.version != self.target.version {
            return;
        }
        let circuit =
            |regions: &Regions| regions.federation.observed(self.target.region).circuit(now);
        let before = circuit(&regions);
        change(&mut regions.federation, attempt, now);
        let after = circuit(&regions);
        drop(regions);
        let opened_again = before == Circuit::HalfOpen && after == Circuit::Open;
        if before != after || opened_again {
            let region = self.target.id.to_string();
            self.shared.tell(&Event::CircuitChanged { region, circuit: after });
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.record(|federation, attempt, now| {
            federation.finish(attempt, AttemptResult::Abandoned, now);
        });
    }
}
