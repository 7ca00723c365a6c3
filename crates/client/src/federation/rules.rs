//! Rules for jobs that do not choose a region themselves.

use rota_federation::{Strategy, Wishes};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::members::Members;
use super::settings::{RuleSettings, Settings};

/// What decides about jobs that do not choose a region themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    rules: Vec<RuleSettings>,
    /// Whether regions say which queues they serve.
    maps_queues: bool,
    /// The region that counts as the local one for jobs that nothing else decides about.
    default_region: Option<String>,
}

impl Rules {
    pub fn new(settings: &Settings) -> Self {
        Self {
            rules: settings.rules.clone(),
            maps_queues: settings.regions.iter().any(|region| !region.queues.is_empty()),
            default_region: settings.default_region.clone(),
        }
    }

    /// Applies the first rule that matches; without one, the queue decides, and then the default region. What the job
    /// says itself stays.
    pub fn apply(&self, job: &Members<'_>, wishes: &mut Wishes) {
        if wishes.region.is_some() {
            return;
        }
        let rule = match wishes.strategy {
            None => self.rules.iter().find(|rule| matches(rule, job, wishes)),
            Some(_) => None,
        };
        match rule {
            Some(rule) if rule.pin => wishes.region.clone_from(&rule.region),
            Some(rule) => {
                wishes.home.clone_from(&rule.region);
                wishes.strategy = rule.strategy.as_deref().and_then(Strategy::parse);
            }
            None => {
                wishes.queue = self.maps_queues.then(|| queue(job));
                if wishes.strategy.is_none() {
                    wishes.home.clone_from(&self.default_region);
                }
            }
        }
    }
}

fn queue(job: &Members<'_>) -> String {
    option(job, "queue").unwrap_or_else(|| "default".to_owned())
}

/// An option of a job, which may be at the top level or in `options`.
fn option<T: DeserializeOwned>(job: &Members<'_>, name: &str) -> Option<T> {
    let given = |raw: &RawValue| serde_json::from_str::<Option<T>>(raw.get()).ok().flatten();
    if let Some(value) = job.get(name).and_then(given) {
        return Some(value);
    }
    let options: Members<'_> = serde_json::from_str(job.get("options")?.get()).ok()?;
    options.get(name).and_then(given)
}

fn matches(rule: &RuleSettings, job: &Members<'_>, wishes: &Wishes) -> bool {
    let text = |name| job.get(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let fits = |pattern: &Option<String>, value: &dyn Fn() -> Option<String>| match pattern {
        None => true,
        Some(pattern) => value().is_some_and(|value| match pattern.strip_suffix('*') {
            Some(beginning) => value.starts_with(beginning),
            None => value == *pattern,
        }),
    };
    let tagged = |tag: &str| {
        let tags: Option<Vec<Value>> = option(job, "tags");
        tags.is_some_and(|tags| tags.iter().any(|known| known.as_str() == Some(tag)))
    };
    fits(&rule.kind, &|| text("type"))
        && fits(&rule.queue, &|| Some(queue(job)))
        && fits(&rule.tenant, &|| wishes.tenant.clone())
        && rule.tag.as_deref().is_none_or(tagged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wished(rules: Value, job: Value, mut wishes: Wishes) -> Wishes {
        let rules: Vec<RuleSettings> = serde_json::from_value(rules).unwrap();
        let job = job.to_string();
        let job: Members<'_> = serde_json::from_str(&job).unwrap();
        let rules = Rules { rules, ..Rules::default() };
        rules.apply(&job, &mut wishes);
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
        // Options count wherever the server looks for them.
        let nested = json!({"type": "a", "options": {"tags": ["gpu"]}});
        assert_eq!(of(nested).home.as_deref(), Some("us"));
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

    #[test]
    fn without_a_rule_the_queue_decides_and_then_the_default_region() {
        let rules = Rules {
            rules: serde_json::from_value(json!([{"queue": "video", "region": "us"}])).unwrap(),
            maps_queues: true,
            default_region: Some("ap".to_owned()),
        };
        let of = |job: &str, mut wishes: Wishes| {
            rules.apply(&serde_json::from_str(job).unwrap(), &mut wishes);
            (wishes.home, wishes.queue)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of(r#"{"queue": "video"}"#, Wishes::default()), (some("us"), None));
        assert_eq!(of("{}", Wishes::default()), (some("ap"), some("default")));
        let own = Wishes { strategy: Some(Strategy::Overflow), ..Wishes::default() };
        assert_eq!(of(r#"{"queue": "video"}"#, own), (None, some("video")));
        let pinned = Wishes { region: some("eu"), ..Wishes::default() };
        assert_eq!(of("{}", pinned), (None, None));
    }
}
