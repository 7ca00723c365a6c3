//! Clients' certificates, and the rules that say whose they are.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rota_model::{Millis, QueueName, Rejection, RuleName, TenantId};
use serde_json::{Map, Value};

use crate::{Identity, Method, Permission, Permissions};

/// The names in a certificate that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject as RFC 4514 writes it: `CN=worker,O=Acme`.
    pub subject: String,
    /// The subject's alternative names.
    pub names: Vec<CertificateName>,
    /// The end of its validity.
    pub expires: Millis,
}

/// An alternative name of a certificate's subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateName {
    /// In lower case.
    Dns(String),
    Uri(String),
    Email(String),
    Ip(IpAddr),
}

impl CertificateName {
    /// Parses `dns:NAME`, `uri:URI`, `email:ADDRESS` or `ip:ADDRESS`. Without a prefix it is a DNS name.
    fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':').unwrap_or(("dns", text));
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        match kind {
            _ if !is_plain => None,
            "dns" => Some(Self::Dns(name.to_ascii_lowercase())),
            "uri" => Some(Self::Uri(name.to_owned())),
            "email" => Some(Self::Email(name.to_owned())),
            "ip" => Some(Self::Ip(name.parse().ok()?)),
            _ => None,
        }
    }
}

impl fmt::Display for CertificateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => write!(f, "dns:{name}"),
            Self::Uri(name) => write!(f, "uri:{name}"),
            Self::Email(name) => write!(f, "email:{name}"),
            Self::Ip(address) => write!(f, "ip:{address}"),
        }
    }
}

/// Says which certificates belong to a tenant or an operator, and what they allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateRule {
    /// One of these alternative names, if there are any here.
    names: Vec<CertificateName>,
    /// Exactly this subject, if it is given.
    subject: Option<String>,
    /// `None` for operators.
    tenant: Option<TenantId>,
    permissions: Permissions,
    queues: Option<Arc<[QueueName]>>,
}

impl CertificateRule {
    pub const FIELDS: &'static [&'static str] = &["san", "subject", "tenant", "scopes", "queues"];

    pub fn parse(members: &Map<String, Value>) -> Result<Self, Rejection> {
        let given = |name: &str| members.get(name).filter(|value| !value.is_null());
        let rule = Self {
            names: given("san").map_or(Ok(Vec::new()), names)?,
            subject: given("subject").map(subject).transpose()?,
            tenant: given("tenant").map(tenant).transpose()?,
            permissions: permissions(given("scopes"))?,
            queues: given("queues").map(queues).transpose()?,
        };
        if rule.names.is_empty() && rule.subject.is_none() {
            return Err(Rejection::field("san", "or 'subject' is required"));
        }
        let is_operator = rule.permissions.allow(Permission::Server);
        match &rule.tenant {
            None if !is_operator => Err(Rejection::field("tenant", "is required")
                .hint("Only the scope server belongs to no tenant")),
            Some(_) if is_operator => Err(Rejection::field("tenant", "must be absent")
                .hint("The scope server is for all tenants")),
            _ => Ok(rule),
        }
    }

    fn matches(&self, certificate: &ClientCertificate) -> bool {
        let is_subject = |subject: &String| *subject == normalize_subject(&certificate.subject);
        self.subject.as_ref().is_none_or(is_subject)
            && (self.names.is_empty()
                || self.names.iter().any(|name| certificate.names.contains(name)))
    }
}

/// The identity that a certificate proves: that of the first rule that matches, by name. `None` if no
/// rule does.
#[must_use]
pub fn identify_certificate(
    certificate: &ClientCertificate,
    rules: &BTreeMap<RuleName, CertificateRule>,
) -> Option<Identity> {
    let (name, rule) = rules.iter().find(|(_, rule)| rule.matches(certificate))?;
    Some(Identity {
        method: Method::Certificate,
        subject: (**name).into(),
        tenant: rule.tenant.clone(),
        permissions: rule.permissions,
        queues: rule.queues.clone(),
        job_types: None,
        expires: Some(certificate.expires),
    })
}

fn names(value: &Value) -> Result<Vec<CertificateName>, Rejection> {
    let names = strings(value, "san")?;
    let parse = |name: &&str| {
        CertificateName::parse(name).ok_or_else(|| {
            Rejection::field("san", format!("has '{name}', which is not a name"))
                .hint("Names look like dns:worker.example.com, uri:spiffe://example.com/worker, email:a@example.com or ip:10.0.0.1")
        })
    };
    names.iter().map(parse).collect()
}

fn subject(value: &Value) -> Result<String, Rejection> {
    let subject = value.as_str().filter(|subject| subject.contains('='));
    subject.map(normalize_subject).ok_or_else(|| {
        Rejection::field("subject", "must be a distinguished name")
            .hint("It looks like CN=worker,O=Acme, in the order in which RFC 4514 writes it")
    })
}

/// Without the spaces that people write after commas.
fn normalize_subject(subject: &str) -> String {
    subject.split(',').map(str::trim_start).collect::<Vec<_>>().join(",")
}

fn tenant(value: &Value) -> Result<TenantId, Rejection> {
    let name = value.as_str().ok_or_else(|| Rejection::field("tenant", "must be a string"))?;
    TenantId::parse(name).map_err(|error| Rejection::field("tenant", error.to_string()))
}

