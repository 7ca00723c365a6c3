//! How a batch is written to the log: compact binary, and readable by later versions.
//!
//! Numbers are variable-length integers of seven bits a byte; signed ones are zigzag-encoded. Codes of mutations,
//! states, endings and kinds are never reused.

mod read;
mod read_mutation;
mod write;
mod write_mutation;

use bytes::Bytes;
use rota_model::{Millis, Seq};

use crate::Batch;
use read::Input;
use write::Output;

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

/// Appends a batch to `out`.
pub fn encode(batch: &Batch, out: &mut Vec<u8>) {
    let mut out = Output(out);
    out.byte(FORMAT);
    out.unsigned(batch.number);
    out.signed(batch.now.0);
    out.unsigned(batch.next_seq.0);
    out.unsigned(batch.mutations.len() as u64);
    for mutation in &batch.mutations {
        write_mutation::write(mutation, &mut out);
    }
}

/// Reads what [`encode`] wrote. Bodies and other long members share the memory of `bytes`.
pub fn decode(bytes: Bytes) -> Result<Batch, DecodeError> {
    let mut input = Input(bytes);
    match input.byte()? {
        FORMAT => {}
        format if format > FORMAT => return Err(DecodeError::Newer(format)),
        _ => return Err(DecodeError::Malformed("unknown format")),
    }
    let number = input.unsigned()?;
    let now = Millis(input.signed()?);
    let next_seq = Seq(input.unsigned()?);
    let count = input.unsigned()?;
    // Every mutation takes at least two bytes, which bounds what is allocated for a damaged count.
    let mut mutations = Vec::with_capacity(count.min(input.0.len() as u64 / 2) as usize);
    for _ in 0..count {
        mutations.push(read_mutation::read(&mut input)?);
    }
    if !input.0.is_empty() {
        return Err(DecodeError::Malformed("there are bytes behind the last change"));
    }
    Ok(Batch { number, now, next_seq, mutations })
}

#[cfg(test)]
mod tests;
