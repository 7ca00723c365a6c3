//! The kinds of events with their codes and fields. A code is never reused, and a field never moved.

use rota_engine::EventKind;
use rota_store::encoding::DecodeError;

use super::fields::Field;
use super::{Reader, Writer};

/// Implements writing and reading. The compiler rejects a list that lacks a kind or a field.
macro_rules! kinds {
    ($($code:literal $kind:ident { $($field:ident),* $(,)? })*) => {
        impl Field for EventKind {
            fn write(&self, writer: &mut Writer<'_>) {
                match self {
                    $(EventKind::$kind { $($field),* } => {
                        writer.out.byte($code);
                        $($field.write(writer);)*
                    })*
                }
            }

            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                Ok(match reader.input.byte()? {
                    $($code => EventKind::$kind { $($field: Field::read(reader)?),* },)*
                    _ => return Err(DecodeError::Malformed("an event has an unknown code")),
                })
            }
        }
    };
}

kinds! {
    1 Enqueued { job, from }
    2 Scheduled { job, due, from }
    3 Started { job, attempt, worker }
    4 Completed { job, attempt, duration_ms }
    5 Failed { job, attempt, error, duration_ms }
    6 Retrying { job, attempt, next, error }
    7 Discarded { job, attempt, reason, error, from }
    8 DeadLetterAdded { job, attempt, error }
    9 DeadLetterRetried { job }
    10 DeadLetterReplayed { job, rule, count }
    11 DeadLetterDeleted { job }
    12 DeadLetterPruned { queue, tenant, count, policy }
    13 Cancelled { job, attempt, before }
    14 Deleted { job, before }
    15 Expired { job, deadline, from }
    16 PriorityChanged { job, previous }
    17 Extended { job, attempt, worker, until }
    18 WorkerStarted { worker, queues, concurrency }
    19 WorkerQuieted { worker, active }
    20 WorkerBeat { worker, active, queues }
    21 WorkerStopped { worker, reason, since }
    22 QueuePaused { queue, tenant }
    23 QueueResumed { queue, tenant }
    24 CronTriggered { cron, expression, job, scheduled_for, run_count }
    25 TenantCreated { tenant }
    26 TenantLimitExceeded { tenant, limit, current, maximum, soft }
    27 TenantThrottled { tenant, reason, throttle }
    28 TenantNoisy { tenant, reason }
    29 TenantThrottleReleased { tenant, reason }
    30 LimitExceeded { key, tenant, class, strategy, limit, current }
    31 LimitReleased { key, tenant, strategy, job }
    32 LimitDropped { key, tenant, job }
    33 LimitAdjusted { key, tenant, until, reason }
    34 QueueStarved { queue, for_ms, available }
    35 PoolOverloaded { pool, active, waiting }
    36 PoolRebalanced { pool, previous, new }
    37 QueueNearlyFull { queue, depth, bound }
    38 QueueRejected { queue, depth, bound, class }
    39 QueueDropped { queue, job }
    40 QueueCleared { queue, depth, bound }
    41 CronSkipped { cron, expression, class, reason, existing, scheduled_for }
}
