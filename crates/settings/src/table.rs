use serde::Serialize;

use crate::declaration::declarations;
use crate::declared::Settings;
use crate::given::{Given, Origin};

/// One line of `rota config`: a setting, its value as it was written, and who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub default: &'static str,
    pub help: &'static str,
}

impl Settings {
    /// Every setting in the order of its declaration, then the entries that people named.
    pub fn table(&self) -> Vec<Row> {
        self.rows.clone()
    }
}

/// `given` runs from the weakest source to the strongest, so the last word on a key counts.
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
