//! Reading mutations.

use std::sync::Arc;

use rota_model::audit::{AuditHash, AuditRow};
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{Class, DeadRow, DeadShardId, Ending, ErrorRow, JobId, Live, State};

use super::DecodeError;
use super::input::Input;
use super::write_mutation::code;
use crate::{
    Backoff, Claim, Counts, Finish, HistoryRow, Mutation, NewRow, Period, Ready, Rewrite, RowKind,
    Undo,
};

pub(super) fn read(input: &mut Input) -> Result<Mutation, DecodeError> {
    Ok(match input.byte()? {
        code::CLASS => Mutation::Class(input.class()?, read_class(input)?),
        code::DROP_CLASS => Mutation::DropClass(input.class()?),
        code::COUNTS => Mutation::Counts(input.class()?, read_counts(input)?),
        code::INSERT_READY => insert(input, true)?,
        code::INSERT => insert(input, false)?,
        code::CLAIM => Mutation::Claim(read_claim(input)?),
        code::EXTEND => Mutation::Extend {
            seq: input.seq()?,
            due: input.time()?,
            reserved_ms: input.unsigned()?,
        },
        code::REQUEST_CANCEL => Mutation::RequestCancel(input.seq()?),
        code::BACKOFF => Mutation::Backoff(Backoff {
            seq: input.seq()?,
            due: input.time()?,
            undo: read_undo(input)?,
        }),
        code::POSTPONE => Mutation::Postpone { seq: input.seq()?, due: input.time()? },
        code::READY => Mutation::Ready(Ready {
            seq: input.seq()?,
            enqueued: input.time()?,
            undo: read_undo(input)?,
            held: input.flag()?,
        }),
        code::FINISH => Mutation::Finish(Finish {
            seq: input.seq()?,
            ending: read_ending(input)?,
            at: input.time()?,
            purge_at: input.optional_time()?,
            result: input.optional(Input::bytes)?,
        }),
        code::BURY => Mutation::Bury(input.seq()?, Box::new(read_dead(input)?)),
        code::REVIVE => Mutation::Revive { seq: input.seq()?, enqueued: input.time()? },
        code::REWRITE => Mutation::Rewrite(Box::new(Rewrite {
            seq: input.seq()?,
            class: input.class()?,
            body: input.bytes()?,
        })),
        code::REPLAYED => Mutation::Replayed(input.seq()?, input.bytes()?),
        code::DELETE => Mutation::Delete(input.seq()?),
        code::PURGED => Mutation::Purged(input.time()?),
        code::ERROR => Mutation::Error(ErrorRow {
            seq: input.seq()?,
            attempt: input.unsigned_32()?,
            json: input.bytes()?,
        }),
        code::PUT => Mutation::Put(read_kind(input)?, input.text()?, input.bytes()?),
        code::REMOVE => Mutation::Remove(read_kind(input)?, input.text()?),
        code::HISTORY => Mutation::History(HistoryRow {
            period: read_period(input)?,
            at: input.time()?,
            queue: input.text()?,
            data: input.bytes()?,
        }),
        code::FORGET_HISTORY => Mutation::ForgetHistory {
            period: read_period(input)?,
            before: input.time()?,
            most: input.unsigned_32()?,
        },
        code::FORGET_HISTORY_OF => Mutation::ForgetHistoryOf(input.text()?),
        code::ADD_USAGE => Mutation::AddUsage(read_usage(input)?),
        code::FORGET_USAGE => Mutation::ForgetUsage {
            per: read_usage_period(input)?,
            before: input.time()?,
            most: input.unsigned_32()?,
        },
        code::FORGET_TENANT_USAGE => Mutation::ForgetTenantUsage(input.name()?),
        code::JOURNAL => Mutation::Journal(input.bytes()?),
        code::TRIM_JOURNAL => Mutation::TrimJournal(input.unsigned()?),
        code::AUDIT => Mutation::Audit(Box::new(read_audit(input)?)),
        code::TRIM_AUDIT => Mutation::TrimAudit(input.unsigned()?),
        _ => return Err(DecodeError::Malformed("unknown kind of change")),
    })
}

fn read_class(input: &mut Input) -> Result<Arc<Class>, DecodeError> {
    let json = input.bytes()?;
    let class = serde_json::from_slice(&json);
    class.map(Arc::new).map_err(|_| DecodeError::Malformed("a class is not valid"))
}

