mod auth;
mod declarations;
mod documentation;
mod files;
mod named;
mod named_problems;
mod orders;
mod precedence;
mod tenancy;
mod transport;
mod unknown;
mod waiting;

use std::path::Path;

use crate::{Settings, SettingsError};

/// What a test gives: flags, variables, and the text of `rota.toml`.
#[derive(Default)]
struct Sources<'text> {
    flags: &'text [(&'text str, &'text str)],
    environment: &'text [(&'text str, &'text str)],
    file: Option<&'text str>,
}

impl Sources<'_> {
    fn resolve(&self) -> Result<Settings, SettingsError> {
        let file = self.file.map(|text| (Path::new("rota.toml"), text.to_owned()));
        let flags: Vec<_> = owned(self.flags).collect();
        Settings::resolve(&flags, owned(self.environment), file)
    }

    /// One line for each problem.
    fn problems(&self) -> Vec<String> {
        let error = self.resolve().expect_err("these settings are wrong");
        error.problems.iter().map(ToString::to_string).collect()
    }
}

fn owned(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}
