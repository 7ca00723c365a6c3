//! Closed objects: a member that is not known is an error, because it would be ignored.

use crate::{Rejection, nearest};

/// An error for the first name that is not in `known`. `within` is the path of the object, empty at the
/// top level; `what` names it in a sentence, such as "a retry policy".
pub fn check_members<'n>(
    names: impl IntoIterator<Item = &'n str>,
    known: &[&str],
    within: &str,
    what: &str,
) -> Result<(), Rejection> {
    match names.into_iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(unknown_member(name, known, within, what)),
    }
}

/// The error for a member that is not known.
#[cold]
#[must_use]
pub fn unknown_member(name: &str, known: &[&str], within: &str, what: &str) -> Rejection {
    let field = if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") };
    let members = match known {
        [] => "It has no members.".to_owned(),
        _ => format!("The members are: {}.", known.join(", ")),
    };
    let hint = match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("Did you mean '{nearest}'? {members}"),
        None => members,
    };
    Rejection::value(field, format!("is not a member of {what}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_member_the_nearest_and_the_known_ones() {
        let known = ["max_attempts", "jitter"];
        let error = check_members(["jitter", "max_attemps"], &known, "retry", "a retry policy");
        let error = error.unwrap_err();
        assert_eq!(error.field.as_deref(), Some("retry.max_attemps"));
        assert_eq!(error.message, "'retry.max_attemps' is not a member of a retry policy");
        let hint = "Did you mean 'max_attempts'? The members are: max_attempts, jitter.";
        assert_eq!(error.hint.as_deref(), Some(hint));
        assert!(check_members(["jitter"], &known, "retry", "a retry policy").is_ok());
    }
}
