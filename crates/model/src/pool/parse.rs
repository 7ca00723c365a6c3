//! Parsing the configuration of a pool.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{PoolConfig, PoolTenants, QueueStrategy, Starvation};
use crate::tenant::weight;
use crate::{FairnessScope, QueueName, Rejection, Weight, duration, json};

const MAX_QUEUES: usize = 1_000;

impl PoolConfig {
    /// The members of a pool's configuration, besides `name`.
    pub const FIELDS: &'static [&'static str] = &[
        "queues",
        "concurrency",
        "strategy",
        "weights",
        "isolated",
        "starvation_prevention",
        "fairness_scope",
        "tenants",
        "fair",
    ];

    /// Parses the members of a pool. `queues` may be a list of names, or a map from names to
    /// `{"weight": ...}`.
    pub fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        let names = members.keys().map(String::as_str).filter(|name| *name != "name");
        json::check_members(names, Self::FIELDS, "", "a pool")?;
        let (queues, in_map) = queues(members.get("queues"))?;
        let given = |name| members.get(name).filter(|value| !value.is_null());
        let separate = given("weights").map_or(Ok(BTreeMap::new()), parse_weights)?;
        let weights = merge_weights(in_map, separate)?;
        check_named(&weights, &queues)?;
        let strategy =
            given("strategy").map(|value| parse_strategy(value, "strategy")).transpose()?;
        check_weighted(strategy, &weights)?;
        let starvation = match members.get("starvation_prevention") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Starvation::parse(value)?),
        };
        if starvation.is_some_and(|rule| rule.gives_too_much(queues.len())) {
            return Err(ratio_too_large(queues.len()));
        }
        Ok(Self {
            queues,
            concurrency: match members.get("concurrency") {
                None | Some(Value::Null) => None,
                Some(value) => Some(whole(value, "concurrency")?),
            },
            strategy: strategy.unwrap_or(match weights.is_empty() {
                true => QueueStrategy::RoundRobin,
                false => QueueStrategy::Weighted,
            }),
            weights,
            isolated: given("isolated").map_or(Ok(false), |value| flag(value, "isolated"))?,
            starvation,
            fairness_scope: match members.get("fairness_scope") {
                None | Some(Value::Null) => None,
                Some(value) => Some(parse_scope(value)?),
            },
            tenants: given("tenants").map(PoolTenants::parse).transpose()?,
            fair: fair(given("fair"), given("concurrency").is_some())?,
        })
    }
}

impl Starvation {
    /// Parses the object `starvation_prevention`. Absent members have their defaults.
    pub fn parse(value: &Value) -> Result<Self, Rejection> {
        let Value::Object(members) = value else {
            return Err(Rejection::field("starvation_prevention", "must be an object"));
        };
        let mut rule = Starvation::default();
        for (name, value) in members {
            match name.as_str() {
                "enabled" => {
                    rule.enabled = value.as_bool().ok_or_else(|| {
                        Rejection::field("starvation_prevention.enabled", "must be true or false")
                    })?;
                }
                "rotation_interval" => rule.rotation_ms = interval(value)?,
                "min_dispatch_ratio" => rule.min_ratio = Some(ratio(value)?),
                _ => {
                    let known = ["enabled", "rotation_interval", "min_dispatch_ratio"];
                    let (within, what) = ("starvation_prevention", "the starvation prevention");
                    return Err(json::unknown_member(name, &known, within, what));
                }
            }
        }
        Ok(rule)
    }
}

/// Parses the name of a strategy.
pub fn parse_strategy(value: &Value, field: &'static str) -> Result<QueueStrategy, Rejection> {
    let found = QueueStrategy::ALL.into_iter().find(|s| value.as_str() == Some(s.as_str()));
    found.ok_or_else(|| {
        Rejection::value(field, "must be one of strict, round-robin, weighted and least-loaded")
    })
}

fn fair(value: Option<&Value>, is_limited: bool) -> Result<bool, Rejection> {
    let fair = value.map_or(Ok(false), |value| flag(value, "fair"))?;
    if fair && !is_limited {
        return Err(Rejection::value(
            "fair",
            "shares the slots of 'concurrency', which is not given",
        )
        .hint("Give the pool a 'concurrency', or leave 'fair' out."));
    }
    Ok(fair)
}

