//! Parsing the settings of a dead letter, as a queue's configuration has them.

use serde_json::{Map, Value};

use super::{DeadLetterSettings, PruningPolicy, ReplayFilter, ReplayRule};
use crate::{Millis, QueueName, Rejection, RuleName, TenantId, duration, json};

const MAX_RULES: usize = 32;
const MAX_AGE_MS: u64 = 36_600 * 86_400_000;
const MAX_COUNT: u64 = 1_000_000_000;
const MAX_REPLAYS: u64 = 1_000_000;

impl DeadLetterSettings {
    /// Parses the object `dead_letter`: `retention`, `pruning_policy` and `replay_rules`.
    pub fn parse(value: &Value) -> Result<Self, Rejection> {
        let members = object(value, "dead_letter")?;
        let mut settings = Self::default();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match name.as_str() {
                "retention" => settings.parse_retention(value)?,
                "pruning_policy" => settings.pruning = Some(pruning(value)?),
                "replay_rules" => settings.replay_rules = rules(value)?,
                _ => {
                    let known = ["retention", "pruning_policy", "replay_rules"];
                    return Err(unknown("dead_letter", name, &known));
                }
            }
        }
        Ok(settings)
    }

    fn parse_retention(&mut self, value: &Value) -> Result<(), Rejection> {
        let within = "dead_letter.retention";
        for (name, value) in object(value, within)?.iter().filter(|(_, value)| !value.is_null()) {
            let field = format!("{within}.{name}");
            match name.as_str() {
                "max_age" => self.max_age_ms = Some(period(value, field, 0..=MAX_AGE_MS)?),
                "max_count" => self.max_count = Some(whole(value, field, 0..=MAX_COUNT)?),
                _ => return Err(unknown(within, name, &["max_age", "max_count"])),
            }
        }
        Ok(())
    }
}

impl ReplayRule {
    /// The members of a rule, besides `name`.
    pub const FIELDS: &'static [&'static str] = &["filter", "delay", "max_replays", "enabled"];

    /// Parses the members of a rule. `within` is the prefix of their names in messages.
    pub fn parse(members: &Map<String, Value>, within: &str) -> Result<Self, Rejection> {
        let field = |name: &str| format!("{within}{name}");
        let is_known = |name: &str| name == "name" || Self::FIELDS.contains(&name);
        if let Some(name) = members.keys().find(|name| !is_known(name)) {
            return Err(Rejection::value(field(name), "is not a member of a replay rule")
                .hint("Known are name, filter, delay, max_replays and enabled."));
        }
        let given = |name: &str| members.get(name).filter(|value| !value.is_null());
        let required =
            |name: &str| given(name).ok_or_else(|| Rejection::field(field(name), "is required"));
        Ok(Self {
            filter: match given("filter") {
                None => ReplayFilter::default(),
                Some(value) => ReplayFilter::parse(value, &field("filter"))?,
            },
            delay_ms: period(required("delay")?, field("delay"), 0..=MAX_AGE_MS)?,
            max_replays: whole(required("max_replays")?, field("max_replays"), 1..=MAX_REPLAYS)?
                as u32,
            enabled: match given("enabled") {
                None => true,
                Some(value) => value
                    .as_bool()
                    .ok_or_else(|| Rejection::field(field("enabled"), "must be true or false"))?,
            },
        })
    }
}

impl ReplayFilter {
    const FIELDS: &'static [&'static str] =
        &["queue", "type", "error_type", "tenant_id", "tenant", "since", "until"];

    fn parse(value: &Value, within: &str) -> Result<Self, Rejection> {
        let mut filter = Self::default();
        let members = object(value, within)?;
        if let Some(name) = members.keys().find(|name| !Self::FIELDS.contains(&name.as_str())) {
            return Err(unknown(within, name, Self::FIELDS));
        }
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let field = format!("{within}.{name}");
            let text = value
                .as_str()
                .ok_or_else(|| Rejection::field(field.clone(), "must be a string"))?;
            let time = || {
                Millis::parse_rfc3339(text)
                    .map_err(|error| Rejection::field(field.clone(), error.to_string()))
            };
            let invalid =
                |error: crate::name::NameError| Rejection::field(field.clone(), error.to_string());
            match name.as_str() {
                "queue" => filter.queue = Some(QueueName::parse(text).map_err(invalid)?),
                "type" => filter.kind = Some(text.into()),
                "error_type" => filter.error_type = Some(text.into()),
                "tenant_id" | "tenant" => {
                    filter.tenant = Some(TenantId::parse(text).map_err(invalid)?);
                }
                "since" => filter.since = Some(time()?),
                _ => filter.until = Some(time()?),
            }
        }
        Ok(filter)
    }
}

