//! Tables whose entries have names of their own: tenants, pools, rate limits, certificates and the weights of
//! `tenant_fairness`. They come from the file or, as JSON, from a variable. Both become the JSON of a
//! request body, which the model parses.

mod collect;
mod config;
mod document;
mod entries;
mod fairness;
mod from_toml;
mod from_variable;

pub(crate) use collect::Collected;
#[cfg(test)]
pub(crate) use config::fields;
pub(crate) use document::{Document, Table};
pub(crate) use from_toml::from_file;
pub(crate) use from_variable::from_variable;
