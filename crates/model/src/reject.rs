//! Why something from outside was not accepted, in words for the person who sent it.

use std::borrow::Cow;

/// The kind decides the HTTP status and the error code; the words are for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionKind {
    /// Not JSON, or not the JSON object that was expected.
    Malformed,
    /// A field is missing or has the wrong type or form.
    InvalidField,
    /// Well formed, but it makes no sense.
    Invalid,
    /// An OJS feature that this server knows and does not serve.
    Unsupported,
    /// Larger than a limit allows.
    TooLarge,
}

/// Why a request was refused, in words for the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Rejection {
    /// Decides the HTTP status and the error code.
    pub kind: RejectionKind,
    /// A whole sentence about what is wrong.
    pub message: String,
    /// The member at fault, with dots for nested ones, such as `retry.max_attempts`.
    pub field: Option<Cow<'static, str>>,
    /// What to do about it.
    pub hint: Option<Cow<'static, str>>,
    /// Which job of a batch it was.
    pub index: Option<usize>,
}

impl Rejection {
    /// A refusal without field or hint.
    #[must_use]
    pub fn new(kind: RejectionKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), field: None, hint: None, index: None }
    }

    /// The text is not JSON, or not an object.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(RejectionKind::Malformed, message)
    }

    /// A field with the wrong type or form.
    #[must_use]
    pub fn field(field: impl Into<Cow<'static, str>>, problem: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::InvalidField, field.into(), problem.as_ref())
    }

    /// A field whose value is well formed and makes no sense.
    #[must_use]
    pub fn value(field: impl Into<Cow<'static, str>>, problem: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::Invalid, field.into(), problem.as_ref())
    }

    /// A part of OJS that is not served yet. Refused rather than ignored.
    #[must_use]
    pub fn unsupported(field: impl Into<Cow<'static, str>>, what: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::Unsupported, field.into(), what.as_ref())
            .hint("See /ojs/manifest for what this server supports.")
    }

    /// Something is larger than a limit allows.
    #[must_use]
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(RejectionKind::TooLarge, message)
    }

    /// Adds what the client can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which job of a batch is meant.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.message = format!("job at index {index}: {}", self.message);
        self.index = Some(index);
        self
    }

    fn about(kind: RejectionKind, field: Cow<'static, str>, problem: &str) -> Self {
        let mut rejection = Self::new(kind, format!("'{field}' {problem}"));
        rejection.field = Some(field);
        rejection
    }
}
