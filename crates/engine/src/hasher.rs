//! The seeded hasher of the engine's tables.

use ahash::RandomState;

/// A hasher that depends on the seed alone.
///
/// `with_seeds` is the only constructor of ahash that adds no randomness of its own. A random seed
/// keeps clients from choosing keys that collide. Hashes still differ between processors with and
/// without AES instructions, so the order of a table must not decide anything.
pub(crate) fn seeded(seed: u64) -> RandomState {
    RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 0)
}