fn flag(value: &Value, field: &'static str) -> Result<bool, Rejection> {
    value.as_bool().ok_or_else(|| Rejection::field(field, "must be true or false"))
}

fn parse_scope(value: &Value) -> Result<FairnessScope, Rejection> {
    let all = [FairnessScope::Queue, FairnessScope::Pool];
    let found = all.into_iter().find(|scope| value.as_str() == Some(scope.as_str()));
    found.ok_or_else(|| Rejection::value("fairness_scope", "must be queue or pool"))
}

/// Parses a map from queue names to weights.
pub fn parse_weights(value: &Value) -> Result<BTreeMap<QueueName, Weight>, Rejection> {
    let Value::Object(members) = value else {
        return Err(Rejection::field("weights", "must be an object of queue names and numbers"));
    };
    let entry = |(name, value): (&String, &Value)| {
        Ok((queue(name, "weights")?, weight(value, &format!("weights.{name}"))?))
    };
    members.iter().map(entry).collect()
}

/// Checks that all weights are for listed queues.
pub fn check_named(
    weights: &BTreeMap<QueueName, Weight>,
    queues: &[QueueName],
) -> Result<(), Rejection> {
    match weights.keys().find(|name| !queues.contains(name)) {
        None => Ok(()),
        Some(other) => {
            let problem = format!("names '{other}', which is not in 'queues'");
            let hint = format!("Add '{other}' to 'queues', or leave its weight out.");
            Err(Rejection::value("weights", problem).hint(hint))
        }
    }
}

/// Checks that weights are given only with the strategy `weighted`.
pub fn check_weighted(
    strategy: Option<QueueStrategy>,
    weights: &BTreeMap<QueueName, Weight>,
) -> Result<(), Rejection> {
    match strategy {
        Some(other) if other != QueueStrategy::Weighted && !weights.is_empty() => {
            let problem =
                format!("is '{}', but weights count only with 'weighted'", other.as_str());
            Err(Rejection::value("strategy", problem)
                .hint("Set 'strategy' to 'weighted', or leave the weights out."))
        }
        _ => Ok(()),
    }
}

/// The rejection of a dispatch ratio that exceeds 1 when multiplied by the number of queues.
#[must_use]
pub fn ratio_too_large(queues: usize) -> Rejection {
    let problem = format!("times {queues} queues is more than 1");
    let most = 1_000_000 / queues.max(1);
    let hint = format!(
        "Use at most {}, or leave it out: the default, 0.05, is lowered where it does not fit.",
        most as f64 / 1e6
    );
    Rejection::value("starvation_prevention.min_dispatch_ratio", problem).hint(hint)
}

type Queues = (Vec<QueueName>, BTreeMap<QueueName, Weight>);

fn queues(value: Option<&Value>) -> Result<Queues, Rejection> {
    let mut weights = BTreeMap::new();
    let names: Vec<QueueName> = match value {
        Some(Value::Array(names)) => {
            let text = |v: &Value| match v.as_str() {
                Some(text) => queue(text, "queues"),
                None => Err(Rejection::field("queues", "must be an array of queue names")),
            };
            names.iter().map(text).collect::<Result<_, _>>()?
        }
        Some(Value::Object(members)) => {
            let mut names = Vec::new();
            for (name, about) in members {
                let name = queue(name, "queues")?;
                if let Some(given) = weight_in(about, &name)? {
                    weights.insert(name.clone(), given);
                }
                names.push(name);
            }
            names
        }
        other => {
            let given = other.is_some_and(|value| !value.is_null());
            let wrong =
                if given { "must be an array of names, or an object" } else { "is required" };
            return Err(Rejection::field("queues", wrong)
                .hint("Send the names of the pool's queues as an array."));
        }
    };
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if names.is_empty() || names.len() > MAX_QUEUES || sorted.len() != names.len() {
        let problem = format!("must be 1 to {MAX_QUEUES} different names");
        return Err(Rejection::value("queues", problem));
    }
    Ok((names, weights))
}

