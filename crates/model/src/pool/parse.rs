//! Reading pools and strategies.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{FairnessScope, PoolConfig, QueueStrategy, Starvation};
use crate::tenant::weight;
use crate::{QueueName, Rejection, Weight, duration};

const MOST_QUEUES: usize = 1_000;
const KNOWN: [&str; 8] = [
    "name",
    "queues",
    "concurrency",
    "strategy",
    "weights",
    "isolated",
    "starvation_prevention",
    "fairness_scope",
];

impl PoolConfig {
    /// Reads the members of a pool; `queues` may be a list or a map of `name -> {weight}`.
    pub fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        if let Some(unknown) = members.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(Rejection::value(unknown.clone(), "is not a field of a pool")
                .hint("Known are queues, concurrency, strategy, weights, isolated, starvation_prevention and fairness_scope."));
        }
        let (queues, mut weights) = queues(members.get("queues"))?;
        weights.extend(members.get("weights").map_or(Ok(BTreeMap::new()), parse_weights)?);
        if let Some(stranger) = weights.keys().find(|name| !queues.contains(name)) {
            let problem = format!("names '{stranger}', which is not a queue of the pool");
            return Err(Rejection::value("weights", problem));
        }
        let starvation = match members.get("starvation_prevention") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Starvation::parse(value)?),
        };
        if starvation.is_some_and(|rule| rule.promises_too_much(queues.len())) {
            let problem = format!("times {} queues is more than 1", queues.len());
            return Err(Rejection::value("starvation_prevention.min_dispatch_ratio", problem));
        }
        let given = members.get("strategy").map(|value| parse_strategy(value, "strategy"));
        Ok(Self {
            queues,
            concurrency: match members.get("concurrency") {
                None | Some(Value::Null) => None,
                Some(value) => Some(whole(value, "concurrency")?),
            },
            strategy: given.transpose()?.unwrap_or(QueueStrategy::RoundRobin),
            weights,
            isolated: match members.get("isolated") {
                None | Some(Value::Null) => false,
                Some(value) => value
                    .as_bool()
                    .ok_or_else(|| Rejection::field("isolated", "must be true or false"))?,
            },
            starvation,
            fairness_scope: match members.get("fairness_scope") {
                None | Some(Value::Null) => None,
                Some(value) => Some(parse_scope(value)?),
            },
        })
    }
}

impl Starvation {
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
                    let field = format!("starvation_prevention.{name}");
                    return Err(Rejection::value(field, "is not known"));
                }
            }
        }
        Ok(rule)
    }
}

/// The word for a strategy.
pub fn parse_strategy(value: &Value, field: &'static str) -> Result<QueueStrategy, Rejection> {
    let found = QueueStrategy::ALL.into_iter().find(|s| value.as_str() == Some(s.as_str()));
    found.ok_or_else(|| {
        Rejection::value(field, "must be one of strict, round-robin, weighted and least-loaded")
    })
}

fn parse_scope(value: &Value) -> Result<FairnessScope, Rejection> {
    let all = [FairnessScope::Queue, FairnessScope::Pool];
    let found = all.into_iter().find(|scope| value.as_str() == Some(scope.as_str()));
    found.ok_or_else(|| Rejection::value("fairness_scope", "must be queue or pool"))
}

/// Weights by queue.
pub fn parse_weights(value: &Value) -> Result<BTreeMap<QueueName, Weight>, Rejection> {
    let Value::Object(members) = value else {
        return Err(Rejection::field("weights", "must be an object of queue names and numbers"));
    };
    let one = |(name, value): (&String, &Value)| {
        Ok((queue(name, "weights")?, weight(value, &format!("weights.{name}"))?))
    };
    members.iter().map(one).collect()
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
    if names.is_empty() || names.len() > MOST_QUEUES || sorted.len() != names.len() {
        let problem = format!("must be 1 to {MOST_QUEUES} different names");
        return Err(Rejection::value("queues", problem));
    }
    Ok((names, weights))
}

/// What a map says about one of its queues: nothing, or its weight.
fn weight_in(about: &Value, queue: &QueueName) -> Result<Option<Weight>, Rejection> {
    let members = match about {
        Value::Null => return Ok(None),
        Value::Object(members) => members,
        _ => {
            let field = format!("queues.{queue}");
            return Err(Rejection::value(field, "must be an object such as {\"weight\": 70}"));
        }
    };
    if let Some(unknown) = members.keys().find(|name| *name != "weight") {
        let field = format!("queues.{queue}.{unknown}");
        return Err(Rejection::value(field, "is not known: a queue of a pool has a weight"));
    }
    let given = members.get("weight").filter(|value| !value.is_null());
    given.map(|value| weight(value, &format!("queues.{queue}.weight"))).transpose()
}

fn queue(text: &str, field: &'static str) -> Result<QueueName, Rejection> {
    QueueName::parse(text).map_err(|e| Rejection::field(field, format!("'{text}' {e}")))
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
    fn both_shapes_of_queues_are_read() {
        let list = read(json!({"queues": ["a", "b"], "strategy": "weighted", "weights": {"a": 3}}));
        let list = list.unwrap();
        assert_eq!((list.queues.len(), list.strategy), (2, QueueStrategy::Weighted));
        let map = read(json!({"queues": {"a": {"weight": 70}, "b": {"weight": 30}}})).unwrap();
        assert_eq!(map.weights.values().map(|w| w.value()).collect::<Vec<_>>(), [70.0, 30.0]);
        assert_eq!(map.strategy, QueueStrategy::RoundRobin);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
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
