//! The settings of the server, from flags, environment and file. They are declared once, in `declared.rs`;
//! keys, variables, flags, checks and documentation are generated from that table.

mod auth;
mod choices;
mod declaration;
mod declare;
mod declared;
mod environment;
mod error;
mod file;
mod flags;
mod given;
mod kind;
mod lines;
mod named;
mod nearest;
mod orders;
mod resolve;
mod table;
mod tenancy;
mod transport;
mod waiting;

#[cfg(test)]
mod tests;

pub use choices::{
    AuthMode, CancelMode, ClientAuth, ForwardedHeader, Isolation, LimitedBy, LogFormat, LogLevel,
    TenantSource,
};
pub use declaration::{Declaration, declarations};
pub use declared::{
    Auth, Cache, Engine, Events, Fairness, Http, Jobs, Limits, Log, Noisy, RequestLimits,
    Retention, Settings, Shutdown, Starvation, Storage, Tenancy, Testing, Tls, Workers,
};
pub use error::{Problem, SettingsError};
pub use given::{Given, Origin};
pub use kind::{JwksSource, Networks, Origins};
pub use table::Row;
