//! What an entry of the audit log says.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{Millis, TenantId};

/// Something that happened, before the engine gives it a number and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditNote {
    /// What happened, such as `queue.pause` or `auth.permission_denied`.
    pub event: Cow<'static, str>,
    /// Whether it was done.
    pub outcome: AuditOutcome,
    /// Who did it or tried to.
    pub actor: AuditActor,
    /// The id of the request; `None` if the entry counts several.
    pub request: Option<String>,
    /// What else there is to say: method, route, the thing named, status, reason, counts.
    pub detail: AuditDetail,
}

/// Further members of an entry, by name. Values are text, whole numbers or booleans: canonical JSON has no
/// fractions here. Never a secret, and never a part of a body other than a name or a reason.
pub type AuditDetail = BTreeMap<Cow<'static, str>, Value>;

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuditActor {
    /// The subject of the credential, with a shortened key id; `operator` or the tenant's id if no
    /// credentials are asked for; `unknown` if they were not accepted.
    pub principal: Cow<'static, str>,
    /// How the caller proved who it is, such as `none` or `api_key`.
    pub method: Cow<'static, str>,
    /// The tenant of the caller; `None` for operators and unknown callers.
    pub tenant: Option<TenantId>,
    /// Where the request came from.
    pub address: Option<IpAddr>,
}

/// The member `outcome` of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditOutcome {
    /// It was done.
    Success,
    /// It was refused, or failed.
    Failure,
}

impl AuditOutcome {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }

    /// The outcome with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Success, Self::Failure].into_iter().find(|outcome| outcome.as_str() == name)
    }
}

impl AuditNote {
    /// The entry in canonical JSON.
    #[must_use]
    pub fn canonical(&self, number: u64, at: Millis) -> Bytes {
        let mut time = Vec::with_capacity(24);
        at.write_rfc3339(&mut time);
        let address = self.actor.address.map_or_else(|| "unknown".to_owned(), |a| a.to_string());
        let detail: Map<String, Value> =
            self.detail.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let mut members: BTreeMap<&str, Value> = BTreeMap::from([
            ("auth_method", Value::from(&*self.actor.method)),
            ("detail", Value::Object(detail)),
            ("event_type", Value::from(&*self.event)),
            ("number", Value::from(number)),
            ("outcome", Value::from(self.outcome.as_str())),
            ("principal", Value::from(&*self.actor.principal)),
            ("source_ip", Value::from(address)),
            ("timestamp", Value::from(String::from_utf8_lossy(&time))),
        ]);
        if let Some(request) = &self.request {
            members.insert("correlation_id", Value::from(&**request));
        }
        if let Some(tenant) = &self.actor.tenant {
            members.insert("tenant_id", Value::from(&**tenant));
        }
        canonical_json(&members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            .into()
    }
}

/// Writes JSON with sorted members and without spaces, as RFC 8785 has it for text and whole numbers.
#[must_use]
pub fn canonical_json(value: &Value) -> Vec<u8> {
    serde_json::to_vec(&sorted(value)).expect("JSON can be written")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            // In this order also if the map keeps the order of insertion.
            sorted.into_iter().map(|(name, value)| (name.clone(), self::sorted(value))).collect()
        }
        Value::Array(all) => all.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> AuditNote {
        AuditNote {
            event: "queue.pause".into(),
            outcome: AuditOutcome::Success,
            actor: AuditActor {
                principal: "rk_7f3a".into(),
                method: "api_key".into(),
                tenant: TenantId::parse("acme").ok(),
                address: Some([192, 0, 2, 7].into()),
            },
            request: Some("req_1".into()),
            detail: AuditDetail::from([
                ("route".into(), "/ojs/v1/queues/{name}/pause".into()),
                ("method".into(), "POST".into()),
                ("reason".into(), "a \"quoted\"\n\u{1} reason, ü".into()),
                ("status".into(), 200.into()),
            ]),
        }
    }

    #[test]
    fn an_entry_is_canonical_json_with_sorted_members() {
        let expected = concat!(
            r#"{"auth_method":"api_key","correlation_id":"req_1","detail":{"method":"POST","#,
            r#""reason":"a \"quoted\"\n\u0001 reason, ü","route":"/ojs/v1/queues/{name}/pause","status":200},"#,
            r#""event_type":"queue.pause","number":7,"outcome":"success","principal":"rk_7f3a","#,
            r#""source_ip":"192.0.2.7","tenant_id":"acme","timestamp":"1970-01-01T00:00:01.500Z"}"#,
        );
        let json = note().canonical(7, Millis(1_500));
        assert_eq!(String::from_utf8_lossy(&json), expected);
        let parsed: BTreeMap<String, Value> = serde_json::from_slice(&json).unwrap();
        assert_eq!(serde_json::to_string(&parsed).unwrap(), expected, "parsed and written again");
    }
}
