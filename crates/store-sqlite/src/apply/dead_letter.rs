//! Adding jobs to the dead letter, and changing jobs that are retried.

use bytes::Bytes;
use rota_model::mutation::Rewrite;
use rota_model::{DeadRow, Seq};

use super::Applier;
use super::jobs::expect_one;
use crate::internal_error::InternalError;
use crate::row::{key, optional_millis};

impl Applier<'_> {
    pub(super) fn bury(&self, seq: Seq, dead: &DeadRow) -> Result<(), InternalError> {
        let changed = self.run(
            "INSERT INTO dead (seq, class, shard, at, error, other, replay_at) \
             SELECT seq, class, ?2, at, ?3, ?4, ?5 FROM done WHERE seq = ?1 \
             ON CONFLICT (seq) DO UPDATE SET shard = ?2, error = ?3, other = ?4, replay_at = ?5",
            (key(seq), dead.shard.0, &*dead.error, dead.other, optional_millis(dead.replay_at)),
        )?;
        expect_one(changed, "bury", seq)
    }

    /// Lists skip zones by class, so the zone of the job must name its new class.
    pub(super) fn rewrite(&mut self, rewrite: &Rewrite) -> Result<(), InternalError> {
        let (seq, class) = (key(rewrite.seq), rewrite.class.0);
        self.count_removed("SELECT class, length(body) FROM jobs WHERE seq = ?1", rewrite.seq)?;
        self.bytes.wrote(rewrite.class, rewrite.body.len());
        let changed = self.run(
            "UPDATE jobs SET class = ?2, body = ?3 WHERE seq = ?1",
            (seq, class, &rewrite.body[..]),
        )?;
        expect_one(changed, "rewrite", rewrite.seq)?;
        let changed = self.run(
            "UPDATE live SET class = ?2, bytes = ?3 WHERE seq = ?1",
            (seq, class, rewrite.body.len() as i64),
        )?;
        expect_one(changed, "rewrite", rewrite.seq)?;
        self.zones.change_class(self.conn, seq, rewrite.class)
    }

    pub(super) fn put_replays(&mut self, seq: Seq, json: &Bytes) -> Result<(), InternalError> {
        self.count_removed(
            "SELECT class, length(json) FROM replays JOIN jobs USING (seq) WHERE seq = ?1",
            seq,
        )?;
        let class = self.class_of(seq)?;
        self.bytes.wrote(class, json.len());
        self.run(
            "INSERT OR REPLACE INTO replays (seq, json) VALUES (?1, ?2)",
            (key(seq), &json[..]),
        )
        .map(drop)
    }
}