fn permissions(value: Option<&Value>) -> Result<Permissions, Rejection> {
    let value = value.ok_or_else(|| Rejection::field("scopes", "is required"))?;
    let permissions = Permissions::parse(strings(value, "scopes")?);
    permissions.map_err(|unknown| {
        Rejection::field("scopes", format!("has '{}', which is not a scope", unknown.0))
            .hint("Known are enqueue, dequeue, cancel, inspect, admin and server")
    })
}

fn queues(value: &Value) -> Result<Arc<[QueueName]>, Rejection> {
    let parse = |name: &&str| {
        QueueName::parse(name)
            .map_err(|error| Rejection::field("queues", format!("has '{name}', which {error}")))
    };
    strings(value, "queues")?.iter().map(parse).collect()
}

/// A string, or an array of at least one.
fn strings<'a>(value: &'a Value, field: &'static str) -> Result<Vec<&'a str>, Rejection> {
    let strings = match value {
        Value::String(one) => Some(vec![one.as_str()]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    };
    strings
        .filter(|strings| !strings.is_empty())
        .ok_or_else(|| Rejection::field(field, "must be a string or an array of strings"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(members: Value) -> Result<CertificateRule, Rejection> {
        CertificateRule::parse(members.as_object().unwrap())
    }

    fn problem(members: Value) -> String {
        rule(members).unwrap_err().message
    }

    fn certificate(subject: &str, names: &[&str]) -> ClientCertificate {
        let names = names.iter().map(|name| CertificateName::parse(name).unwrap()).collect();
        ClientCertificate { subject: subject.to_owned(), names, expires: Millis(7) }
    }

    fn rules(rules: &[(&str, Value)]) -> BTreeMap<RuleName, CertificateRule> {
        let parse = |(name, members): &(&str, Value)| {
            (RuleName::parse(name).unwrap(), rule(members.clone()).unwrap())
        };
        rules.iter().map(parse).collect()
    }

    #[test]
    fn a_certificate_belongs_to_the_first_rule_that_matches() {
        let rules = rules(&[
            (
                "a-worker",
                json!({"san": "uri:spiffe://acme/w", "tenant": "acme", "scopes": ["dequeue"],
                "queues": ["mail"]}),
            ),
            ("b-operator", json!({"subject": "CN=root, O=Us", "scopes": "server"})),
            ("c-all", json!({"san": ["W.acme.example"], "tenant": "acme", "scopes": ["enqueue"]})),
        ]);
        let find = |certificate| identify_certificate(&certificate, &rules);
        let worker = find(certificate("CN=x", &["w.acme.example", "uri:spiffe://acme/w"])).unwrap();
        assert_eq!((&*worker.subject, worker.tenant.as_deref()), ("a-worker", Some("acme")));
        assert_eq!(worker.permissions.to_string(), "dequeue");
        assert_eq!(&*worker.queues.unwrap()[0], "mail");
        assert_eq!(worker.expires, Some(Millis(7)));
        let operator = find(certificate("CN=root,O=Us", &[])).unwrap();
        assert_eq!((operator.tenant, operator.permissions.to_string()), (None, "server".into()));
        let other = find(certificate("CN=x", &["w.acme.example"])).unwrap();
        assert_eq!(&*other.subject, "c-all");
        assert_eq!(find(certificate("CN=root", &["acme.example"])), None);
    }

    #[test]
    fn a_rule_with_both_needs_both() {
        let both =
            json!({"san": "w.example", "subject": "CN=w", "tenant": "t", "scopes": ["enqueue"]});
        let rules = rules(&[("both", both)]);
        let is_known = |certificate| identify_certificate(&certificate, &rules).is_some();
        assert!(is_known(certificate("CN=w", &["w.example"])));
        assert!(!is_known(certificate("CN=w", &[])));
        assert!(!is_known(certificate("CN=other", &["w.example"])));
    }

    #[test]
    fn a_name_of_one_kind_is_not_one_of_another() {
        let rules = rules(&[(
            "uri",
            json!({"san": "uri:w.example", "tenant": "t", "scopes": ["enqueue"]}),
        )]);
        assert_eq!(identify_certificate(&certificate("CN=w", &["dns:w.example"]), &rules), None);
    }

    #[test]
    fn rules_that_cannot_be_meant_are_refused() {
        let scopes = json!(["enqueue"]);
        for (members, expected) in [
            (json!({"tenant": "t", "scopes": scopes}), "'san' or 'subject' is required"),
            (json!({"san": "a", "scopes": scopes}), "'tenant' is required"),
            (json!({"san": "a", "tenant": "t"}), "'scopes' is required"),
            (json!({"san": "a", "tenant": "t", "scopes": []}), "'scopes' must be"),
            (json!({"san": "a", "tenant": "t", "scopes": ["root"]}), "'scopes' has 'root'"),
            (json!({"san": "a", "tenant": "t", "scopes": ["server"]}), "'tenant' must be absent"),
            (json!({"san": "dir:x", "tenant": "t", "scopes": scopes}), "'san' has 'dir:x'"),
            (json!({"san": "ip:x", "tenant": "t", "scopes": scopes}), "'san' has 'ip:x'"),
            (json!({"subject": "worker", "tenant": "t", "scopes": scopes}), "'subject' must be"),
            (json!({"san": "a", "tenant": "a b", "scopes": scopes}), "'tenant'"),
            (
                json!({"san": "a", "tenant": "t", "scopes": scopes, "queues": ["a b"]}),
                "'queues' has",
            ),
        ] {
            let found = problem(members);
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
