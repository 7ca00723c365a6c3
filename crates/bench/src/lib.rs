//! The measurements of `rota bench`: throughput, latency and memory, compared with a baseline in the same run.
//!
//! Every response is checked, and so are the server's counts at the end. A wrong response is an error,
//! never a fast request.

mod access;
mod credentials;
mod depth;
mod echo;
mod engine;
mod engine_driver;
mod error;
mod federation;
mod hostile;
mod http;
mod latency;
mod line;
mod load;
mod measurement;
mod options;
mod priority;
mod process;
mod rates;
mod routing;
mod scheduler;
mod server_counts;
mod store;
mod tenants;

pub use credentials::credentials;
pub use depth::depth;
pub use echo::serve_echo;
pub use engine::engine;
pub use error::BenchError;
pub use federation::federation;
pub use hostile::{Attack, hostile};
pub use latency::latency;
pub use line::{Line, Ratio};
pub use measurement::Percentiles;
pub use options::{Options, Progress};
pub use rates::rates;
pub use scheduler::scheduler;
pub use store::store;
pub use tenants::tenants;
