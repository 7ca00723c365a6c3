use serde::Serialize;

/// A field that is to be changed: to a value, or so that it has none. One that is not to be changed
/// is left out of the request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Setting<T> {
    /// Set it to this.
    To(T),
    /// Take it away, so that the default applies.
    Unset,
}
