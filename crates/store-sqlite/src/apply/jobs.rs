//! Claiming, finishing, reviving and deleting jobs.

use rota_model::{ClassId, ErrorRow, Millis, Seq};
use rota_store::{Claim, ERRORS_KEPT, Finish};
use rusqlite::OptionalExtension;

use super::Applier;
use crate::internal_error::InternalError;
use crate::row::{key, optional_millis};

impl Applier<'_> {
    /// Claims jobs. Runs of consecutive jobs with equal claims take one statement.
    pub(super) fn claim_all(&mut self, claims: &mut Vec<&Claim>) -> Result<(), InternalError> {
        claims.sort_by_key(|claim| claim.seq);
        for run in claims.chunk_by(|a, b| follows(a, b)) {
            let claim = run[0];
            let changed = self.claim.execute((
                key(claim.seq),
                key(run[run.len() - 1].seq),
                claim.attempt,
                claim.started.0,
                claim.due.0,
                claim.reserved_ms as i64,
                claim.worker.as_deref(),
                claim.pool.as_deref(),
            ))?;
            if changed != run.len() {
                return Err(wrong_state("claim", claim.seq));
            }
        }
        claims.clear();
        Ok(())
    }

    /// Finishes jobs. Runs of consecutive jobs are read and deleted in one statement each.
    /// `INSERT ... SELECT` would be slower than reading and inserting.
    pub(super) fn finish_all(&mut self, finishes: &mut Vec<&Finish>) -> Result<(), InternalError> {
        finishes.sort_by_key(|finish| finish.seq);
        for run in finishes.chunk_by(|a, b| a.seq.0 + 1 == b.seq.0) {
            self.finish_run(run)?;
        }
        finishes.clear();
        Ok(())
    }

    fn finish_run(&mut self, run: &[&Finish]) -> Result<(), InternalError> {
        let range = [key(run[0].seq), key(run[run.len() - 1].seq)];
        let mut rows = self.select_live.query(range)?;
        for finish in run {
            let row = rows.next()?.ok_or_else(|| wrong_state("finish", finish.seq))?;
            if row.get::<_, i64>(0)? != key(finish.seq) {
                return Err(wrong_state("finish", finish.seq));
            }
            let class = row.get(1)?;
            if let Some(result) = &finish.result {
                self.bytes.wrote(ClassId(class), result.len());
            }
            self.insert_done.execute((
                key(finish.seq),
                class,
                finish.ending.code(),
                finish.at.0,
                row.get::<_, u32>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, Option<i64>>(4)?,
                row.get::<_, Option<i64>>(5)?,
                optional_millis(finish.purge_at),
                finish.result.as_deref(),
            ))?;
        }
        drop(rows);
        self.delete_live.execute(range)?;
        for finish in run {
            if let Some(purge_at) = finish.purge_at {
                self.schedule_purge(purge_at, finish.seq);
            }
        }
        Ok(())
    }

    pub(super) fn revive(&mut self, seq: Seq, enqueued: Millis) -> Result<(), InternalError> {
        let changed = self.run(
            "INSERT INTO live (seq, class, state, attempt, enqueued, reserved_ms, held, bytes) \
             SELECT seq, done.class, 1, 0, ?2, 0, 0, length(body) FROM done JOIN jobs USING (seq) \
             WHERE seq = ?1",
            (key(seq), enqueued.0),
        )?;
        expect_one(changed, "revive", seq)?;
        self.count_removed("SELECT class, length(result) FROM done WHERE seq = ?1", seq)?;
        self.delete_done.execute([key(seq), key(seq)])?;
        self.delete_dead.execute([key(seq), key(seq)])?;
        Ok(())
    }

    /// Deletes jobs. Most deletions come from retention, so finished jobs are tried first.
    pub(super) fn delete_all(&mut self, deletions: &mut Vec<Seq>) -> Result<(), InternalError> {
        deletions.sort_unstable();
        for run in deletions.chunk_by(|a, b| a.0 + 1 == b.0) {
            let range = [key(run[0]), key(run[run.len() - 1])];
            self.count_deleted(range)?;
            let mut deleted = self.delete_done.execute(range)?;
            if deleted < run.len() {
                deleted += self.delete_live.execute(range)?;
            }
            self.delete_errors.execute(range)?;
            self.delete_dead.execute(range)?;
            self.delete_replays.execute(range)?;
            if deleted != run.len() || self.delete_jobs.execute(range)? != run.len() {
                return Err(wrong_state("delete", run[0]));
            }
        }
        self.zones.remove_jobs(self.conn, deletions)?;
        deletions.clear();
        Ok(())
    }

    fn count_deleted(&mut self, range: [i64; 2]) -> Result<(), InternalError> {
        let mut rows = self.select_sizes.query(range)?;
        while let Some(row) = rows.next()? {
            self.bytes.removed(row.get(0)?, row.get(1)?);
        }
        Ok(())
    }

    /// Counts bytes of a job that are about to be removed. The query returns its class and their number.
    pub(super) fn count_removed(&mut self, sql: &str, seq: Seq) -> Result<(), InternalError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query([key(seq)])?;
        while let Some(row) = rows.next()? {
            self.bytes.removed(row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0));
        }
        Ok(())
    }

    pub(super) fn class_of(&self, seq: Seq) -> Result<ClassId, InternalError> {
        let mut statement = self.conn.prepare_cached("SELECT class FROM jobs WHERE seq = ?1")?;
        let class = statement.query_row([key(seq)], |row| row.get(0)).optional()?;
        class.map(ClassId).ok_or_else(|| wrong_state("add to", seq))
    }

    pub(super) fn add_error(&mut self, row: &ErrorRow) -> Result<(), InternalError> {
        let class = self.class_of(row.seq)?;
        self.bytes.wrote(class, row.json.len());
        self.run(
            "INSERT INTO errors (seq, n, attempt, json) \
             SELECT ?1, coalesce(max(n), 0) + 1, ?2, ?3 FROM errors WHERE seq = ?1",
            (key(row.seq), row.attempt, &row.json[..]),
        )?;
        let mut oldest = self.conn.prepare_cached(
            "DELETE FROM errors WHERE seq = ?1 \
             AND n <= (SELECT max(n) FROM errors WHERE seq = ?1) - ?2 RETURNING length(json)",
        )?;
        let mut rows = oldest.query((key(row.seq), ERRORS_KEPT as i64))?;
        while let Some(row) = rows.next()? {
            self.bytes.removed(class.0, row.get(0)?);
        }
        Ok(())
    }
}

/// Whether the second claim equals the first, except for being of the next job.
fn follows(first: &Claim, second: &Claim) -> bool {
    let Claim { seq, attempt, started, due, reserved_ms, worker, pool } = second;
    seq.0 == first.seq.0 + 1
        && (*attempt, *started, *due) == (first.attempt, first.started, first.due)
        && (*reserved_ms, worker, pool) == (first.reserved_ms, &first.worker, &first.pool)
}

pub(super) fn expect_one(changed: usize, what: &str, seq: Seq) -> Result<(), InternalError> {
    if changed == 1 { Ok(()) } else { Err(wrong_state(what, seq)) }
}

fn wrong_state(what: &str, seq: Seq) -> InternalError {
    InternalError::Rejected(format!("cannot {what} job {seq}: it is not where it should be"))
}
