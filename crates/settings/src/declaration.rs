use std::sync::LazyLock;

use crate::declared;
use crate::kind::Kind;

/// One setting as it was declared, with every name it goes by.
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
    /// The values it takes, in a few words: `a whole number from 1 to 1000`.
    pub accepts: String,
    /// The same with examples, for error messages.
    pub expected: String,
    pub(crate) text_only: bool,
    pub(crate) list: bool,
}

/// All settings, in the order of their declaration.
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
}

pub(crate) fn environment_name(key: &str) -> String {
    format!("ROTA_{}", key.to_uppercase().replace(['.', '-'], "_"))
}

pub(crate) fn flag_name(key: &str) -> String {
    format!("--{}", key.replace(['.', '_'], "-"))
}
