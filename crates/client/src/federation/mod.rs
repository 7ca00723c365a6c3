//! Jobs for many regions: a client that chooses the region for each job.
//!
//! ```no_run
//! use rota_client::NewJob;
//! use rota_client::federation::{FederatedClient, Settings};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::read("regions.toml")?;
//! let client = FederatedClient::connect(settings)?;
//! let enqueued = client.enqueue(&NewJob::new("email.send").arg("you@example.com")).await?;
//! println!("{} went to {}", enqueued.job.id, enqueued.region);
//!
//! // This one runs in eu-west-1 or nowhere.
//! let export = NewJob::new("user.export").meta("ojs.federation.region", "eu-west-1");
//! client.enqueue(&export).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The client watches the health of every region and goes to another one within the call when a region does not
//! answer. What decides is in the crate `rota-federation`; this module sends and listens.

mod ambiguous;
mod connection;
mod courier;
mod enqueue;
mod error;
mod event;
mod find;
mod follow;
mod health;
mod members;
mod parcel;
mod passing;
mod reconcile;
mod registry_source;
mod rules;
mod settings;
mod status;
mod verdict;
mod watch;

pub use ambiguous::OnAmbiguous;
pub use connection::FederatedClient;
pub use enqueue::Routed;
pub use error::{FederationError, SettingsError};
pub use event::Event;
pub use follow::Following;
pub use passing::Passed;
pub use registry_source::RegistrySource;
pub use rota_federation::{
    Circuit, Explanation, Failover, NoRoute, Policy, Region, RegionId, RegionIndex, Registry,
    RegistryError, Strategy, Topology, WishError, Wishes, meta,
};
pub use settings::{GatewaySettings, RegionSettings, RuleSettings, Settings};
pub use status::RegionStatus;
