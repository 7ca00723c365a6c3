//! Joins the descriptions with the table of routes to one document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::notation::{self, Problem, Schemas};
use super::operation::{Answer, Content, Operation, RequestBody};
use super::routes::{Group, groups};
use super::{MEDIA_TYPE, errors, names, params};

/// The types of requests and answers. A file may take over members from those before it.
const TYPES: [&str; 12] = [
    include_str!("types/common.types"),
    include_str!("types/jobs.types"),
    include_str!("types/workers.types"),
    include_str!("types/limits.types"),
    include_str!("types/queues.types"),
    include_str!("types/dead_letter.types"),
    include_str!("types/cron.types"),
    include_str!("types/events.types"),
    include_str!("types/tenants.types"),
    include_str!("types/keys.types"),
    include_str!("types/audit.types"),
    include_str!("types/system.types"),
];

const ABOUT: &str = "Rota implements the Open Job Spec (OJS) 1.0. docs/http.md describes the same API for \
    people. Every GET can be sent as HEAD. Answers have the headers OJS-Version and X-Request-Id. A tenant's \
    requests carry its credentials or, on a server without authentication, the header X-OJS-Tenant; others \
    are an operator's. Answers may gain members in later versions.";

/// The ways to authenticate.
const SCHEMES: [&str; 3] = ["token", "apiKey", "certificate"];

/// A method and path of the table of routes.
#[derive(Debug)]
pub(super) struct Route {
    pub method: &'static str,
    pub path: &'static str,
    /// The scope that it needs.
    pub scope: Option<&'static str>,
    /// Its query parameters.
    pub params: Vec<&'static str>,
}

/// The document. An error if a route has no description, a description no route, or a type a mistake.
pub(super) fn build(version: &str, table: &[Route]) -> Result<Value, Problem> {
    let mut schemas = names::schemas();
    let mut taken_over = BTreeSet::new();
    for types in TYPES {
        taken_over.extend(notation::define(types, &mut schemas)?);
    }
    let groups = groups();
    let mut described = BTreeMap::new();
    let pairs = groups.iter().flat_map(|group| group.operations.iter().map(move |op| (group, op)));
    for (group, operation) in pairs {
        for (alias, route) in operation.routes.iter().enumerate() {
            if described.insert(*route, (group, operation, alias)).is_some() {
                return Err(format!("{route} is described twice"));
            }
        }
    }
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in table {
        let name = format!("{} {}", route.method, route.path);
        let found = described.remove(&*name);
        let (group, operation, alias) =
            found.ok_or_else(|| format!("{name} has no description in http/openapi/routes"))?;
        let shown = show(route, group, operation, alias, &schemas)?;
        paths.entry(route.path).or_default().insert(route.method.to_ascii_lowercase(), shown);
    }
    if let Some(route) = described.keys().next() {
        return Err(format!("{route} is described, but the table of routes does not have it"));
    }
    let tags: Vec<Value> = groups
        .iter()
        .map(|group| json!({"name": group.name, "description": group.about}))
        .collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Rota", "version": version, "description": ABOUT},
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": errors::components(),
            "parameters": parameters(&schemas)?,
            "securitySchemes": security_schemes(),
        },
    });
    remove_unused(&mut document, &taken_over)?;
    Ok(document)
}

fn show(
    route: &Route,
    group: &Group,
    operation: &Operation,
    alias: usize,
    schemas: &Schemas,
) -> Result<Value, Problem> {
    // Names must be unique, so that of an alias has a number.
    let name = match alias {
        0 => operation.name.to_owned(),
        _ => format!("{}{}", operation.name, alias + 1),
    };
    let mut shown = json!({
        "operationId": name,
        "summary": operation.summary,
        "tags": [group.name],
        "parameters": parameters_of(route, operation, schemas)?,
        "responses": responses(route, operation, schemas)?,
        "security": security(route.scope),
    });
    if let Some(scope) = route.scope {
        shown["x-ojs-scope"] = json!(scope);
    }
    let body = match operation.body {
        RequestBody::None => None,
        RequestBody::Optional(kind) => Some((kind, false)),
        RequestBody::Required(kind) => Some((kind, true)),
    };
    if let Some((kind, required)) = body {
        let content = json!({"schema": notation::parse(kind, schemas)?});
        shown["requestBody"] = json!({
            "required": required,
            "content": {MEDIA_TYPE: content, "application/json": content},
        });
    }
    Ok(shown)
}

