//! How strictly a case is followed.

/// Lenient leaves out what the public runner leaves out; strict checks every word of a case, and a
/// word it does not know fails the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Lenient,
    Strict,
}

impl Mode {
    pub fn is_strict(self) -> bool {
        self == Mode::Strict
    }

    /// How far a number may be from `~1000`, as a part of that number. The public runner allows
    /// half.
    pub fn approximation(self) -> f64 {
        match self {
            Mode::Lenient => 0.5,
            Mode::Strict => 0.2,
        }
    }
}
