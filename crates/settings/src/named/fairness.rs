use std::collections::BTreeMap;

use rota_model::{TenantConfig, TenantId, Weight};
use serde_json::{Map, Value};

use super::config::field_and_problem;
use super::document::Document;
use super::entries::Located;
use crate::error::Problem;
use crate::given::Given;

pub(super) const FIELDS: [&str; 4] = ["enabled", "strategy", "weights", "default_weight"];
const PREFIX: &str = "tenant:";

/// `tenant_fairness` is another way to write settings of `fairness` and the weights of tenants.
#[derive(Default)]
pub(super) struct TenantFairness {
    pub given: Vec<Given>,
    pub weights: BTreeMap<TenantId, Located<Weight>>,
}

pub(super) fn read(document: &Document, problems: &mut Vec<Problem>) -> TenantFairness {
    let mut fairness = TenantFairness::default();
    let Value::Object(members) = &document.value else {
        problems.push(document.problem(&[], "must be a table"));
        return fairness;
    };
    for (name, value) in members {
        let path = vec![name.clone()];
        let given = |key, value| Given { key, value, origin: document.origin(&path) };
        let problem = |problem: &str| document.problem(&path, problem);
        match (name.as_str(), value) {
            (_, Value::Null) if FIELDS.contains(&name.as_str()) => {}
            ("enabled", Value::Bool(enabled)) => {
                fairness.given.push(given("fairness.enabled", enabled.to_string()));
            }
            ("enabled", _) => problems.push(problem("must be true or false")),
            ("strategy", Value::String(word)) if word == "fair-share" => {
                fairness.given.push(given("fairness.strategy", "weighted".to_owned()));
            }
            ("strategy", _) => problems
                .push(problem("must be fair-share; for other strategies set fairness.strategy")),
            ("default_weight", value) => match parse_weight(value) {
                Ok(_) => fairness.given.push(given("fairness.default_weight", value.to_string())),
                Err(error) => problems.push(problem(&error)),
            },
            ("weights", Value::Object(weights)) => {
                fairness.weights = read_weights(document, weights, problems);
            }
            ("weights", _) => problems.push(problem("must be a table of tenants and numbers")),
            _ => problems.push(document.unknown(&path, value, rota_model::nearest(name, FIELDS))),
        }
    }
    fairness
}

fn read_weights(
    document: &Document,
    members: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<TenantId, Located<Weight>> {
    let mut weights = BTreeMap::new();
    for (name, value) in members {
        let path = ["weights".to_owned(), name.clone()];
        let tenant = TenantId::parse(name.strip_prefix(PREFIX).unwrap_or(name))
            .map_err(|error| format!("is not a valid name of a tenant: it {error}"));
        match tenant.and_then(|tenant| Ok((tenant, parse_weight(value)?))) {
            Ok((tenant, weight)) => {
                let origin = document.origin(&path);
                let located = Located { value: weight, text: value.to_string(), origin };
                if weights.insert(tenant, located).is_some() {
                    problems.push(document.problem(&path, "already has a weight"));
                }
            }
            Err(problem) => problems.push(document.problem(&path, &problem)),
        }
    }
    weights
}

/// The same as a weight in the tenant's own configuration.
fn parse_weight(value: &Value) -> Result<Weight, String> {
    let mut tenant = TenantConfig::default();
    let members = Map::from_iter([("weight".to_owned(), value.clone())]);
    tenant.merge(&members).map_err(|rejection| field_and_problem(&rejection).1.to_owned())?;
    tenant.weight.ok_or_else(|| "must be a number".to_owned())
}
