//! How a batch is written to the log: compact binary, and readable by later versions.
//!
//! A record holds the batch and its events, which the view does not need. Only who serves them can read these.
//!
//! Numbers are variable-length integers of seven bits a byte; signed ones are zigzag-encoded. Codes of mutations,
//! states, endings and kinds are never reused.

mod input;
mod output;
mod read_mutation;
mod write_mutation;

use crate::Batch;
use bytes::Bytes;
pub use input::Input;
pub use output::Output;

/// The first byte of an encoded batch.
const FORMAT: u8 = 1;

/// The bytes are not an encoded batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer version of Rota wrote it.
    #[error("it has format {0}, which a newer version of Rota wrote")]
    Newer(u8),
    /// It ends too early, or contains something that is never written.
    #[error("it cannot be read: {0}")]
    Malformed(&'static str),
}

/// Appends a batch and its encoded events to `out`.
pub fn encode(batch: &Batch, events: &[u8], out: &mut Vec<u8>) {
    let mut out = Output(out);
    out.byte(FORMAT);
    out.unsigned(batch.number);
    out.signed(batch.now.0);
    out.unsigned(batch.next_seq.0);
    out.unsigned(batch.event_count);
    out.bytes(events);
    out.unsigned(batch.mutations.len() as u64);
    for mutation in &batch.mutations {
        write_mutation::write(mutation, &mut out);
    }
}

/// Reads what [`encode`] wrote. Bodies and other long members share the memory of `bytes`.
pub fn decode(bytes: Bytes) -> Result<Batch, DecodeError> {
    let (mut batch, _, mut input) = read_head(bytes)?;
    let count = input.unsigned()?;
    // Every mutation takes at least two bytes, which bounds what is allocated for a damaged count.
    batch.mutations.reserve(count.min(input.0.len() as u64 / 2) as usize);
    for _ in 0..count {
        batch.mutations.push(read_mutation::read(&mut input)?);
    }
    input.end()?;
    Ok(batch)
}

/// Reads only the events that [`encode`] wrote, and how many events there have been with them.
pub fn decode_events(bytes: Bytes) -> Result<(u64, Bytes), DecodeError> {
    let (batch, events, _) = read_head(bytes)?;
    Ok((batch.event_count, events))
}

/// Reads a batch without its mutations, and its events. The mutations follow.
fn read_head(bytes: Bytes) -> Result<(Batch, Bytes, Input), DecodeError> {
    let mut input = Input(bytes);
    match input.byte()? {
        FORMAT => {}
        format if format > FORMAT => return Err(DecodeError::Newer(format)),
        _ => return Err(DecodeError::Malformed("unknown format")),
    }
    let batch = Batch {
        number: input.unsigned()?,
        now: input.time()?,
        next_seq: input.seq()?,
        event_count: input.unsigned()?,
        mutations: Vec::new(),
    };
    let events = input.bytes()?;
    Ok((batch, events, input))
}

#[cfg(test)]
mod tests;
