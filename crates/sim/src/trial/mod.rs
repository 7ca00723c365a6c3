//! Trials: long runs with a single kind of load and an oracle with exact bounds for it. [`crate::run_seed`]
//! mixes all requests and can only check what holds for every load.

mod engine_driver;
mod hostile;
mod noise;
mod noise_model;
mod runtime;
mod shared_key;

use crate::oracle::Check;
use crate::rng::Rng;
use crate::sabotage::Sabotage;

/// All trials of one seed.
pub(crate) fn run(seed: u64, sabotage: Option<Sabotage>) -> Check {
    let mut rng = Rng::new(seed);
    runtime::run(rng.fork(), sabotage)?;
    shared_key::run(rng.fork(), sabotage)?;
    noise::run(rng.fork(), sabotage)?;
    hostile::run(rng.fork(), sabotage)
}
