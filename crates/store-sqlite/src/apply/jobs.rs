//! A job's life.

use rota_model::{ErrorRow, Live, Millis, Seq};
use rota_store::{Claim, ERRORS_KEPT, Finish, NewRow, Ready};

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
        ))?;
        Ok(())
    }

    pub(super) fn claim(&mut self, claim: &Claim) -> Result<(), Fault> {
        let changed = self.claim.execute((
            key(claim.seq),
            claim.attempt,
            claim.started.0,
            claim.due.0,
            claim.reserved_ms as i64,
            claim.worker.as_deref(),
        ))?;
        one(changed, "claim", claim.seq)
    }

    pub(super) fn extend(&self, seq: Seq, due: Millis, reserved_ms: u64) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET due = ?2, reserved_ms = ?3 WHERE seq = ?1",
            (key(seq), due.0, reserved_ms as i64),
        )?;
        one(changed, "extend", seq)
    }

    pub(super) fn back_off(&self, seq: Seq, due: Millis) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET state = 5, due = ?2, worker = NULL, reserved_ms = 0 WHERE seq = ?1",
            (key(seq), due.0),
        )?;
        one(changed, "back off", seq)
    }

    pub(super) fn make_ready(&self, ready: &Ready) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET state = 1, enqueued = ?2, attempt = coalesce(?3, attempt), \
             held = ?4, due = NULL, worker = NULL, reserved_ms = 0 WHERE seq = ?1",
            (key(ready.seq), ready.enqueued.0, ready.attempt, ready.held),
        )?;
        one(changed, "make ready", ready.seq)
    }

    /// Not one `INSERT ... SELECT`, for which SQLite keeps a copy of every page that it touches,
    /// in case that a later row of the same statement fails.
    pub(super) fn finish(&mut self, finish: &Finish) -> Result<(), Fault> {
        let carried = {
            let mut rows = self.carried.query([key(finish.seq)])?;
            let row = rows.next()?.ok_or_else(|| misplaced("finish", finish.seq))?;
            Carried {
                class: row.get(0)?,
                attempt: row.get(1)?,
                enqueued: row.get(2)?,
                started: row.get(3)?,
                expires: row.get(4)?,
            }
        };
        self.insert_done.execute((
            key(finish.seq),
            carried.class,
            finish.ending.code(),
            finish.at.0,
            carried.attempt,
            carried.enqueued,
            carried.started,
            carried.expires,
            when(finish.purge_at),
            finish.result.as_deref(),
        ))?;
        self.delete_live.execute([key(finish.seq)])?;
        if let Some(at) = finish.purge_at {
            self.will_purge(at, finish.seq);
        }
        Ok(())
    }

    pub(super) fn revive(&mut self, seq: Seq, enqueued: Millis) -> Result<(), Fault> {
        let changed = self.run(
            "INSERT INTO live (seq, class, state, attempt, enqueued, reserved_ms, held) \
             SELECT seq, class, 1, 0, ?2, 0, 0 FROM done WHERE seq = ?1",
            (key(seq), enqueued.0),
        )?;
        one(changed, "revive", seq)?;
        self.delete_done.execute([key(seq), key(seq)])?;
        self.delete_errors.execute([key(seq), key(seq)])?;
        Ok(())
    }

    /// So many jobs in a row. Nearly always it is retention that deletes, and they have finished.
    pub(super) fn delete(&mut self, first: Seq, count: usize) -> Result<(), Fault> {
        let range = [key(first), key(Seq(first.0 + count as u64 - 1))];
        let mut deleted = self.delete_done.execute(range)?;
        if deleted < count {
            deleted += self.run("DELETE FROM live WHERE seq BETWEEN ?1 AND ?2", range)?;
        }
        self.delete_errors.execute(range)?;
        if deleted != count || self.delete_jobs.execute(range)? != count {
            return Err(misplaced("delete", first));
        }
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

/// What a finished job keeps of its life.
struct Carried {
    class: u32,
    attempt: u32,
    enqueued: i64,
    started: Option<i64>,
    expires: Option<i64>,
}

fn one(changed: usize, what: &str, seq: Seq) -> Result<(), Fault> {
    if changed == 1 { Ok(()) } else { Err(misplaced(what, seq)) }
}

fn misplaced(what: &str, seq: Seq) -> Fault {
    Fault::Refused(format!("cannot {what} job {seq}: it is not where it should be"))
}
