//! Writing mutations. Each begins with its code.

use rota_model::audit::AuditRow;
use rota_model::usage::UsageRow;
use rota_model::{DeadRow, Live};

use super::output::Output;
use crate::{Backoff, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Ready, Undo};

/// The codes of the mutations, shared with `read_mutation`.
pub(super) mod code {
    pub const CLASS: u8 = 1;
    pub const DROP_CLASS: u8 = 2;
    pub const COUNTS: u8 = 3;
    pub const INSERT_READY: u8 = 4;
    pub const INSERT: u8 = 5;
    pub const CLAIM: u8 = 6;
    pub const EXTEND: u8 = 7;
    pub const REQUEST_CANCEL: u8 = 8;
    pub const BACKOFF: u8 = 9;
    pub const POSTPONE: u8 = 10;
    pub const READY: u8 = 11;
    pub const FINISH: u8 = 12;
    pub const BURY: u8 = 13;
    pub const REVIVE: u8 = 14;
    pub const REWRITE: u8 = 15;
    pub const REPLAYED: u8 = 16;
    pub const DELETE: u8 = 17;
    pub const PURGED: u8 = 18;
    pub const ERROR: u8 = 19;
    pub const PUT: u8 = 20;
    pub const REMOVE: u8 = 21;
    pub const HISTORY: u8 = 22;
    pub const FORGET_HISTORY: u8 = 23;
    pub const FORGET_HISTORY_OF: u8 = 24;
    pub const ADD_USAGE: u8 = 25;
    pub const FORGET_USAGE: u8 = 26;
    pub const FORGET_TENANT_USAGE: u8 = 27;
    pub const JOURNAL: u8 = 28;
    pub const TRIM_JOURNAL: u8 = 29;
    pub const AUDIT: u8 = 30;
    pub const TRIM_AUDIT: u8 = 31;
}

pub(super) fn write(mutation: &Mutation, out: &mut Output<'_>) {
    match mutation {
        Mutation::Class(id, class) => {
            out.byte(code::CLASS);
            out.unsigned(id.0.into());
            out.bytes(&serde_json::to_vec(&**class).expect("a class can be written as JSON"));
        }
        Mutation::DropClass(id) => {
            out.byte(code::DROP_CLASS);
            out.unsigned(id.0.into());
        }
        Mutation::Counts(id, counts) => {
            out.byte(code::COUNTS);
            out.unsigned(id.0.into());
            let Counts(counts) = counts;
            counts.iter().for_each(|count| out.unsigned(*count));
        }
        Mutation::Insert(new, live) => insert(new, live, out),
        Mutation::Claim(claim) => write_claim(claim, out),
        Mutation::Extend { seq, due, reserved_ms } => {
            out.byte(code::EXTEND);
            out.unsigned(seq.0);
            out.time(*due);
            out.unsigned(*reserved_ms);
        }
        Mutation::RequestCancel(seq) => {
            out.byte(code::REQUEST_CANCEL);
            out.unsigned(seq.0);
        }
        Mutation::Backoff(Backoff { seq, due, undo }) => {
            out.byte(code::BACKOFF);
            out.unsigned(seq.0);
            out.time(*due);
            write_undo(*undo, out);
        }
        Mutation::Postpone { seq, due } => {
            out.byte(code::POSTPONE);
            out.unsigned(seq.0);
            out.time(*due);
        }
        Mutation::Ready(Ready { seq, enqueued, undo, held }) => {
            out.byte(code::READY);
            out.unsigned(seq.0);
            out.time(*enqueued);
            write_undo(*undo, out);
            out.flag(*held);
        }
        Mutation::Finish(Finish { seq, ending, at, purge_at, result }) => {
            out.byte(code::FINISH);
            out.unsigned(seq.0);
            out.byte(ending.code());
            out.time(*at);
            out.optional_time(*purge_at);
            out.optional(result.as_deref(), Output::bytes);
        }
        Mutation::Bury(seq, dead) => {
            out.byte(code::BURY);
            out.unsigned(seq.0);
            write_dead(dead, out);
        }
        Mutation::Revive { seq, enqueued } => {
            out.byte(code::REVIVE);
            out.unsigned(seq.0);
            out.time(*enqueued);
        }
        Mutation::Rewrite(rewrite) => {
            out.byte(code::REWRITE);
            out.unsigned(rewrite.seq.0);
            out.unsigned(rewrite.class.0.into());
            out.bytes(&rewrite.body);
        }
        Mutation::Replayed(seq, json) => {
            out.byte(code::REPLAYED);
            out.unsigned(seq.0);
            out.bytes(json);
        }
        Mutation::Delete(seq) => {
            out.byte(code::DELETE);
            out.unsigned(seq.0);
        }
        Mutation::Purged(through) => {
            out.byte(code::PURGED);
            out.time(*through);
        }
        Mutation::Error(error) => {
            out.byte(code::ERROR);
            out.unsigned(error.seq.0);
            out.unsigned(error.attempt.into());
            out.bytes(&error.json);
        }
        Mutation::Put(kind, name, json) => {
            out.byte(code::PUT);
            out.byte(kind.code());
            out.text(name);
            out.bytes(json);
        }
        Mutation::Remove(kind, name) => {
            out.byte(code::REMOVE);
            out.byte(kind.code());
            out.text(name);
        }
        Mutation::History(HistoryRow { period, at, queue, data }) => {
            out.byte(code::HISTORY);
            out.byte(period.code());
            out.time(*at);
            out.text(queue);
            out.bytes(data);
        }
        Mutation::ForgetHistory { period, before, most } => {
            out.byte(code::FORGET_HISTORY);
            out.byte(period.code());
            out.time(*before);
            out.unsigned((*most).into());
        }
        Mutation::ForgetHistoryOf(queue) => {
            out.byte(code::FORGET_HISTORY_OF);
            out.text(queue);
        }
        Mutation::AddUsage(row) => write_usage(row, out),
        Mutation::ForgetUsage { per, before, most } => {
            out.byte(code::FORGET_USAGE);
            out.byte(per.code());
            out.time(*before);
            out.unsigned((*most).into());
        }
        Mutation::ForgetTenantUsage(tenant) => {
            out.byte(code::FORGET_TENANT_USAGE);
            out.text(tenant);
        }
        Mutation::Journal(data) => {
            out.byte(code::JOURNAL);
            out.bytes(data);
        }
        Mutation::TrimJournal(before) => {
            out.byte(code::TRIM_JOURNAL);
            out.unsigned(*before);
        }
        Mutation::Audit(row) => write_audit(row, out),
        Mutation::TrimAudit(through) => {
            out.byte(code::TRIM_AUDIT);
            out.unsigned(*through);
        }
    }
}