fn read_counts(input: &mut Input) -> Result<Counts, DecodeError> {
    let mut counts = Counts::default();
    for count in &mut counts.0 {
        *count = input.unsigned()?;
    }
    Ok(counts)
}

fn insert(input: &mut Input, is_ready: bool) -> Result<Mutation, DecodeError> {
    let new = NewRow {
        seq: input.seq()?,
        id: JobId::from_bytes(input.array()?),
        given: input.flag()?,
        class: input.class()?,
        created: input.time()?,
        body: input.bytes()?,
    };
    let enqueued = rota_model::Millis(new.created.0.wrapping_add(input.signed()?));
    let bytes = (new.body.len() as i64).saturating_add(input.signed()?);
    let bytes = u32::try_from(bytes).map_err(|_| DecodeError::Malformed("a size is not valid"))?;
    let mut live = Live::ready(new.seq, new.class, enqueued, bytes);
    if !is_ready {
        live.class = input.class()?;
        live.state = State::from_code(input.byte()?)
            .filter(|state| !state.is_terminal())
            .ok_or(DecodeError::Malformed("a state is not one of an unfinished job"))?;
        live.attempt = input.unsigned_32()?;
        live.due = input.optional_time()?;
        live.started = input.optional_time()?;
        live.expires = input.optional_time()?;
        live.worker = input.optional(Input::name)?;
        live.pool = input.optional(Input::name)?;
        live.reserved_ms = input.unsigned()?;
        live.marked = input.flag()?;
        live.pauses = input.unsigned_32()?;
    }
    Ok(Mutation::Insert(new, Box::new(live)))
}

fn read_claim(input: &mut Input) -> Result<Claim, DecodeError> {
    Ok(Claim {
        seq: input.seq()?,
        attempt: input.unsigned_32()?,
        started: input.time()?,
        due: input.time()?,
        reserved_ms: input.unsigned()?,
        worker: input.optional(Input::name)?,
        pool: input.optional(Input::name)?,
    })
}

fn read_undo(input: &mut Input) -> Result<Option<Undo>, DecodeError> {
    input.optional(|input| Ok(Undo { attempt: input.unsigned_32()?, pauses: input.unsigned_32()? }))
}

fn read_ending(input: &mut Input) -> Result<Ending, DecodeError> {
    Ending::from_code(input.byte()?).ok_or(DecodeError::Malformed("unknown ending"))
}

fn read_kind(input: &mut Input) -> Result<RowKind, DecodeError> {
    RowKind::from_code(input.byte()?).ok_or(DecodeError::Malformed("unknown kind of row"))
}

fn read_period(input: &mut Input) -> Result<Period, DecodeError> {
    let code = input.byte()?;
    let period = [Period::Minute, Period::Hour].into_iter().find(|period| period.code() == code);
    period.ok_or(DecodeError::Malformed("unknown period of statistics"))
}

fn read_usage_period(input: &mut Input) -> Result<UsagePer, DecodeError> {
    let code = input.byte()?;
    let per = UsagePer::ALL.into_iter().find(|per| per.code() == code);
    per.ok_or(DecodeError::Malformed("unknown period of usage"))
}

fn read_dead(input: &mut Input) -> Result<DeadRow, DecodeError> {
    Ok(DeadRow {
        shard: DeadShardId(input.unsigned_32()?),
        error: input.text()?,
        other: input.flag()?,
        replay_at: input.optional_time()?,
    })
}

fn read_usage(input: &mut Input) -> Result<UsageRow, DecodeError> {
    Ok(UsageRow {
        tenant: input.name()?,
        at: input.time()?,
        usage: Usage {
            enqueued: input.unsigned()?,
            bytes: input.unsigned()?,
            started: input.signed()?,
            completed: input.unsigned()?,
            failed: input.unsigned()?,
            run_ms: input.unsigned()?,
            discarded: input.unsigned()?,
        },
    })
}

fn read_audit(input: &mut Input) -> Result<AuditRow, DecodeError> {
    Ok(AuditRow {
        number: input.unsigned()?,
        at: input.time()?,
        tenant: input.optional(Input::name)?,
        json: input.bytes()?,
        hash: AuditHash::from_bytes(&input.array::<32>()?)
            .map_err(|_| DecodeError::Malformed("a hash is not valid"))?,
    })
}
