//! Jobs that a portion inserts. Their live rows are written when the portion needs them or ends, so a job that is
//! enqueued, claimed and finished within it becomes one finished row.

use std::collections::BTreeMap;

use rota_model::{Live, Seq, State};
use rota_store::{Claim, Finish, NewRow};

use super::Applier;
use crate::internal_error::InternalError;
use crate::row::{key, optional_millis};

/// Live rows that are not written yet, in the order of the table.
#[derive(Default)]
pub(super) struct NewJobs(BTreeMap<Seq, Live>);

impl NewJobs {
    pub fn add(&mut self, live: &Live) {
        self.0.insert(live.seq, live.clone());
    }

    pub fn contains(&self, seq: Seq) -> bool {
        self.0.contains_key(&seq)
    }

    /// Claims the job. Returns false if it is not one of these.
    pub fn claim(&mut self, claim: &Claim) -> bool {
        let Some(live) = self.0.get_mut(&claim.seq) else { return false };
        live.state = State::Active;
        live.attempt = claim.attempt;
        live.started = Some(claim.started);
        live.due = Some(claim.due);
        live.reserved_ms = claim.reserved_ms;
        live.worker.clone_from(&claim.worker);
        live.pool.clone_from(&claim.pool);
        true
    }

    /// Takes the job out, because it finishes.
    pub fn take(&mut self, seq: Seq) -> Option<Live> {
        self.0.remove(&seq)
    }
}

impl Applier<'_> {
    /// Writes the part of a job that never changes.
    pub(super) fn insert_job(&mut self, new: &NewRow) -> Result<(), InternalError> {
        let id = new.id.to_bytes();
        self.insert_job.execute((
            key(new.seq),
            &id[..],
            new.given,
            new.class.0,
            new.created.0,
            &new.body[..],
        ))?;
        self.bytes.wrote(new.class, new.body.len());
        self.zones.add_job(self.conn, key(new.seq), new.class)
    }

    /// Writes the rows of jobs that still live.
    pub(super) fn insert_live_rows(&mut self, jobs: &mut NewJobs) -> Result<(), InternalError> {
        for live in std::mem::take(&mut jobs.0).values() {
            if is_plain(live) {
                let row = (key(live.seq), live.class.0, live.enqueued.0, live.bytes);
                self.insert_plain.execute(row)?;
            } else {
                self.insert_live_row(live)?;
            }
        }
        Ok(())
    }

    fn insert_live_row(&mut self, live: &Live) -> Result<(), InternalError> {
        self.insert_live.execute((
            key(live.seq),
            live.class.0,
            live.state.code(),
            live.attempt,
            live.enqueued.0,
            optional_millis(live.due),
            optional_millis(live.started),
            optional_millis(live.expires),
            live.worker.as_deref(),
            live.reserved_ms as i64,
            live.marked,
            live.bytes,
            live.pauses,
            live.pool.as_deref(),
        ))?;
        Ok(())
    }

    /// Writes the finished row of a job that has no live one.
    pub(super) fn insert_finished(
        &mut self,
        live: &Live,
        finish: &Finish,
    ) -> Result<(), InternalError> {
        if let Some(result) = &finish.result {
            self.bytes.wrote(live.class, result.len());
        }
        self.insert_done.execute((
            key(finish.seq),
            live.class.0,
            finish.ending.code(),
            finish.at.0,
            live.attempt,
            live.enqueued.0,
            optional_millis(live.started),
            optional_millis(live.expires),
            optional_millis(finish.purge_at),
            finish.result.as_deref(),
        ))?;
        if let Some(purge_at) = finish.purge_at {
            self.schedule_purge(purge_at, finish.seq);
        }
        Ok(())
    }
}

/// Whether all optional columns have their defaults, as in most new jobs.
fn is_plain(live: &Live) -> bool {
    *live == Live::ready(live.seq, live.class, live.enqueued, live.bytes)
}
