//! The document is complete, and the copy in docs/ is the one that the server serves.

use std::path::Path;

use super::document::{Route, build};
use super::*;

fn route(method: &'static str, path: &'static str) -> Route {
    Route { method, path, scope: None, params: Vec::new() }
}

#[test]
fn every_route_of_the_table_is_in_the_document() {
    let document = document().unwrap();
    let resolved = |param: &Value| match param["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap().clone(),
        None => param.clone(),
    };
    for (method, path, needs, params) in route_table::routes_with_params() {
        let operation = &document["paths"][path][method.to_ascii_lowercase()];
        assert!(operation.is_object(), "{method} {path}");
        assert_eq!(operation["x-ojs-scope"].as_str(), needs.map(|needs| needs.name()), "{path}");
        let all = operation["parameters"].as_array().unwrap();
        let in_query = all.iter().map(resolved).filter(|param| param["in"] == "query");
        let shown: Vec<Value> = in_query.map(|param| param["name"].clone()).collect();
        assert_eq!(shown, params, "{method} {path}");
    }
}

#[test]
fn a_route_without_a_description_and_a_description_without_a_route_are_errors() {
    let new = build("0", &[route("GET", "/new")]).unwrap_err();
    assert!(new.contains("GET /new has no description"), "{new}");
    let gone = build("0", &[]).unwrap_err();
    assert!(gone.contains("the table of routes does not have it"), "{gone}");
}

/// `UPDATE_DOCS=1` writes the file.
#[test]
fn docs_has_the_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let document = serde_json::to_string_pretty(&document().unwrap()).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == document,
        "docs/openapi.json is not what the server serves; renew it with \
         UPDATE_DOCS=1 cargo test -p rota-server openapi"
    );
}

#[test]
fn a_client_that_has_the_document_gets_nothing() {
    let etag = HeaderValue::from_static("\"1\"");
    for tags in ["\"1\"", "\"0\", \"1\"", "W/\"1\"", "*"] {
        assert!(names(&HeaderValue::from_static(tags), &etag), "{tags}");
    }
    assert!(!names(&HeaderValue::from_static("\"2\""), &etag));
}
