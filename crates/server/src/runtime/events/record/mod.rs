//! How events are written into the record of their batch, from which a restart and other nodes read them.

mod fields;
mod kinds;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ahash::RandomState;
use bytes::Bytes;
use rota_engine::{Event, EventKind};
use rota_model::{Class, Millis};
use rota_store::encoding::{DecodeError, Input, Output};

use fields::Field;

/// Writes the events of one batch after another.
#[derive(Default)]
pub struct EventEncoder {
    encoded: Vec<u8>,
    /// The classes of the current batch, by address, with their numbers.
    classes: HashMap<usize, u64, RandomState>,
}

struct Writer<'a> {
    out: Output<'a>,
    classes: &'a mut HashMap<usize, u64, RandomState>,
}

struct Reader {
    input: Input,
    classes: Vec<Arc<Class>>,
}

impl EventEncoder {
    /// Events follow each other closely, so each time is written as the difference to the one before. Each class is
    /// written once.
    pub fn encode(&mut self, events: &[Event]) -> &[u8] {
        self.encoded.clear();
        self.classes.clear();
        let mut writer = Writer { out: Output(&mut self.encoded), classes: &mut self.classes };
        let mut before = Millis(0);
        for Event { at, kind } in events {
            writer.out.signed(at.0.wrapping_sub(before.0));
            kind.write(&mut writer);
            before = *at;
        }
        &self.encoded
    }
}

/// Reads what [`EventEncoder::encode`] wrote.
pub fn decode(bytes: Bytes) -> Result<Vec<Event>, DecodeError> {
    let mut reader = Reader { input: Input(bytes), classes: Vec::new() };
    let mut events = Vec::new();
    let mut before = 0_i64;
    while !reader.input.is_empty() {
        let at = before.wrapping_add(reader.input.signed()?);
        events.push(Event { at: Millis(at), kind: EventKind::read(&mut reader)? });
        before = at;
    }
    Ok(events)
}

/// Words that events have in common, such as reasons. There are a few dozen, so each is kept for good.
#[derive(Default)]
struct Words(HashSet<&'static str, RandomState>);

impl Words {
    /// No version has as many.
    const MOST: usize = 1_000;

    fn keep(&mut self, word: &str) -> &'static str {
        if let Some(kept) = self.0.get(word) {
            return kept;
        }
        if self.0.len() >= Self::MOST {
            return "other";
        }
        let kept: &'static str = Box::leak(word.into());
        self.0.insert(kept);
        kept
    }
}

#[cfg(test)]
mod tests;
