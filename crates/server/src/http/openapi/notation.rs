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

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::{Map, Value, json};

/// What is wrong with a text in the notation.
pub(super) type Problem = String;

/// Definitions by name, as JSON Schema.
pub(super) type Schemas = BTreeMap<String, Value>;

/// Adds the definitions of a file to `schemas`, which has the definitions that it may take members over from.
/// Returns the names of those that it does.
pub(super) fn define(text: &str, schemas: &mut Schemas) -> Result<BTreeSet<String>, Problem> {
    let mut reader = Reader::new(text, schemas)?;
    let mut defined = Vec::new();
    while let Some(token) = reader.tokens.next() {
        let (about, name) = match token {
            Token::About(about) => (about, reader.name()?),
            Token::Name(name) => (String::new(), name),
            other => return Err(format!("a definition starts with {other:?}")),
        };
        reader.expect("=")?;
        let mut schema = reader.union()?;
        if !about.is_empty() {
            schema["description"] = json!(about);
        }
        reader.local.insert(name.clone(), schema.clone());
        defined.push((name, schema));
    }
    let taken_over = reader.taken_over;
    for (name, schema) in defined {
        if schemas.insert(name.clone(), schema).is_some() {
            return Err(format!("{name} is defined twice"));
        }
    }
    Ok(taken_over)
}

/// The schema of a single type.
pub(super) fn parse(text: &str, schemas: &Schemas) -> Result<Value, Problem> {
    let mut reader = Reader::new(text, schemas)?;
    let schema = reader.union()?;
    match reader.tokens.next() {
        None => Ok(schema),
        Some(token) => Err(format!("{token:?} follows the type '{text}'")),
    }
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Literal(String),
    /// The description of a definition.
    About(String),
    /// The description of a member.
    Note(String),
    Sign(&'static str),
    /// The inside of parentheses.
    Range(String),
}

const SIGNS: [&str; 10] = ["...", "{", "}", "[]", "|", "?", ":", "=", "*", ","];

fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    let mut found: Vec<Token> = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim();
        while !rest.is_empty() {
            let (token, after) = token(rest)?;
            match (&token, found.last_mut()) {
                // A description may take several lines.
                (Token::About(more), Some(Token::About(about))) => {
                    about.push(' ');
                    about.push_str(more);
                }
                _ => found.push(token),
            }
            rest = after.trim_start();
        }
    }
    Ok(found)
}

