//! Runs the public Open Job Spec conformance cases against a server over HTTP.
//!
//! The cases are JSON files that stay where they are: [`run`] reads them from the folder in
//! [`Options::suites`]. A case is a list of steps, each a request with what its answer must look
//! like. [`Mode::Lenient`] leaves out what the public runner leaves out; [`Mode::Strict`] checks
//! everything and fails a case that it does not fully understand.

mod action;
mod assertion;
mod case;
mod context;
mod error;
mod exchange;
mod http;
mod known;
mod matcher;
mod mode;
mod options;
mod path;
mod port;
mod progress;
mod report;
mod runner;
mod schedule;
mod server_process;
mod suite;
mod template;

pub use assertion::Problem;
pub use error::Error;
pub use mode::Mode;
pub use options::{Options, Target};
pub use report::{CaseReport, Report, StepFailure, Verdict};
pub use schedule::run;