fn rules(value: &Value) -> Result<Vec<(RuleName, ReplayRule)>, Rejection> {
    let field = "dead_letter.replay_rules";
    let items = value.as_array().ok_or_else(|| Rejection::field(field, "must be a list"))?;
    if items.len() > MAX_RULES {
        let problem = format!("has {} rules; at most {MAX_RULES} are accepted", items.len());
        return Err(Rejection::value(field, problem));
    }
    let mut rules: Vec<(RuleName, ReplayRule)> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let within = format!("{field}[{index}]");
        let members = object(item, &within)?;
        let name = members.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| {
            Rejection::field(format!("{within}.name"), "is required and must be a string")
        })?;
        let name = RuleName::parse(name)
            .map_err(|error| Rejection::field(format!("{within}.name"), error.to_string()))?;
        if rules.iter().any(|(other, _)| *other == name) {
            let problem = format!("is '{name}', like that of an earlier rule");
            return Err(Rejection::value(format!("{within}.name"), problem));
        }
        rules.push((name, ReplayRule::parse(members, &format!("{within}."))?));
    }
    Ok(rules)
}

fn pruning(value: &Value) -> Result<PruningPolicy, Rejection> {
    let found = PruningPolicy::ALL.into_iter().find(|it| value.as_str() == Some(it.as_str()));
    found.ok_or_else(|| Rejection::value("dead_letter.pruning_policy", "must be delete or archive"))
}

fn object<'a>(value: &'a Value, field: &str) -> Result<&'a Map<String, Value>, Rejection> {
    value.as_object().ok_or_else(|| Rejection::field(field.to_owned(), "must be an object"))
}

fn period(
    value: &Value,
    field: String,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, Rejection> {
    let expected = "must be an ISO 8601 duration such as \"P180D\"";
    let Some(text) = value.as_str() else { return Err(Rejection::field(field, expected)) };
    let ms = duration::parse_any(text)
        .map_err(|e| Rejection::field(field.clone(), format!("is '{text}': {e}")))?;
    let ms = u64::try_from(ms).unwrap_or(0);
    if range.contains(&ms) {
        return Ok(ms);
    }
    let most = duration::format_iso8601(*range.end() as i64);
    Err(Rejection::value(field, format!("must be at most {most}")))
}

fn whole(
    value: &Value,
    field: String,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, Rejection> {
    value.as_u64().filter(|number| range.contains(number)).ok_or_else(|| {
        let (least, most) = range.into_inner();
        Rejection::value(field, format!("must be a whole number from {least} to {most}"))
    })
}

fn unknown(within: &str, name: &str, known: &[&str]) -> Rejection {
    json::unknown_member(name, known, within, &format!("'{within}'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mistakes_are_named_with_what_was_expected() {
        let rule = |filter: Value| json!([{"name": "r", "filter": filter, "delay": "PT1S", "max_replays": 1}]);
        let cases = [
            (
                json!({"retention": {"max_age": "1 day"}}),
                "'dead_letter.retention.max_age' is '1 day': ",
            ),
            (
                json!({"retention": {"max_ages": 1}}),
                "'dead_letter.retention.max_ages' is not a member of ",
            ),
            (
                json!({"replay_rules": rule(json!({"error": 1}))}),
                "'dead_letter.replay_rules[0].filter.error' is not a member of ",
            ),
            (
                json!({"replay_rules": rule(json!({"queue": 1}))}),
                "'dead_letter.replay_rules[0].filter.queue' must be a string",
            ),
        ];
        for (settings, expected) in cases {
            let message = DeadLetterSettings::parse(&settings).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
        let all = json!({"queue": "q", "type": "a.*", "error_type": "E", "tenant_id": "t",
            "since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"});
        let settings = DeadLetterSettings::parse(&json!({"replay_rules": rule(all)})).unwrap();
        let filter = &settings.replay_rules[0].1.filter;
        assert!(filter.since.is_some() && filter.since < filter.until);
    }
}