/// Merges the weights in `queues` with those in `weights`. A queue in both must have equal weights.
fn merge_weights(
    mut in_map: BTreeMap<QueueName, Weight>,
    separate: BTreeMap<QueueName, Weight>,
) -> Result<BTreeMap<QueueName, Weight>, Rejection> {
    for (name, weight) in separate {
        let other = in_map.insert(name.clone(), weight).filter(|other| *other != weight);
        if let Some(other) = other {
            let problem =
                format!("is {}, but 'queues.{name}.weight' is {}", weight.value(), other.value());
            return Err(Rejection::value(format!("weights.{name}"), problem)
                .hint("Give the queue one weight, in either place."));
        }
    }
    Ok(in_map)
}

/// Parses the value of one queue in the map: null, or an object with a weight.
fn weight_in(about: &Value, queue: &QueueName) -> Result<Option<Weight>, Rejection> {
    let members = match about {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        _ => {
            let field = format!("queues.{queue}");
            return Err(Rejection::value(field, "must be an object such as {\"weight\": 70}"));
        }
    };
    let names = members.keys().map(String::as_str);
    json::check_members(names, &["weight"], &format!("queues.{queue}"), "a queue of a pool")?;
    let given = members.get("weight").filter(|value| !value.is_null());
    given.map(|value| weight(value, &format!("queues.{queue}.weight"))).transpose()
}

fn queue(text: &str, field: &'static str) -> Result<QueueName, Rejection> {
    QueueName::parse(text)
        .map_err(|e| Rejection::field(field, format!("names '{text}'; a queue's name {e}")))
}

fn interval(value: &Value) -> Result<u64, Rejection> {
    let field = "starvation_prevention.rotation_interval";
    let ms = value.as_str().and_then(|text| duration::parse_any(text).ok());
    let ms = ms.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
    ms.ok_or_else(|| Rejection::value(field, "must be a duration such as PT30S"))
}

fn ratio(value: &Value) -> Result<u32, Rejection> {
    let field = "starvation_prevention.min_dispatch_ratio";
    let ratio = value.as_f64().filter(|r| (0.0..=1.0).contains(r));
    let ratio = ratio.ok_or_else(|| Rejection::value(field, "must be a number from 0 to 1"))?;
    Ok((ratio * 1e6).round() as u32)
}

