use std::fmt::Display;
use std::str::FromStr;

use rota_identity::CertificateRule;
use rota_model::limit::parse_declaration;
use rota_model::name::NameError;
use rota_model::{
    DeclaredLimit, LimitKey, PoolConfig, PoolName, Rejection, ReplayRule, RuleName, TenantConfig,
    TenantId,
};
use serde_json::{Map, Value};

/// The configuration of something that has a name.
pub(super) trait NamedConfig: Sized {
    type Name: Ord + Display + FromStr<Err = NameError>;

    const NOUN: &'static str;
    /// The field that has the name when entries are in an array.
    const NAME_FIELD: &'static str;
    const FIELDS: &'static [&'static str];

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection>;
}

impl NamedConfig for TenantConfig {
    type Name = TenantId;

    const NOUN: &'static str = "tenant";
    const NAME_FIELD: &'static str = "tenant_id";
    const FIELDS: &'static [&'static str] = TenantConfig::FIELDS;

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        let mut config = Self::default();
        config.merge(members)?;
        Ok(config)
    }
}

impl NamedConfig for PoolConfig {
    type Name = PoolName;

    const NOUN: &'static str = "pool";
    const NAME_FIELD: &'static str = "name";
    const FIELDS: &'static [&'static str] = PoolConfig::FIELDS;

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        PoolConfig::parse(members)
    }
}

impl NamedConfig for DeclaredLimit {
    type Name = LimitKey;

    const NOUN: &'static str = "rate limit";
    const NAME_FIELD: &'static str = "key";
    const FIELDS: &'static [&'static str] =
        &["concurrency", "rate", "period", "max_per_second", "throttle", "feedback", "reason"];

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        parse_declaration(members, PARENT)
    }
}

impl NamedConfig for ReplayRule {
    type Name = RuleName;

    const NOUN: &'static str = "replay rule";
    const NAME_FIELD: &'static str = "name";
    const FIELDS: &'static [&'static str] = ReplayRule::FIELDS;

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        ReplayRule::parse(members, "")
    }
}

impl NamedConfig for CertificateRule {
    type Name = RuleName;

    const NOUN: &'static str = "certificate";
    const NAME_FIELD: &'static str = "name";
    const FIELDS: &'static [&'static str] = CertificateRule::FIELDS;

    fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        CertificateRule::parse(members)
    }
}

/// The model's name for the parent of a limit's fields.
const PARENT: &str = "rate_limit";

/// The path of the rejected field below its entry, and what is wrong with it.
pub(super) fn field_and_problem(rejection: &Rejection) -> (String, &str) {
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
        of("rate_limits", DeclaredLimit::FIELDS),
        of("replay_rules", ReplayRule::FIELDS),
        of("certificates", CertificateRule::FIELDS),
        of("tenant_fairness", &super::fairness::FIELDS),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_known<T: NamedConfig>(members: Value) -> bool {
        let parsed = T::parse(members.as_object().unwrap());
        parsed.err().is_none_or(|rejection| !rejection.message.contains("is not a member"))
    }

    #[test]
    fn the_model_knows_every_field() {
        for field in TenantConfig::FIELDS {
            assert!(is_known::<TenantConfig>(json!({*field: null})), "{field}");
        }
        for field in PoolConfig::FIELDS {
            assert!(is_known::<PoolConfig>(json!({*field: null})), "{field}");
        }
        for field in ReplayRule::FIELDS {
            assert!(is_known::<ReplayRule>(json!({*field: null})), "{field}");
        }
        assert!(!is_known::<ReplayRule>(json!({"colour": null})));
        assert!(!is_known::<TenantConfig>(json!({"colour": null})));
        assert!(!is_known::<PoolConfig>(json!({"colour": null})));
    }

    #[test]
    fn a_rejected_field_is_named_from_its_entry() {
        let members = json!({"rate": {"limit": 1}});
        let members = members.as_object().unwrap();
        let rejection = <DeclaredLimit as NamedConfig>::parse(members).unwrap_err();
        assert_eq!(field_and_problem(&rejection), ("rate.period".to_owned(), "is required"));
    }
}
