//! Long runs of one kind of load, with an oracle that knows exactly what that load must lead to.
//! The storm of [`crate::run_seed`] asks for everything and can judge only what holds everywhere;
//! here little happens, for long, and the bounds are as narrow as they can be derived.

mod hostile;
mod noise;
mod noise_model;
mod runtime;
mod shared_key;
mod stand;

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
