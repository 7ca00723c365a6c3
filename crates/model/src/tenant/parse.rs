//! Parsing a tenant's configuration, complete or partial.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Quota, TenantConfig, Weight};
use crate::limit::parse_rate;
use crate::{Rejection, RequestLimits, json};

const MAX_BOOST: i64 = 1_000;
/// The largest counter that can be stored.
const MAX_COUNT: u64 = i64::MAX as u64;
/// Members of the object that are not fields of the configuration.
const OTHER_MEMBERS: [&str; 3] = ["tenant_id", "reason", "limits"];

impl TenantConfig {
    /// The members of a tenant's configuration, besides `tenant_id`.
    pub const FIELDS: &'static [&'static str] = &[
        "weight",
        "fairness_weight",
        "concurrency",
        "max_concurrency",
        "max_enqueue_rate",
        "max_queue_depth",
        "max_scheduled",
        "max_bytes",
        "priority_boost",
        "max_priority",
        "quota",
        "request_limits",
        "limits",
        "reason",
    ];

    /// Sets the given fields, at the top level and inside `limits`. Null removes a field.
    pub fn merge(&mut self, members: &Map<String, Value>) -> Result<(), Rejection> {
        let none = Map::new();
        let limits = match members.get("limits") {
            None | Some(Value::Null) => &none,
            Some(Value::Object(limits)) => limits,
            Some(_) => return Err(Rejection::field("limits", "must be an object")),
        };
        let own = members.iter().filter(|(name, _)| !OTHER_MEMBERS.contains(&name.as_str()));
        let mut given: BTreeMap<&str, &Value> = BTreeMap::new();
        for (name, value) in limits.iter().chain(own) {
            if given.insert(canonical_name(name), value).is_some_and(|other| other != value) {
                return Err(Rejection::value(
                    name.clone(),
                    "is given twice, with different values",
                )
                .hint("A field has one name at the top and one in 'limits'; send it once."));
            }
            self.set(name, value)?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Rejection> {
        match name {
            "max_concurrency" | "concurrency" => {
                let most = optional(value, |v| whole(v, name, u64::from(u32::MAX)))?;
                self.max_concurrency = most.map(|most| most as u32);
            }
            "max_queue_depth" => {
                self.max_queue_depth = optional(value, |v| whole(v, name, MAX_COUNT))?;
            }
            "max_scheduled" => {
                self.max_scheduled = optional(value, |v| whole(v, name, MAX_COUNT))?;
            }
            "max_bytes" => self.max_bytes = optional(value, |v| whole(v, name, MAX_COUNT))?,
            "max_enqueue_rate" => {
                self.max_enqueue_rate = optional(value, |v| parse_rate(v, name))?;
            }
            "fairness_weight" | "weight" => self.weight = optional(value, |v| weight(v, name))?,
            "priority_boost" => {
                let boost = optional(value, |v| within(v, name, MAX_BOOST))?;
                self.priority_boost = boost.unwrap_or(0) as i32;
            }
            "max_priority" => {
                self.max_priority = optional(value, |v| within(v, name, 100))?.map(|n| n as i16);
            }
            "quota" => self.quota = optional(value, quota)?,
            "request_limits" => match value {
                Value::Null => self.request_limits = RequestLimits::default(),
                Value::Object(members) => self.request_limits.merge(members)?,
                _ => return Err(Rejection::field("request_limits", "must be an object")),
            },
            _ => return Err(json::unknown_member(name, Self::FIELDS, "", "a tenant")),
        }
        Ok(())
    }
}

fn optional<T>(
    value: &Value,
    read: impl FnOnce(&Value) -> Result<T, Rejection>,
) -> Result<Option<T>, Rejection> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn whole(value: &Value, field: &str, most: u64) -> Result<u64, Rejection> {
    value.as_u64().filter(|number| *number <= most).ok_or_else(|| {
        let problem = format!("must be a whole number from 0 to {most}, not {value}");
        Rejection::value(field.to_owned(), problem)
    })
}

/// The canonical name of a field; some fields have two.
fn canonical_name(name: &str) -> &str {
    match name {
        "concurrency" => "max_concurrency",
        "weight" => "fairness_weight",
        other => other,
    }
}

fn within(value: &Value, field: &str, most: i64) -> Result<i64, Rejection> {
    let number = value.as_i64().filter(|n| (-most..=most).contains(n));
    number.ok_or_else(|| {
        Rejection::value(field.to_owned(), format!("must be a whole number from -{most} to {most}"))
    })
}

/// Parses a weight.
pub(crate) fn weight(value: &Value, field: &str) -> Result<Weight, Rejection> {
    let weight = value.as_f64().and_then(Weight::new);
    weight.ok_or_else(|| {
        Rejection::value(
            field.to_owned(),
            format!("must be a number from 0.01 to 1000, not {value}"),
        )
    })
}

fn quota(value: &Value) -> Result<Quota, Rejection> {
    [Quota::Hard, Quota::Soft]
        .into_iter()
        .find(|quota| value.as_str() == Some(quota.as_str()))
        .ok_or_else(|| Rejection::value("quota", "must be 'hard' or 'soft'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(value: Value) -> Result<TenantConfig, Rejection> {
        let mut config = TenantConfig { max_scheduled: Some(1), ..TenantConfig::default() };
        config.merge(value.as_object().unwrap())?;
        Ok(config)
    }

    #[test]
    fn the_object_of_the_specification_is_parsed() {
        let config = merged(json!({
            "tenant_id": "acme-corp",
            "limits": {"max_concurrency": 20, "max_enqueue_rate": {"limit": 1000, "period": "PT1M"},
                       "max_queue_depth": 50000, "max_scheduled": 10000},
            "fairness_weight": 10, "priority_boost": 0, "reason": "because",
        }));
        let config = config.unwrap();
        assert_eq!((config.max_concurrency, config.max_queue_depth), (Some(20), Some(50_000)));
        assert_eq!(config.weight.unwrap().value(), 10.0);
    }

    #[test]
    fn fields_merge_and_null_removes() {
        let config = merged(json!({"max_concurrency": 5})).unwrap();
        assert_eq!((config.max_concurrency, config.max_scheduled), (Some(5), Some(1)));
        assert_eq!(merged(json!({"max_scheduled": null})).unwrap().max_scheduled, None);
    }

    #[test]
    fn equal_values_may_be_given_twice() {
        let twice = json!({"limits": {"max_concurrency": 3}, "concurrency": 3, "weight": 2});
        assert_eq!(merged(twice).unwrap().max_concurrency, Some(3));
    }

    #[test]
    fn invalid_fields_are_rejected_by_name() {
        for (bad, field) in [
            (json!({"fairness_weight": 0}), "fairness_weight"),
            (json!({"fairness_weight": 1000.5}), "fairness_weight"),
            (json!({"max_concurrency": -1}), "max_concurrency"),
            (json!({"max_concurency": 1}), "max_concurency"),
            (json!({"priority_boost": 1001}), "priority_boost"),
            (json!({"quota": "medium"}), "quota"),
            (json!({"limits": 5}), "limits"),
            (json!({"max_queue_depth": u64::MAX}), "max_queue_depth"),
            (json!({"max_bytes": "1mb"}), "max_bytes"),
            (
                json!({"max_enqueue_rate": {"limit": 1, "period": "PT1S", "burst": 2}}),
                "max_enqueue_rate.burst",
            ),
            (json!({"limits": {"max_concurrency": 3}, "max_concurrency": 4}), "max_concurrency"),
            (json!({"concurrency": 3, "max_concurrency": 4}), "max_concurrency"),
            (json!({"fairness_weight": 3, "weight": 4}), "weight"),
        ] {
            assert_eq!(merged(bad).unwrap_err().field.as_deref(), Some(field));
        }
    }
}
