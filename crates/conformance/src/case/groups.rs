//! Groups the steps that run concurrently.

use std::ops::Range;

use super::Step;

/// Neighbours belong together when one of them names the other in `parallel_with`.
pub(super) fn of(steps: &[Step]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if steps[group.clone()].iter().any(|member| linked(member, step)) => {
                group.end = index + 1;
            }
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

/// A step that names one it cannot run beside would silently run alone.
pub(super) fn check(steps: &[Step]) -> Result<(), String> {
    for group in of(steps) {
        let members = &steps[group];
        for step in members {
            let Some(partner) = &step.parallel_with else {
                continue;
            };
            if !members.iter().any(|member| member.id == *partner) {
                return Err(format!("{} cannot run parallel with {partner:?}", step.id));
            }
        }
    }
    Ok(())
}

fn linked(one: &Step, other: &Step) -> bool {
    one.parallel_with.as_ref() == Some(&other.id) || other.parallel_with.as_ref() == Some(&one.id)
}

#[cfg(test)]
mod tests {
    use super::super::Case;
    use serde_json::json;

    #[test]
    fn neighbours_that_name_each_other_run_together() {
        let document = json!({"steps": [
            {"id": "a", "action": "GET"},
            {"id": "b", "action": "GET", "parallel_with": "c"},
            {"id": "c", "action": "GET", "parallel_with": "b"},
            {"id": "d", "action": "GET", "parallel_with": "b"},
            {"id": "e", "action": "GET"},
        ]});
        let case = Case::parse(&document.to_string()).unwrap();
        assert_eq!(case.groups(), [0..1, 1..4, 4..5]);
    }

    #[test]
    fn a_distant_partner_is_refused() {
        let document = json!({"steps": [
            {"id": "a", "action": "GET", "parallel_with": "c"},
            {"id": "b", "action": "GET"},
            {"id": "c", "action": "GET"},
        ]});
        assert!(Case::parse(&document.to_string()).is_err());
    }
}