fn whole(value: &Value, field: &'static str) -> Result<u32, Rejection> {
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| {
        let problem = format!("must be a whole number from 0 to {}, not {value}", u32::MAX);
        Rejection::value(field, problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<PoolConfig, Rejection> {
        PoolConfig::parse(value.as_object().unwrap())
    }

    #[test]
    fn both_shapes_of_queues_are_parsed() {
        let list = read(json!({"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 3}}));
        let list = list.unwrap();
        assert_eq!((list.queues.len(), list.strategy), (2, QueueStrategy::Weighted));
        let map = read(json!({"queues": {"a": {"weight": 70}, "b": {"weight": 30}}})).unwrap();
        assert_eq!(map.weights.values().map(|w| w.value()).collect::<Vec<_>>(), [70.0, 30.0]);
        assert_eq!(map.strategy, QueueStrategy::Weighted, "weights alone mean that");
        let unset = read(json!({"queues": ["a"], "strategy": null, "weights": null})).unwrap();
        assert_eq!((unset.strategy, unset.weights.len()), (QueueStrategy::RoundRobin, 0));
    }

    #[test]
    fn the_fairness_scope_is_parsed() {
        let scope = |given: Value| {
            read(json!({"queues": ["a"], "fairness_scope": given})).map(|pool| pool.fairness_scope)
        };
        assert_eq!(scope(json!("queue")), Ok(Some(FairnessScope::Queue)));
        assert_eq!(scope(json!("pool")), Ok(Some(FairnessScope::Pool)));
        assert_eq!(scope(Value::Null), Ok(None));
        for bad in [json!("server"), json!(1), json!("")] {
            let rejection = scope(bad).unwrap_err();
            assert_eq!(rejection.message, "'fairness_scope' must be queue or pool");
        }
    }

    #[test]
    fn weights_must_match_queues_and_strategy() {
        let map = json!({"a": {"weight": 3}, "b": null});
        for (bad, message, hint) in [
            (
                json!({"queues": ["a"], "strategy": "weighted", "weights": {"b": 1}}),
                "'weights' names 'b', which is not in 'queues'",
                "Add 'b' to 'queues', or leave its weight out.",
            ),
            (
                json!({"queues": ["a"], "strategy": "strict", "weights": {"a": 1}}),
                "'strategy' is 'strict', but weights count only with 'weighted'",
                "Set 'strategy' to 'weighted', or leave the weights out.",
            ),
            (
                json!({"queues": map, "strategy": "round-robin"}),
                "'strategy' is 'round-robin', but weights count only with 'weighted'",
                "Set 'strategy' to 'weighted', or leave the weights out.",
            ),
            (
                json!({"queues": map, "strategy": "weighted", "weights": {"a": 2.5}}),
                "'weights.a' is 2.5, but 'queues.a.weight' is 3",
                "Give the queue one weight, in either place.",
            ),
        ] {
            let rejection = read(bad).unwrap_err();
            assert_eq!(rejection.message, message);
            assert_eq!(rejection.hint.as_deref(), Some(hint));
        }
        let agree = json!({"queues": map, "strategy": "weighted", "weights": {"a": 3, "b": 1}});
        assert_eq!(read(agree).unwrap().weights.len(), 2);
        let none = json!({"queues": ["a"], "strategy": "strict", "weights": {}});
        assert!(read(none).is_ok());
    }

    #[test]
    fn weights_are_positive() {
        for bad in [json!(0), json!(-1), json!(0.001), json!(1000.5), json!("3"), json!(null)] {
            let weights = json!({"queues": ["a"], "strategy": "weighted", "weights": {"a": bad}});
            let rejection = read(weights).unwrap_err();
            assert_eq!(rejection.field.as_deref(), Some("weights.a"));
            assert!(rejection.message.contains("must be a number from 0.01 to 1000"));
        }
    }

    #[test]
    fn a_given_ratio_must_fit_and_the_default_is_lowered() {
        let names: Vec<String> = (0..30).map(|n| format!("q{n}")).collect();
        let wide = |rule: Value| read(json!({"queues": names, "starvation_prevention": rule}));
        let rejection = wide(json!({"enabled": true, "min_dispatch_ratio": 0.05})).unwrap_err();
        assert_eq!(
            rejection.message,
            "'starvation_prevention.min_dispatch_ratio' times 30 queues is more than 1"
        );
        assert!(rejection.hint.unwrap().starts_with("Use at most 0.033333, or leave it out"));
        let lowered = wide(json!({"enabled": true})).unwrap().starvation.unwrap();
        assert_eq!((lowered.min_ratio, lowered.ratio_among(30)), (None, 33_333));
    }

    #[test]
    fn invalid_fields_are_rejected_by_name() {
        let unfair = json!({"enabled": true, "min_dispatch_ratio": 0.6});
        for (bad, field) in [
            (json!({}), "queues"),
            (json!({"queues": []}), "queues"),
            (json!({"queues": ["a", "a"]}), "queues"),
            (json!({"queues": ["a"], "weights": {"b": 1}}), "weights"),
            (json!({"queues": ["a"], "strategy": "fair"}), "strategy"),
            (
                json!({"queues": ["a", "b"], "starvation_prevention": unfair}),
                "starvation_prevention.min_dispatch_ratio",
            ),
            (json!({"queues": ["a"], "colour": 1}), "colour"),
            (json!({"queues": {"a": 70}}), "queues.a"),
            (json!({"queues": {"a": "x"}}), "queues.a"),
            (json!({"queues": {"a": [1]}}), "queues.a"),
            (json!({"queues": {"a": {"wieght": 3}}}), "queues.a.wieght"),
        ] {
            assert_eq!(read(bad).unwrap_err().field.as_deref(), Some(field));
        }
    }
}
