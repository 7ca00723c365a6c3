//! What can be named, and which fields it has.

use std::fmt::Display;

use rota_model::limit::parse_numbers;
use rota_model::name::NameError;
use rota_model::{LimitKey, LimitNumbers, PoolConfig, PoolName, Rejection, TenantConfig, TenantId};
use serde_json::{Map, Value};

pub(super) trait Thing: Sized {
    type Name: Ord + Display;

    /// To follow "no name of".
    const WHAT: &'static str;
    /// The member that carries the name where the thing stands in an array.
    const NAME: &'static str;
    const FIELDS: &'static [&'static str];

    fn name(text: &str) -> Result<Self::Name, NameError>;

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection>;
}

impl Thing for TenantConfig {
    type Name = TenantId;

    const WHAT: &'static str = "a tenant";
    const NAME: &'static str = "tenant_id";
    const FIELDS: &'static [&'static str] = &[
        "weight",
        "fairness_weight",
        "concurrency",
        "max_concurrency",
        "max_enqueue_rate",
        "max_queue_depth",
        "max_scheduled",
        "priority_boost",
        "max_priority",
        "quota",
        "limits",
        "reason",
    ];

    fn name(text: &str) -> Result<TenantId, NameError> {
        TenantId::parse(text)
    }

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        let mut config = Self::default();
        config.merge(members)?;
        Ok(config)
    }
}

impl Thing for PoolConfig {
    type Name = PoolName;

    const WHAT: &'static str = "a pool";
    const NAME: &'static str = "name";
    const FIELDS: &'static [&'static str] = PoolConfig::FIELDS;

    fn name(text: &str) -> Result<PoolName, NameError> {
        PoolName::parse(text)
    }

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        PoolConfig::parse(members)
    }
}

impl Thing for LimitNumbers {
    type Name = LimitKey;

    const WHAT: &'static str = "a rate limit";
    const NAME: &'static str = "key";
    const FIELDS: &'static [&'static str] =
        &["concurrency", "rate", "period", "max_per_second", "throttle", "reason"];

    fn name(text: &str) -> Result<LimitKey, NameError> {
        LimitKey::parse(text)
    }

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        parse_numbers(members, PARENT)
    }
}

/// What the model calls the parent of a limit's fields.
const PARENT: &str = "rate_limit";

/// The field that a rejection is about, as it is called inside the thing, and what is wrong with
/// it.
pub(super) fn complaint(rejection: &Rejection) -> (String, &str) {
    let field = rejection.field.as_deref().unwrap_or_default();
    let message = &rejection.message;
    let problem = message.strip_prefix(&format!("'{field}' ")).unwrap_or(message);
    let inside = field.strip_prefix(PARENT).and_then(|rest| rest.strip_prefix('.'));
    (inside.unwrap_or(field).to_owned(), problem)
}

/// Every field with its table.
#[cfg(test)]
pub(crate) fn fields() -> Vec<(&'static str, &'static str)> {
    let of = |table, fields: &[&'static str]| -> Vec<_> {
        fields.iter().map(|field| (table, *field)).collect()
    };
    [
        of("tenants", TenantConfig::FIELDS),
        of("pools", PoolConfig::FIELDS),
        of("rate_limits", LimitNumbers::FIELDS),
        of("tenant_fairness", &super::fairness::FIELDS),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The model says so of a field that it does not know.
    fn is_known<T: Thing>(members: Value) -> bool {
        let read = T::parse(members.as_object().unwrap());
        read.err().is_none_or(|rejection| !rejection.message.contains("is not a field"))
    }

    #[test]
    fn the_model_knows_every_field() {
        for field in TenantConfig::FIELDS {
            assert!(is_known::<TenantConfig>(json!({*field: null})), "{field}");
        }
        for field in PoolConfig::FIELDS {
            assert!(is_known::<PoolConfig>(json!({*field: null})), "{field}");
        }
        assert!(!is_known::<TenantConfig>(json!({"colour": null})));
        assert!(!is_known::<PoolConfig>(json!({"colour": null})));
    }

    #[test]
    fn a_complaint_is_about_the_field_inside() {
        let members = json!({"rate": {"limit": 1}});
        let rejection = <LimitNumbers as Thing>::parse(members.as_object().unwrap()).unwrap_err();
        assert_eq!(complaint(&rejection), ("rate.period".to_owned(), "is required"));
    }
}