/// Most jobs are inserted as available, with defaults for everything else.
fn insert(new: &NewRow, live: &Live, out: &mut Output<'_>) {
    let NewRow { seq, id, given, class, created, body } = new;
    let is_ready = *live == Live::ready(*seq, *class, live.enqueued, live.bytes);
    out.byte(if is_ready { code::INSERT_READY } else { code::INSERT });
    out.unsigned(seq.0);
    out.0.extend_from_slice(&id.to_bytes());
    out.flag(*given);
    out.unsigned(class.0.into());
    out.time(*created);
    out.bytes(body);
    // Rarely different from the values above, and then by little.
    out.signed(live.enqueued.0.wrapping_sub(created.0));
    out.signed(i64::from(live.bytes) - body.len() as i64);
    if is_ready {
        return;
    }
    let Live {
        seq: _,
        class: live_class,
        state,
        attempt,
        enqueued: _,
        due,
        started,
        expires,
        worker,
        pool,
        reserved_ms,
        marked,
        bytes: _,
        pauses,
    } = live;
    out.unsigned(live_class.0.into());
    out.byte(state.code());
    out.unsigned((*attempt).into());
    out.optional_time(*due);
    out.optional_time(*started);
    out.optional_time(*expires);
    out.optional_text(worker.as_deref());
    out.optional_text(pool.as_deref());
    out.unsigned(*reserved_ms);
    out.flag(*marked);
    out.unsigned((*pauses).into());
}

fn write_claim(claim: &Claim, out: &mut Output<'_>) {
    let Claim { seq, attempt, started, due, reserved_ms, worker, pool } = claim;
    out.byte(code::CLAIM);
    out.unsigned(seq.0);
    out.unsigned((*attempt).into());
    out.time(*started);
    out.time(*due);
    out.unsigned(*reserved_ms);
    out.optional_text(worker.as_deref());
    out.optional_text(pool.as_deref());
}

fn write_undo(undo: Option<Undo>, out: &mut Output<'_>) {
    out.optional(undo, |out, Undo { attempt, pauses }| {
        out.unsigned(attempt.into());
        out.unsigned(pauses.into());
    });
}

fn write_dead(dead: &DeadRow, out: &mut Output<'_>) {
    let DeadRow { shard, error, other, replay_at } = dead;
    out.unsigned(shard.0.into());
    out.text(error);
    out.flag(*other);
    out.optional_time(*replay_at);
}

fn write_usage(row: &UsageRow, out: &mut Output<'_>) {
    let UsageRow { tenant, at, usage } = row;
    out.byte(code::ADD_USAGE);
    out.text(tenant);
    out.time(*at);
    out.unsigned(usage.enqueued);
    out.unsigned(usage.bytes);
    out.signed(usage.started);
    out.unsigned(usage.completed);
    out.unsigned(usage.failed);
    out.unsigned(usage.run_ms);
    out.unsigned(usage.discarded);
}

fn write_audit(row: &AuditRow, out: &mut Output<'_>) {
    let AuditRow { number, at, tenant, json, hash } = row;
    out.byte(code::AUDIT);
    out.unsigned(*number);
    out.time(*at);
    out.optional_text(tenant.as_deref());
    out.bytes(json);
    out.0.extend_from_slice(hash.as_bytes());
}
