//! The tenants that an operator's pool is open to.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Rejection, TenantId};

/// The most tenants that one pool can list.
const MAX_TENANTS: usize = 1_000;

/// The tenants whose callers may use an operator's pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PoolTenants {
    /// Written `*`.
    All(AllTenants),
    /// These tenants.
    Listed(BTreeSet<TenantId>),
}

/// The text `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllTenants {
    /// The only value.
    #[serde(rename = "*")]
    All,
}

impl PoolTenants {
    /// All tenants.
    pub const ALL: Self = Self::All(AllTenants::All);

    /// No tenant; the pool is for operators' workers alone.
    #[must_use]
    pub fn nobody() -> Self {
        Self::Listed(BTreeSet::new())
    }

    /// Whether a tenant may use the pool.
    #[must_use]
    pub fn include(&self, tenant: &TenantId) -> bool {
        match self {
            Self::All(_) => true,
            Self::Listed(listed) => listed.contains(tenant),
        }
    }

    pub(super) fn parse(value: &Value) -> Result<Self, Rejection> {
        let wrong = || {
            let problem = format!("must be \"*\" or an array of up to {MAX_TENANTS} tenants");
            Rejection::value("tenants", problem)
                .hint("\"*\" opens the pool to all tenants, [] to none, [\"acme\"] to one.")
        };
        if value.as_str() == Some("*") {
            return Ok(Self::ALL);
        }
        let listed = value.as_array().filter(|listed| listed.len() <= MAX_TENANTS);
        let tenant = |value: &Value| {
            TenantId::parse(value.as_str().ok_or_else(wrong)?).map_err(|error| {
                Rejection::value("tenants", format!("names a tenant that {error}"))
            })
        };
        listed.ok_or_else(wrong)?.iter().map(tenant).collect::<Result<_, _>>().map(Self::Listed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_tenants_some_or_none_can_be_named() {
        let acme = TenantId::parse("acme").unwrap();
        for (value, included) in [
            (json!("*"), true),
            (json!(["acme", "b"]), true),
            (json!(["b"]), false),
            (json!([]), false),
        ] {
            let tenants = PoolTenants::parse(&value).unwrap();
            assert_eq!(tenants.include(&acme), included, "{value}");
            assert_eq!(serde_json::to_value(&tenants).unwrap(), value);
            assert_eq!(serde_json::from_value::<PoolTenants>(value).unwrap(), tenants);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let many: Vec<String> = (0..=MAX_TENANTS).map(|number| format!("t{number}")).collect();
        for value in [json!("acme"), json!(true), json!([1]), json!([""]), json!({}), json!(many)] {
            assert!(PoolTenants::parse(&value).is_err(), "{value}");
        }
    }
}
