//! The tables whose entries people name: tenants, pools and rate limits, and `tenant_fairness`,
//! which names tenants too. They stand in the file or, as JSON, in a variable; both become the JSON
//! that a request would carry, so that the model's parsers read them all.

mod collect;
mod document;
mod entries;
mod fairness;
mod from_toml;
mod from_variable;
mod things;

pub(super) use collect::Collected;
pub(super) use document::{Document, Table};
pub(super) use from_toml::documents;
pub(super) use from_variable::document;
#[cfg(test)]
pub(super) use things::fields;
