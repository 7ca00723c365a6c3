//! Reading numbers, texts and optional values. Every length is checked before anything is allocated.

use std::str;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use rota_model::{ClassId, Millis, Seq};
use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::DecodeError;

/// What is left to read.
pub struct Input(pub Bytes);

impl Input {
    /// Whether everything was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An error unless everything was read.
    pub fn end(&self) -> Result<(), DecodeError> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(DecodeError::Malformed("there are bytes behind the end")),
        }
    }

    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        if self.0.is_empty() {
            return Err(DecodeError::Malformed("it ends too early"));
        }
        Ok(self.0.get_u8())
    }

    pub fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Malformed("a flag is neither 0 nor 1")),
        }
    }

    pub fn unsigned(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::Malformed("a number is longer than 64 bits"))
    }

    pub fn unsigned_32(&mut self) -> Result<u32, DecodeError> {
        let number = self.unsigned()?;
        u32::try_from(number).map_err(|_| DecodeError::Malformed("a number is longer than 32 bits"))
    }

    pub fn signed(&mut self) -> Result<i64, DecodeError> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let length = self.unsigned()?;
        if length > self.0.len() as u64 {
            return Err(DecodeError::Malformed("it ends too early"));
        }
        Ok(self.0.split_to(length as usize))
    }

    /// A fixed number of bytes without their length.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        if self.0.len() < N {
            return Err(DecodeError::Malformed("it ends too early"));
        }
        let mut array = [0; N];
        self.0.copy_to_slice(&mut array);
        Ok(array)
    }

    pub fn text(&mut self) -> Result<Arc<str>, DecodeError> {
        let bytes = self.bytes()?;
        let text =
            str::from_utf8(&bytes).map_err(|_| DecodeError::Malformed("a text is not UTF-8"))?;
        Ok(text.into())
    }

    /// A name that was valid when it was written. The rules for names may have become stricter since.
    pub fn name<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        let text = self.text()?;
        T::deserialize(StrDeserializer::<ValueError>::new(&text))
            .map_err(|_| DecodeError::Malformed("a name is not valid"))
    }

    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub fn seq(&mut self) -> Result<Seq, DecodeError> {
        Ok(Seq(self.unsigned()?))
    }

    pub fn class(&mut self) -> Result<ClassId, DecodeError> {
        Ok(ClassId(self.unsigned_32()?))
    }

    pub fn time(&mut self) -> Result<Millis, DecodeError> {
        Ok(Millis(self.signed()?))
    }

    pub fn optional_time(&mut self) -> Result<Option<Millis>, DecodeError> {
        self.optional(Self::time)
    }
}
