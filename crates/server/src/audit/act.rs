//! An administrative act: one request that changes something, and how far it has come.

use std::sync::{Mutex, PoisonError};

use rota_engine::Audited;
use rota_model::audit::{AuditNote, AuditOutcome};

use super::Requested;

/// An act. The engine thread writes its entry with its first change.
#[derive(Debug)]
pub struct Act {
    note: AuditNote,
    requested: Requested,
    /// Whether it gets an entry of its own.
    is_own_entry: bool,
    progress: Mutex<Progress>,
}

/// What the commands of an act have done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// Whether an entry was written with a change.
    pub is_recorded: bool,
    /// Commands that changed something.
    pub commands: u32,
    /// Jobs that were changed.
    pub jobs: u64,
}

impl Act {
    pub(super) fn new(note: AuditNote, requested: Requested, is_own_entry: bool) -> Self {
        Self { note, requested, is_own_entry, progress: Mutex::default() }
    }

    /// The entry to be written with the next command; `None` if there is one already, or if the act is
    /// counted with others.
    pub(crate) fn entry(&self) -> Option<AuditNote> {
        (self.is_own_entry && !self.progress().is_recorded).then(|| self.note.clone())
    }

    /// Records what a command has done.
    pub(crate) fn applied(&self, audited: &Audited) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.is_recorded |= audited.is_recorded;
        progress.commands += u32::from(audited.has_changed);
        progress.jobs += audited.jobs;
    }

    pub(super) fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn requested(&self) -> &Requested {
        &self.requested
    }

    pub(super) fn note(&self, outcome: AuditOutcome) -> AuditNote {
        AuditNote { outcome, ..self.note.clone() }
    }
}