fn token(text: &str) -> Result<(Token, &str), Problem> {
    if let Some(about) = text.strip_prefix("##") {
        return Ok((Token::About(about.trim().to_owned()), ""));
    }
    if let Some(note) = text.strip_prefix('#') {
        return Ok((Token::Note(note.trim().to_owned()), ""));
    }
    let unclosed = || format!("'{text}' is not closed");
    if let Some(rest) = text.strip_prefix('\'') {
        let (literal, rest) = rest.split_once('\'').ok_or_else(unclosed)?;
        return Ok((Token::Literal(literal.to_owned()), rest));
    }
    if let Some(rest) = text.strip_prefix('(') {
        let (range, rest) = rest.split_once(')').ok_or_else(unclosed)?;
        return Ok((Token::Range(range.to_owned()), rest));
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        return Ok((Token::Sign(sign), &text[sign.len()..]));
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    match end {
        0 => Err(format!("'{text}' starts with an unknown sign")),
        _ => Ok((Token::Name(text[..end].to_owned()), &text[end..])),
    }
}

struct Reader<'a> {
    tokens: Peekable<IntoIter<Token>>,
    schemas: &'a Schemas,
    /// Definitions of the same file.
    local: Schemas,
    /// Definitions whose members were taken over.
    taken_over: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &str, schemas: &'a Schemas) -> Result<Self, Problem> {
        Ok(Self {
            tokens: tokens(text)?.into_iter().peekable(),
            schemas,
            local: Schemas::new(),
            taken_over: BTreeSet::new(),
        })
    }

    fn name(&mut self) -> Result<String, Problem> {
        match self.tokens.next() {
            Some(Token::Name(name)) => Ok(name),
            other => Err(format!("a name is expected, not {other:?}")),
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        match self.tokens.next() {
            Some(Token::Sign(found)) if found == sign => Ok(()),
            other => Err(format!("'{sign}' is expected, not {other:?}")),
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Sign(found) if *found == sign)).is_some()
    }

    /// One type, or several of which any is right.
    fn union(&mut self) -> Result<Value, Problem> {
        let mut parts = vec![self.one()?];
        while self.takes("|") {
            parts.push(self.one()?);
        }
        Ok(any_of(parts))
    }

    fn one(&mut self) -> Result<Value, Problem> {
        let mut schema = match self.tokens.next() {
            Some(Token::Literal(word)) => json!({"type": "string", "enum": [word]}),
            Some(Token::Sign("{")) => self.object(false)?,
            Some(Token::Name(name)) if name == "only" => {
                self.expect("{")?;
                self.object(true)?
            }
            Some(Token::Name(name)) if name.starts_with(|first: char| first.is_uppercase()) => {
                json!({"$ref": format!("#/components/schemas/{name}")})
            }
            Some(Token::Name(name)) => {
                simple(&name).ok_or_else(|| format!("there is no type '{name}'"))?
            }
            other => return Err(format!("a type is expected, not {other:?}")),
        };
        loop {
            if self.takes("[]") {
                schema = json!({"type": "array", "items": schema});
            } else if let Some(Token::Range(range)) =
                self.tokens.next_if(|token| matches!(token, Token::Range(_)))
            {
                bound(&mut schema, &range)?;
            } else {
                return Ok(schema);
            }
        }
    }

    /// The members of an object, up to the closing brace.
    fn object(&mut self, only_these: bool) -> Result<Value, Problem> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        let mut others = only_these.then_some(Value::Bool(false));
        loop {
            if self.takes("}") {
                break;
            }
            if self.takes(",") {
                continue;
            }
            if self.takes("*") {
                self.expect(":")?;
                others = Some(self.union()?);
            } else if self.takes("...") {
                match self.tokens.next_if(|token| matches!(token, Token::Name(_))) {
                    None => others = Some(Value::Bool(true)),
                    Some(token) => {
                        let Token::Name(name) = token else { continue };
                        let optional = self.takes("?");
                        let others_too =
                            self.take_over(&name, optional, &mut properties, &mut required)?;
                        others = others.or(others_too);
                        self.taken_over.insert(name);
                    }
                }
            } else {
                let name = self.member_name()?;
                let optional = self.takes("?");
                self.expect(":")?;
                let mut schema = self.union()?;
                if let Some(Token::Note(note)) =
                    self.tokens.next_if(|token| matches!(token, Token::Note(_)))
                {
                    schema["description"] = json!(note);
                }
                required.retain(|other| *other != name);
                if !optional {
                    required.push(name.clone());
                }
                properties.insert(name, schema);
            }
        }
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            required.sort_unstable();
            required.dedup();
            schema["required"] = json!(required);
        }
        if let Some(others) = others {
            schema["additionalProperties"] = others;
        }
        Ok(schema)
    }

    /// A member's name is quoted if it has other signs than letters, digits and underscores.
    fn member_name(&mut self) -> Result<String, Problem> {
        match self.tokens.next() {
            Some(Token::Name(name) | Token::Literal(name)) => Ok(name),
            other => Err(format!("a member is expected, not {other:?}")),
        }
    }

    /// Adds the members of another definition. Returns what that says about members it does not list.
    fn take_over(
        &self,
        name: &str,
        optional: bool,
        properties: &mut Map<String, Value>,
        required: &mut Vec<String>,
    ) -> Result<Option<Value>, Problem> {
        let other = self.local.get(name).or_else(|| self.schemas.get(name));
        let other = other.ok_or_else(|| format!("{name} is not defined yet"))?;
        let members = other["properties"].as_object();
        properties.extend(members.ok_or_else(|| format!("{name} is no object"))?.clone());
        if !optional {
            let names = other["required"].as_array().into_iter().flatten();
            required.extend(names.filter_map(Value::as_str).map(str::to_owned));
        }
        Ok(other.get("additionalProperties").cloned())
    }
}

/// Joins alternatives: words to one enumeration, and `null` to the type it stands beside.
fn any_of(parts: Vec<Value>) -> Value {
    let is_word = |part: &Value| part.get("enum").is_some();
    let (words, mut others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_word);
    if !words.is_empty() {
        let words: Vec<Value> = words.iter().map(|word| word["enum"][0].clone()).collect();
        others.insert(0, json!({"type": "string", "enum": words}));
    }
    let null = json!({"type": "null"});
    match others.as_mut_slice() {
        [one] => one.take(),
        [one, other] if *other == null && one["type"].is_string() && one.get("enum").is_none() => {
            one["type"] = json!([one["type"], "null"]);
            one.take()
        }
        _ => json!({"anyOf": others}),
    }
}

/// Applies a range such as `1..100`, `0.5..` or `..10`.
fn bound(schema: &mut Value, range: &str) -> Result<(), Problem> {
    let (least, most) = range.split_once("..").ok_or_else(|| format!("({range}) is no range"))?;
    let names = match schema["type"].as_str() {
        Some("string") => ["minLength", "maxLength"],
        Some("array") => ["minItems", "maxItems"],
        Some("integer" | "number") => ["minimum", "maximum"],
        other => return Err(format!("({range}) cannot bound {other:?}")),
    };
    for (name, text) in names.into_iter().zip([least, most]).filter(|(_, text)| !text.is_empty()) {
        let number: Value =
            serde_json::from_str(text).map_err(|_| format!("'{text}' is no number"))?;
        schema[name] = number;
    }
    Ok(())
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
