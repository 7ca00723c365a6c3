//! The fields of events: how each type is written and read.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytes::Bytes;
use rota_engine::{JobRef, LimitKind, Throttle};
use rota_model::{
    Class, CronName, JobId, LimitKey, Millis, PoolName, PruningPolicy, QueueName, QueueStrategy,
    RuleName, Seq, State, TenantId, WorkerId,
};
use rota_store::encoding::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Reader, Words, Writer};

pub(super) trait Field: Sized {
    fn write(&self, writer: &mut Writer<'_>);
    fn read(reader: &mut Reader) -> Result<Self, DecodeError>;
}

impl Field for u64 {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.unsigned(*self);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.unsigned()
    }
}

impl Field for u32 {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.unsigned((*self).into());
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.unsigned_32()
    }
}

impl Field for usize {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.unsigned(*self as u64);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(reader.input.unsigned()? as usize)
    }
}

impl Field for i16 {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.signed((*self).into());
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let number = reader.input.signed()?;
        Self::try_from(number).map_err(|_| DecodeError::Malformed("a number is too large"))
    }
}

impl Field for bool {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.flag(*self);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.flag()
    }
}

impl Field for Millis {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.time(*self);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.time()
    }
}

impl Field for Seq {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.unsigned(self.0);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.seq()
    }
}

impl Field for JobId {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.0.extend_from_slice(&self.to_bytes());
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self::from_bytes(reader.input.array()?))
    }
}

impl Field for State {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.byte(self.code());
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let code = reader.input.byte()?;
        Self::from_code(code).ok_or(DecodeError::Malformed("an unknown state"))
    }
}

impl Field for LimitKind {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.text(self.as_str());
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let text = reader.input.text()?;
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == &*text);
        found.ok_or(DecodeError::Malformed("an unknown kind of limit"))
    }
}

impl Field for &'static str {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.text(self);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        static WORDS: LazyLock<Mutex<Words>> = LazyLock::new(Mutex::default);
        let word = reader.input.text()?;
        Ok(WORDS.lock().unwrap_or_else(PoisonError::into_inner).keep(&word))
    }
}

impl Field for Arc<str> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.text(self);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        reader.input.text()
    }
}

impl Field for Bytes {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.bytes(self);
    }
    /// A copy, so that an event in memory does not hold its whole record.
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        Ok(Self::copy_from_slice(&reader.input.bytes()?))
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.flag(self.is_some());
        if let Some(value) = self {
            value.write(writer);
        }
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        if reader.input.flag()? { T::read(reader).map(Some) } else { Ok(None) }
    }
}

impl<T: Field> Field for Arc<[T]> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.out.unsigned(self.len() as u64);
        self.iter().for_each(|value| value.write(writer));
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let count = reader.input.unsigned()?;
        (0..count).map(|_| T::read(reader)).collect()
    }
}

/// The number of the class in this batch; where it is a new one, the class follows.
impl Field for Arc<Class> {
    fn write(&self, writer: &mut Writer<'_>) {
        let (new, address) = (writer.classes.len() as u64, Arc::as_ptr(self) as usize);
        let number = *writer.classes.entry(address).or_insert(new);
        writer.out.unsigned(number);
        if number == new {
            write_json(&**self, writer);
        }
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let number = reader.input.unsigned()? as usize;
        if number == reader.classes.len() {
            let class = read_json(reader)?;
            reader.classes.push(Arc::new(class));
        }
        let class = reader.classes.get(number).cloned();
        class.ok_or(DecodeError::Malformed("a class that was not given"))
    }
}

impl Field for JobRef {
    fn write(&self, writer: &mut Writer<'_>) {
        self.seq.write(writer);
        self.id.write(writer);
        self.class.write(writer);
    }
    fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let (seq, id) = (Seq::read(reader)?, Option::read(reader)?);
        Ok(Self { seq, id, class: Arc::read(reader)? })
    }
}

macro_rules! names {
    ($($name:ty),*) => {$(
        impl Field for $name {
            fn write(&self, writer: &mut Writer<'_>) {
                writer.out.text(self);
            }
            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                reader.input.name()
            }
        }
    )*};
}

names!(CronName, LimitKey, PoolName, QueueName, RuleName, TenantId, WorkerId);

/// Rare ones are written as JSON.
macro_rules! as_json {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn write(&self, writer: &mut Writer<'_>) {
                write_json(self, writer);
            }
            fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
                read_json(reader)
            }
        }
    )*};
}

as_json!(PruningPolicy, QueueStrategy, Throttle);

fn write_json(value: &impl Serialize, writer: &mut Writer<'_>) {
    writer.out.bytes(&serde_json::to_vec(value).expect("it can be written as JSON"));
}

fn read_json<T: DeserializeOwned>(reader: &mut Reader) -> Result<T, DecodeError> {
    let json = reader.input.bytes()?;
    serde_json::from_slice(&json).map_err(|_| DecodeError::Malformed("JSON that cannot be read"))
}
