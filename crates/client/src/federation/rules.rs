//! Rules for jobs that do not choose a region themselves.

use rota_federation::{Strategy, Wishes};
use serde_json::Value;

use super::members::Members;
use super::settings::RuleSettings;

/// Applies the first rule that matches to the wishes of a job that has none of its own.
pub(super) fn apply(rules: &[RuleSettings], job: &Members, wishes: &mut Wishes) {
    if wishes.region.is_some() || wishes.strategy.is_some() {
        return;
    }
    let Some(rule) = rules.iter().find(|rule| matches(rule, job, wishes)) else { return };
    match rule.pin {
        true => wishes.region.clone_from(&rule.region),
        false => wishes.home.clone_from(&rule.region),
    }
    wishes.strategy = rule.strategy.as_deref().and_then(Strategy::parse);
}

fn matches(rule: &RuleSettings, job: &Members, wishes: &Wishes) -> bool {
    let text = |name| job.get(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let fits = |pattern: &Option<String>, value: &dyn Fn() -> Option<String>| match pattern {
        None => true,
        Some(pattern) => value().is_some_and(|value| match pattern.strip_suffix('*') {
            Some(beginning) => value.starts_with(beginning),
            None => value == *pattern,
        }),
    };
    let tagged = |tag: &str| {
        let tags =
            job.get("tags").and_then(|raw| serde_json::from_str::<Vec<Value>>(raw.get()).ok());
        tags.is_some_and(|tags| tags.iter().any(|known| known.as_str() == Some(tag)))
    };
    fits(&rule.kind, &|| text("type"))
        && fits(&rule.queue, &|| text("queue").or(Some("default".to_owned())))
        && fits(&rule.tenant, &|| wishes.tenant.clone())
        && rule.tag.as_deref().is_none_or(tagged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wished(rules: Value, job: Value, mut wishes: Wishes) -> Wishes {
        let rules: Vec<RuleSettings> = serde_json::from_value(rules).unwrap();
        let job: Members = serde_json::from_value(job).unwrap();
        apply(&rules, &job, &mut wishes);
        wishes
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rules = || {
            json!([
                {"type": "gdpr.*", "region": "eu", "pin": true},
                {"tag": "gpu", "region": "us"},
                {"queue": "default", "tenant": "acme", "strategy": "overflow"},
            ])
        };
        let of = |job: Value| wished(rules(), job, Wishes::default());
        assert_eq!(of(json!({"type": "gdpr.export"})).region.as_deref(), Some("eu"));
        assert_eq!(of(json!({"type": "a", "tags": ["x", "gpu"]})).home.as_deref(), Some("us"));
        assert_eq!(of(json!({"type": "a"})), Wishes::default());
        let acme = Wishes { tenant: Some("acme".to_owned()), ..Wishes::default() };
        let wishes = wished(rules(), json!({"type": "a"}), acme);
        assert_eq!(wishes.strategy, Some(Strategy::Overflow));
    }

    #[test]
    fn a_job_that_chooses_itself_is_left_alone() {
        let rules = json!([{"region": "eu", "pin": true}]);
        let own = Wishes { strategy: Some(Strategy::Latency), ..Wishes::default() };
        assert_eq!(wished(rules, json!({"type": "a"}), own.clone()), own);
    }
}
