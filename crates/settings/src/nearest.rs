use crate::declaration::{Declaration, declarations};
use crate::named::Table;

/// The setting that a mistyped name was probably meant for. `name` comes without `ROTA_` or `--`.
pub(crate) fn nearest(name: &str) -> Option<&'static Declaration> {
    let name = plain(name);
    without_its_group(&name).or_else(|| mistyped(&name))
}

/// `job_bytes` for `limits.job_bytes`, when only one group has it.
fn without_its_group(name: &str) -> Option<&'static Declaration> {
    let ending = format!("_{name}");
    let mut found =
        declarations().iter().filter(|declaration| plain(declaration.key).ends_with(&ending));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// The table with named entries that a mistyped name of one was probably meant for.
pub(crate) fn nearest_table(name: &str) -> Option<Table> {
    closest(name, Table::ALL.map(Table::key)).and_then(Table::called)
}

/// Which of these names a mistyped one was probably meant for.
pub(crate) fn closest(
    name: &str,
    names: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    let name = plain(name);
    let most = (name.chars().count() / 3).clamp(1, 4);
    names
        .into_iter()
        .map(|known| (distance(&name, &plain(known)), known))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn mistyped(name: &str) -> Option<&'static Declaration> {
    let key = closest(name, declarations().iter().map(|declaration| declaration.key))?;
    declarations().iter().find(|declaration| declaration.key == key)
}

/// Keys, variables and flags in one spelling, so that they can be compared.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['.', '-'], "_")
}

/// Levenshtein distance, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
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
    fn a_name_without_its_group_finds_it_when_only_one_group_fits() {
        assert_eq!(key_for("job_bytes"), Some("limits.job_bytes"));
        assert_eq!(key_for("batch"), None, "engine.batch or retention.batch?");
    }

    #[test]
    fn a_strange_name_finds_nothing() {
        assert_eq!(key_for("colour"), None);
        assert_eq!(key_for(""), None);
        assert_eq!(key_for("postgres.connection_string"), None);
    }

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
