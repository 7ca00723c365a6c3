//! `rota bench`: how fast, how late, how much, measured against a baseline in the same run.
//!
//! Every answer is checked, and the server's own counts at the end: a wrong one is an error, never
//! a fast request.

mod check;
mod depth;
mod driver;
mod echo;
mod engine;
mod error;
mod http;
mod latency;
mod line;
mod load;
mod measured;
mod options;
mod process;
mod rates;
mod scheduler;
mod store;
mod tenants;

pub use depth::depth;
pub use echo::serve_echo;
pub use engine::engine;
pub use error::BenchError;
pub use latency::latency;
pub use line::{Line, Ratio};
pub use measured::Percentiles;
pub use options::{Options, Progress};
pub use rates::rates;
pub use scheduler::scheduler;
pub use store::store;
pub use tenants::tenants;
