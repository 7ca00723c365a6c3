//! The settings in force as rows, for `rota config`.

use serde::Serialize;

use crate::declaration::declarations;
use crate::declared::Settings;
use crate::given::{Given, Origin};

/// One line of `rota config`: a setting, the text of its value and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub default: &'static str,
    pub help: &'static str,
}

impl Settings {
    /// All settings in order of declaration, then the entries of named tables.
    pub fn table(&self) -> Vec<Row> {
        self.rows.clone()
    }
}

/// `given` is in order of precedence: the last value for a key wins.
pub(crate) fn rows(given: &[Given]) -> Vec<Row> {
    let chosen = |key| given.iter().rfind(|given| given.key == key);
    declarations()
        .iter()
        .filter_map(|declaration| {
            let chosen = chosen(declaration.key)?;
            Some(Row {
                key: declaration.key.to_owned(),
                value: chosen.value.clone(),
                origin: chosen.origin.clone(),
                default: declaration.default,
                help: declaration.help,
            })
        })
        .collect()
}
