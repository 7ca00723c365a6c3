//! Writing numbers, texts and optional values.

use rota_model::Millis;

/// Where to write.
pub struct Output<'a>(pub &'a mut Vec<u8>);

impl Output<'_> {
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn flag(&mut self, flag: bool) {
        self.byte(flag.into());
    }

    pub fn unsigned(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    pub fn signed(&mut self, number: i64) {
        self.unsigned(((number << 1) ^ (number >> 63)) as u64);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.unsigned(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub fn time(&mut self, time: Millis) {
        self.signed(time.0);
    }

    pub fn optional_time(&mut self, time: Option<Millis>) {
        self.optional(time, Self::time);
    }

    pub fn optional_text(&mut self, text: Option<&str>) {
        self.optional(text, Self::text);
    }
}
