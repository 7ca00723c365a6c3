//! Changing or removing a single setting.

use serde::Serialize;

/// A change of a field: to a value, or to none. Fields that do not change are omitted from the request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Setting<T> {
    /// Set it to this.
    To(T),
    /// Remove it, so that the default applies.
    Unset,
}
