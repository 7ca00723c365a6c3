//! The error type for invalid requests, with messages for the person who wrote them.

use std::borrow::Cow;

/// The kind of a rejection, which determines the HTTP status and the error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionKind {
    /// Not JSON, or not the expected JSON object.
    Malformed,
    /// A field is missing or has the wrong type or form.
    InvalidField,
    /// A field is well formed, but its value is not allowed.
    Invalid,
    /// An OJS feature that this server does not support.
    Unsupported,
    /// Larger than a limit allows.
    TooLarge,
}

/// Why a request was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Rejection {
    /// Determines the HTTP status and the error code.
    pub kind: RejectionKind,
    /// What is wrong.
    pub message: String,
    /// Path of the invalid member, such as `retry.max_attempts`.
    pub field: Option<Cow<'static, str>>,
    /// How to fix the request.
    pub hint: Option<Cow<'static, str>>,
    /// Index of the job in a batch request.
    pub index: Option<usize>,
}

impl Rejection {
    /// A rejection without field or hint.
    #[must_use]
    pub fn new(kind: RejectionKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), field: None, hint: None, index: None }
    }

    /// The text is not JSON, or not an object.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(RejectionKind::Malformed, message)
    }

    /// JSON that many parsers reject, at a path such as `args[0].to`.
    #[must_use]
    pub fn malformed_at(path: String, problem: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::Malformed, path.into(), problem.as_ref())
    }

    /// A field with the wrong type or form.
    #[must_use]
    pub fn field(field: impl Into<Cow<'static, str>>, problem: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::InvalidField, field.into(), problem.as_ref())
    }

    /// A field that is well formed, but whose value is not allowed.
    #[must_use]
    pub fn value(field: impl Into<Cow<'static, str>>, problem: impl AsRef<str>) -> Self {
        Self::about(RejectionKind::Invalid, field.into(), problem.as_ref())
    }

    /// A feature of OJS that is not supported, and therefore rejected rather than ignored.
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

    /// Adds how to fix the request.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the index of the job in a batch request.
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
