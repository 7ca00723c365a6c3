//! Whether a database is sound, to SQLite and to Rota.
//!
//! Everything is read inside one snapshot, so it may be done while a server writes.

mod cursor;
mod damage;
mod listed;
mod mapped;
mod rows;
mod sqlite;
mod things;

pub use damage::{Damage, Rule};

use rota_model::State;
use rota_store::Counts;

use crate::Snapshot;
use crate::fault::Fault;
use damage::Damages;
use things::Classes;

/// How closely SQLite's own structures are looked at. Rota's are always looked at as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every page is read.
    Quick,
    /// Every index is compared with its table as well.
    Full,
}

#[derive(Debug, Clone, Default)]
pub struct Report {
    pub census: Census,
    pub damages: Vec<Damage>,
}

/// The jobs that there are, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    living: [u64; State::ALL.len()],
    finished: Counts,
}

impl Census {
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.living[usize::from(state.code())] + self.finished.of_state(state)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        State::ALL.into_iter().map(|state| self.of(state)).sum()
    }
}

impl Report {
    /// Damage that keeps the file from being read as what it is.
    pub fn broken(&self) -> Option<Vec<Damage>> {
        let broken: Vec<_> = self.damages.iter().filter(|d| d.rule.is_broken()).cloned().collect();
        (!broken.is_empty()).then_some(broken)
    }
}

#[must_use]
pub fn check(snapshot: &Snapshot, depth: Depth) -> Report {
    let mut damages = Damages::default();
    // A page that cannot be read ends only the part that needs it.
    let structure = sqlite::check(snapshot.conn(), depth, &mut damages);
    damages.unless(structure);
    let census = jobs(snapshot, &mut damages);
    let census = damages.unless(census).unwrap_or_default();
    let things = things::check(snapshot, &mut damages);
    damages.unless(things);
    Report { census, damages: damages.into() }
}

fn jobs(snapshot: &Snapshot, damages: &mut Damages) -> Result<Census, Fault> {
    let classes = Classes::read(snapshot.conn(), damages)?;
    rows::check(snapshot, &classes, damages)
}
