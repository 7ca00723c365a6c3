//! "Did you mean ...?"

use rota_model::nearest as closest;

use crate::declaration::{Declaration, declarations};
use crate::named::Table;

/// The setting that a misspelled name was probably meant for. `name` has no `ROTA_` or `--`.
pub(crate) fn nearest(name: &str) -> Option<&'static Declaration> {
    without_group(name).or_else(|| {
        let key = closest(name, declarations().iter().map(|declaration| declaration.key))?;
        Declaration::find(key)
    })
}

/// The named table that a misspelled name was probably meant for.
pub(crate) fn nearest_table(name: &str) -> Option<Table> {
    closest(name, Table::ALL.map(Table::key)).and_then(Table::find)
}

/// `job_bytes` for `limits.job_bytes`, if only one group has it.
fn without_group(name: &str) -> Option<&'static Declaration> {
    let ending = format!("_{}", normalized(name));
    let mut matches =
        declarations().iter().filter(|declaration| normalized(declaration.key).ends_with(&ending));
    let only = matches.next()?;
    matches.next().is_none().then_some(only)
}

/// Keys, variables and flags in one spelling.
fn normalized(name: &str) -> String {
    name.to_lowercase().replace(['.', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_for(name: &str) -> Option<&'static str> {
        nearest(name).map(|declaration| declaration.key)
    }

    #[test]
    fn a_near_miss_finds_its_key() {
        assert_eq!(key_for("lisen"), Some("listen"));
        assert_eq!(key_for("listne"), Some("listen"));
        assert_eq!(key_for("retenton.complete"), Some("retention.completed"));
        assert_eq!(key_for("LIMITS_JSON_DEPHT"), Some("limits.json_depth"));
        assert_eq!(key_for("limits-batchjobs"), Some("limits.batch_jobs"));
    }

    #[test]
    fn a_name_without_its_group_finds_it_if_only_one_group_fits() {
        assert_eq!(key_for("job_bytes"), Some("limits.job_bytes"));
        assert_eq!(key_for("batch"), None, "engine.batch or retention.batch?");
    }

    #[test]
    fn an_unrelated_name_finds_nothing() {
        assert_eq!(key_for("colour"), None);
        assert_eq!(key_for(""), None);
        assert_eq!(key_for("postgres.connection_string"), None);
    }
}
