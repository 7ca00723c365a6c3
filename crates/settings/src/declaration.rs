//! A declared setting and its names in file, environment and flags.

use std::sync::LazyLock;

use crate::declared;
use crate::kind::Kind;

/// A declared setting with all of its names.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Dotted path in the file: `retention.completed`.
    pub key: &'static str,
    /// `ROTA_RETENTION_COMPLETED`.
    pub environment: String,
    /// `--retention-completed`.
    pub flag: String,
    pub default: &'static str,
    pub help: &'static str,
    /// The accepted values in a few words: `a whole number from 1 to 1000`.
    pub accepts: String,
    /// The same with examples, for error messages.
    pub expected: String,
    pub(crate) text_only: bool,
    pub(crate) list: bool,
}

/// All settings, in order of declaration.
pub fn declarations() -> &'static [Declaration] {
    static ALL: LazyLock<Vec<Declaration>> = LazyLock::new(declared::declare_all);
    &ALL
}

impl Declaration {
    pub(crate) fn new<T: 'static>(
        key: &'static str,
        kind: &Kind<T>,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            key,
            environment: environment_name(key),
            flag: flag_name(key),
            default,
            help,
            accepts: kind.accepts.clone(),
            expected: kind.expected(),
            text_only: kind.text_only,
            list: kind.list,
        }
    }

    pub(crate) fn find(key: &str) -> Option<&'static Self> {
        declarations().iter().find(|declaration| declaration.key == key)
    }
}

/// Whether settings have keys that start with `name` and a dot.
pub(crate) fn is_group(name: &str) -> bool {
    let mut groups =
        declarations().iter().filter_map(|declaration| declaration.key.split_once('.'));
    groups.any(|(group, _)| group == name)
}

pub(crate) fn environment_name(key: &str) -> String {
    format!("ROTA_{}", key.to_uppercase().replace(['.', '-'], "_"))
}

pub(crate) fn flag_name(key: &str) -> String {
    format!("--{}", key.replace(['.', '_'], "-"))
}
