//! Checking a database for damage, both to SQLite's structures and to Rota's data.
//!
//! Everything is read in one snapshot, so a server can write meanwhile.

mod audit_log;
mod cursor;
mod damage;
mod dead_letter;
mod jobs;
mod other_tables;
mod pages;
mod purge_list;
mod sqlite;
mod stored_bytes;
mod zone_lookup;

pub use audit_log::{AuditLog, verify_audit_log};
pub use damage::{Damage, Rule};

use rota_model::State;
use rota_store::Counts;

use crate::Snapshot;
use crate::internal_error::InternalError;
use damage::Damages;
use other_tables::Classes;

/// How thoroughly SQLite's structures are checked. Rota's data is always checked completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Reads every page.
    Quick,
    /// Also compares every index with its table.
    Full,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub census: Census,
    pub damages: Vec<Damage>,
}

/// Number of jobs by state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    live: [u64; State::ALL.len()],
    finished: Counts,
}

impl Census {
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.live[usize::from(state.code())] + self.finished.of_state(state)
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        State::ALL.into_iter().map(|state| self.of(state)).sum()
    }
}

impl Report {
    /// The damage that makes the file unreadable, if there is any.
    pub fn broken(&self) -> Option<Vec<Damage>> {
        let broken: Vec<_> = self.damages.iter().filter(|d| d.rule.is_broken()).cloned().collect();
        (!broken.is_empty()).then_some(broken)
    }
}

/// Checks a database.
#[must_use]
pub fn check(snapshot: &Snapshot, depth: Depth) -> Report {
    let mut damages = Damages::default();
    let pages = pages::check(snapshot, &mut damages);
    damages.record_error(pages);
    // An unreadable page ends only the part of the check that reads it.
    let structure = sqlite::check(snapshot.conn(), depth, &mut damages);
    damages.record_error(structure);
    let census = check_jobs(snapshot, &mut damages);
    let census = damages.record_error(census).unwrap_or_default();
    let other_tables = other_tables::check(snapshot, &mut damages);
    damages.record_error(other_tables);
    let dead_letter = dead_letter::check(snapshot, &mut damages);
    damages.record_error(dead_letter);
    let audit_log = audit_log::check(snapshot, &mut damages);
    damages.record_error(audit_log);
    let stored_bytes = stored_bytes::check(snapshot, &mut damages);
    damages.record_error(stored_bytes);
    Report { census, damages: damages.into() }
}

fn check_jobs(snapshot: &Snapshot, damages: &mut Damages) -> Result<Census, InternalError> {
    let classes = Classes::read(snapshot.conn(), damages)?;
    jobs::check(snapshot, &classes, damages)
}
