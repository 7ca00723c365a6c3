//! The properties that the fuzz targets and the tests of this crate check.

pub mod corpus;
pub mod envelope;
pub mod json_values;
pub mod mutate;
pub mod request;
pub mod requests;
