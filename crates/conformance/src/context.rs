//! Responses and captures that later steps of a case refer to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{http::Response, path::Path};

#[derive(Debug)]
pub struct Context {
    /// `{"steps": {"step-1": {"response": {"status": .., "body": ..}}}}`: the document that
    /// templates and comparisons across steps look into.
    document: Value,
    captured: BTreeMap<String, Value>,
}

impl Default for Context {
    fn default() -> Self {
        Context { document: json!({"steps": {}}), captured: BTreeMap::new() }
    }
}

impl Context {
    pub fn record(&mut self, step: &str, response: &Response) {
        self.document["steps"][step] = json!({
            "response": {"status": response.status, "body": response.json},
        });
    }

    pub fn capture(&mut self, name: &str, value: Value) {
        self.captured.insert(name.into(), value);
    }

    pub fn captured(&self, name: &str) -> Option<Value> {
        self.captured.get(name).cloned()
    }

    pub fn find(&self, path: &Path) -> Option<Value> {
        path.find(&self.document)
    }
}