fn parameters_of(
    route: &Route,
    operation: &Operation,
    schemas: &Schemas,
) -> Result<Vec<Value>, Problem> {
    let reference = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let mut all: Vec<Value> = params::in_path(route.path, schemas)?.into_iter().collect();
    for name in &route.params {
        all.push(params::in_query(name, route.path, &operation.params, schemas)?);
    }
    for header in &operation.headers {
        all.push(params::in_header(*header, schemas)?);
    }
    if route.scope.is_some() {
        all.push(reference("Tenant"));
    }
    all.push(reference("Version"));
    Ok(all)
}

fn responses(
    route: &Route,
    operation: &Operation,
    schemas: &Schemas,
) -> Result<Map<String, Value>, Problem> {
    let mut all = Map::new();
    for status in errors::statuses(operation, route.path, route.scope.is_some()) {
        let error = errors::reference(status);
        let error = error.ok_or_else(|| format!("the status {status} has no description"))?;
        all.insert(status.to_string(), error);
    }
    for answer in &operation.answers {
        all.insert(answer.status.to_string(), response(answer, schemas)?);
    }
    Ok(all)
}

fn response(answer: &Answer, schemas: &Schemas) -> Result<Value, Problem> {
    let json_of = |kind: &str| -> Result<Value, Problem> {
        Ok(json!({"schema": notation::parse(kind, schemas)?}))
    };
    let text = json!({"schema": {"type": "string"}});
    let (about, content) = match answer.content {
        Content::None => ("No content.", None),
        Content::Json(kind) => ("Done.", Some(json!({MEDIA_TYPE: json_of(kind)?}))),
        Content::Text("application/json") => {
            let any = json!({"schema": {"type": "object", "additionalProperties": true}});
            ("Done.", Some(json!({"application/json": any})))
        }
        Content::Text(media_type) => ("Done.", Some(json!({media_type: text}))),
        Content::JsonOrText(kind, media_type) => {
            ("Done.", Some(json!({MEDIA_TYPE: json_of(kind)?, media_type: text})))
        }
    };
    let mut shown = json!({"description": about});
    if let Some(content) = content {
        shown["content"] = content;
    }
    for (name, about) in answer.headers {
        shown["headers"][name] = json!({"description": about, "schema": {"type": "string"}});
    }
    Ok(shown)
}

/// Any one of the ways to authenticate, with the scope; none if anybody may.
fn security(scope: Option<&str>) -> Vec<Value> {
    let Some(scope) = scope else { return Vec::new() };
    SCHEMES.into_iter().map(|scheme| json!({scheme: [scope]})).collect()
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "http", "scheme": "bearer",
            "description": "An API key or a JWT. A server without authentication needs none.",
        },
        "apiKey": {
            "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key.",
        },
        "certificate": {
            "type": "mutualTLS", "description": "A client certificate that is mapped to a tenant.",
        },
    })
}

fn parameters(schemas: &Schemas) -> Result<Map<String, Value>, Problem> {
    let tenant = ("X-OJS-Tenant", "TenantId", "The tenant that the request acts for.");
    let about = "The version of the specification, or a pre-release of it.";
    let version = ("OJS-Version", "'1' | '1.0' | '1.0.0' | '1.0.0-rc.1'", about);
    let mut all = params::components(schemas)?;
    all.insert("Tenant".to_owned(), params::in_header(tenant, schemas)?);
    all.insert("Version".to_owned(), params::in_header(version, schemas)?);
    Ok(all)
}

/// Leaves out types that only lend their members to others. An error if something is referred to and not
/// there, or a type is there and not used at all.
fn remove_unused(document: &mut Value, taken_over: &BTreeSet<String>) -> Result<(), Problem> {
    let mut found = BTreeSet::new();
    collect_references(document, &mut found);
    for reference in &found {
        let pointer = reference.trim_start_matches('#');
        document.pointer(pointer).ok_or_else(|| format!("there is no {reference}"))?;
    }
    let is_used = |name: &str| found.contains(&format!("#/components/schemas/{name}"));
    let has_user = |name: &str| found.contains(&format!("#/components/parameters/{name}"));
    let mut params = document["components"]["parameters"].as_object().into_iter().flatten();
    if let Some((name, _)) = params.find(|(name, _)| !has_user(name)) {
        return Err(format!("no route has the parameter {name}"));
    }
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return Ok(()) };
    if let Some(name) = schemas.keys().find(|name| !is_used(name) && !taken_over.contains(*name)) {
        return Err(format!("nothing refers to the type {name}"));
    }
    schemas.retain(|name, _| is_used(name));
    Ok(())
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}
