//! Reads types, and makes JSON Schema of them.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::{Map, Value, json};

use super::combine::{any_of, bound};
use super::tokens::{Token, tokens};
use super::{Problem, Schemas, simple};

pub(super) struct Reader<'a> {
    tokens: Peekable<IntoIter<Token>>,
    schemas: &'a Schemas,
    /// Definitions of the same file.
    local: Schemas,
    /// Definitions whose members were taken over.
    taken_over: BTreeSet<String>,
}

/// What a file defines.
pub(super) struct Definitions {
    pub defined: Vec<(String, Value)>,
    /// Definitions whose members were taken over.
    pub taken_over: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    pub fn new(text: &str, schemas: &'a Schemas) -> Result<Self, Problem> {
        Ok(Self {
            tokens: tokens(text)?.into_iter().peekable(),
            schemas,
            local: Schemas::new(),
            taken_over: BTreeSet::new(),
        })
    }

    /// All definitions of a file.
    pub fn definitions(mut self) -> Result<Definitions, Problem> {
        let mut defined = Vec::new();
        while let Some(token) = self.tokens.next() {
            let (about, name) = match token {
                Token::About(about) => (about, self.name()?),
                Token::Name(name) => (String::new(), name),
                other => return Err(format!("a definition starts with {other:?}")),
            };
            self.expect("=")?;
            let mut schema = self.union()?;
            if !about.is_empty() {
                schema["description"] = json!(about);
            }
            self.local.insert(name.clone(), schema.clone());
            defined.push((name, schema));
        }
        Ok(Definitions { defined, taken_over: self.taken_over })
    }

    /// One type, and nothing after it.
    pub fn single_type(mut self) -> Result<Value, Problem> {
        let schema = self.union()?;
        match self.tokens.next() {
            None => Ok(schema),
            Some(token) => Err(format!("{token:?} follows the type")),
        }
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
