//! A job's life: where it begins, is claimed and ends.

use rota_model::{ErrorRow, Live, Millis, Seq};
use rota_store::{Claim, ERRORS_KEPT, Finish, NewRow};

use super::Applier;
use crate::fault::Fault;
use crate::row::{key, when};

impl Applier<'_> {
    pub(super) fn insert(&mut self, new: &NewRow, live: &Live) -> Result<(), Fault> {
        let id = new.id.to_bytes();
        self.insert_job.execute((
            key(new.seq),
            &id[..],
            new.given,
            new.class.0,
            new.created.0,
            &new.body[..],
        ))?;
        self.zones.note(self.conn, key(new.seq), new.class)?;
        if is_plain(live) {
            self.insert_plain.execute((
                key(live.seq),
                live.class.0,
                live.enqueued.0,
                live.bytes,
            ))?;
            return Ok(());
        }
        self.insert_live.execute((
            key(live.seq),
            live.class.0,
            live.state.code(),
            live.attempt,
            live.enqueued.0,
            when(live.due),
            when(live.started),
            when(live.expires),
            live.worker.as_deref(),
            live.reserved_ms as i64,
            live.held,
            live.bytes,
            live.pauses,
            live.pool.as_deref(),
        ))?;
        Ok(())
    }

    /// Claims many jobs; those in a row that one worker took at one time and for one pool, together.
    pub(super) fn claim_all(&mut self, claims: &mut Vec<&Claim>) -> Result<(), Fault> {
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
                return Err(misplaced("claim", claim.seq));
            }
        }
        claims.clear();
        Ok(())
    }

    /// Ends many jobs, those with consecutive numbers together: they are read and deleted in one
    /// go. Not by `INSERT ... SELECT`, which costs more than reading and inserting.
    pub(super) fn finish_all(&mut self, ended: &mut Vec<&Finish>) -> Result<(), Fault> {
        ended.sort_by_key(|finish| finish.seq);
        for run in ended.chunk_by(|a, b| a.seq.0 + 1 == b.seq.0) {
            self.finish_run(run)?;
        }
        ended.clear();
        Ok(())
    }

    fn finish_run(&mut self, run: &[&Finish]) -> Result<(), Fault> {
        let range = [key(run[0].seq), key(run[run.len() - 1].seq)];
        let mut rows = self.carried.query(range)?;
        for finish in run {
            let row = rows.next()?.ok_or_else(|| misplaced("finish", finish.seq))?;
            if row.get::<_, i64>(0)? != key(finish.seq) {
                return Err(misplaced("finish", finish.seq));
            }
            self.insert_done.execute((
                key(finish.seq),
                row.get::<_, u32>(1)?,
                finish.ending.code(),
                finish.at.0,
                row.get::<_, u32>(2)?,
                row.get::<_, i64>(3)?,
                row.get::<_, Option<i64>>(4)?,
                row.get::<_, Option<i64>>(5)?,
                when(finish.purge_at),
                finish.result.as_deref(),
            ))?;
        }
        drop(rows);
        self.delete_live.execute(range)?;
        for finish in run {
            if let Some(at) = finish.purge_at {
                self.will_purge(at, finish.seq);
            }
        }
        Ok(())
    }

    pub(super) fn revive(&mut self, seq: Seq, enqueued: Millis) -> Result<(), Fault> {
        let changed = self.run(
            "INSERT INTO live (seq, class, state, attempt, enqueued, reserved_ms, held, bytes) \
             SELECT seq, done.class, 1, 0, ?2, 0, 0, length(body) FROM done JOIN jobs USING (seq) \
             WHERE seq = ?1",
            (key(seq), enqueued.0),
        )?;
        one(changed, "revive", seq)?;
        self.delete_done.execute([key(seq), key(seq)])?;
        self.delete_errors.execute([key(seq), key(seq)])?;
        Ok(())
    }

    /// Deletes many jobs. Nearly always it is retention that deletes, and they have finished.
    pub(super) fn delete_all(&mut self, deletions: &mut Vec<Seq>) -> Result<(), Fault> {
        deletions.sort_unstable();
        for run in deletions.chunk_by(|a, b| a.0 + 1 == b.0) {
            let range = [key(run[0]), key(run[run.len() - 1])];
            let mut deleted = self.delete_done.execute(range)?;
            if deleted < run.len() {
                deleted += self.delete_live.execute(range)?;
            }
            self.delete_errors.execute(range)?;
            if deleted != run.len() || self.delete_jobs.execute(range)? != run.len() {
                return Err(misplaced("delete", run[0]));
            }
        }
        self.zones.forget(self.conn, deletions)?;
        deletions.clear();
        Ok(())
    }

    pub(super) fn add_error(&self, row: &ErrorRow) -> Result<(), Fault> {
        self.run(
            "INSERT INTO errors (seq, n, attempt, json) \
             SELECT ?1, coalesce(max(n), 0) + 1, ?2, ?3 FROM errors WHERE seq = ?1",
            (key(row.seq), row.attempt, &row.json[..]),
        )?;
        self.run(
            "DELETE FROM errors WHERE seq = ?1 \
             AND n <= (SELECT max(n) FROM errors WHERE seq = ?1) - ?2",
            (key(row.seq), ERRORS_KEPT as i64),
        )
        .map(drop)
    }
}

/// As most jobs are when they are accepted.
fn is_plain(live: &Live) -> bool {
    *live == Live::ready(live.seq, live.class, live.enqueued, live.bytes)
}

/// Whether the second claim differs from the first only in that it is of the next job.
fn follows(first: &Claim, second: &Claim) -> bool {
    let Claim { seq, attempt, started, due, reserved_ms, worker, pool } = second;
    seq.0 == first.seq.0 + 1
        && (*attempt, *started, *due) == (first.attempt, first.started, first.due)
        && (*reserved_ms, worker, pool) == (first.reserved_ms, &first.worker, &first.pool)
}

pub(super) fn one(changed: usize, what: &str, seq: Seq) -> Result<(), Fault> {
    if changed == 1 { Ok(()) } else { Err(misplaced(what, seq)) }
}

fn misplaced(what: &str, seq: Seq) -> Fault {
    Fault::Refused(format!("cannot {what} job {seq}: it is not where it should be"))
}
