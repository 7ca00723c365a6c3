//! The notation in which types of requests and answers are written down, and JSON Schema made of it.
//!
//! A file of types has definitions such as
//!
//! ```text
//! ## A worker.
//! Worker = {
//!     id: WorkerId
//!     state: 'running' | 'quiet'   # what it does
//!     pid?: integer(0..) | null
//!     labels: string[]
//! }
//! ```
//!
//! `## text` describes the definition that follows, and `# text` the member before it. Names in lower case
//! are those of [`simple`], and names with a capital are other definitions. `{ ... }` at the end of a list
//! of members allows any others, `*: type` others of that type; `...Name` takes over the members of another
//! definition, and `...Name?` makes all of them optional. `only { }` refuses other members. A range in
//! parentheses bounds a number, the length of a string, or the length of an array.

mod combine;
mod reader;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::reader::{Definitions, Reader};

/// What is wrong with a text in the notation.
pub(super) type Problem = String;

/// Definitions by name, as JSON Schema.
pub(super) type Schemas = BTreeMap<String, Value>;

/// Adds the definitions of a file to `schemas`, which has the definitions that it may take members over from.
/// Returns the names of those that it does.
pub(super) fn define(text: &str, schemas: &mut Schemas) -> Result<BTreeSet<String>, Problem> {
    let Definitions { defined, taken_over } = Reader::new(text, schemas)?.definitions()?;
    for (name, schema) in defined {
        if schemas.insert(name.clone(), schema).is_some() {
            return Err(format!("{name} is defined twice"));
        }
    }
    Ok(taken_over)
}

/// The schema of a single type.
pub(super) fn parse(text: &str, schemas: &Schemas) -> Result<Value, Problem> {
    Reader::new(text, schemas)?.single_type()
}

/// Types that need no definition.
fn simple(name: &str) -> Option<Value> {
    Some(match name {
        "string" | "integer" | "number" | "boolean" | "null" | "object" => json!({"type": name}),
        "any" => json!({}),
        // A number of things.
        "count" => json!({"type": "integer", "minimum": 0}),
        // RFC 3339.
        "time" => json!({"type": "string", "format": "date-time"}),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Value {
        parse(text, &Schemas::new()).unwrap()
    }

    #[test]
    fn types_become_schemas() {
        assert_eq!(schema("count"), json!({"type": "integer", "minimum": 0}));
        assert_eq!(schema("string(1..9)[]")["items"]["maxLength"], 9);
        assert_eq!(schema("integer | null"), json!({"type": ["integer", "null"]}));
        assert_eq!(schema("'a' | 'b'"), json!({"type": "string", "enum": ["a", "b"]}));
        assert_eq!(schema("Job | null")["anyOf"][0]["$ref"], "#/components/schemas/Job");
        let object = schema("only { a: number(0.5..), b?: any # what it is\n }");
        assert_eq!(object["required"], json!(["a"]));
        assert_eq!(object["properties"]["a"]["minimum"], 0.5);
        assert_eq!(object["properties"]["b"]["description"], "what it is");
        assert_eq!(object["additionalProperties"], false);
        assert_eq!(schema("{ *: count }")["additionalProperties"]["type"], "integer");
    }

    #[test]
    fn members_are_taken_over() {
        let mut schemas = Schemas::new();
        define("## A\n## thing.\nA = { a: string, ... }\nB = { ...A, b: string }", &mut schemas)
            .unwrap();
        assert_eq!(schemas["A"]["description"], "A thing.");
        assert_eq!(schemas["B"]["required"], json!(["a", "b"]));
        assert_eq!(schemas["B"]["additionalProperties"], true);
        assert_eq!(parse("{ ...A? }", &schemas).unwrap().get("required"), None);
    }

    #[test]
    fn mistakes_are_found() {
        for bad in ["strin", "{ a string }", "integer(1)", "'a", "{ ...Missing }", "string }", "%"]
        {
            assert!(parse(bad, &Schemas::new()).is_err(), "{bad}");
        }
    }
}
