//! The subset of JSONPath that the cases use: `$.a.b[0].c`, `$.jobs[?(@.id=='x')].state`,
//! `$.crons[*].name`. The leading `$.` is optional, because captures and templates leave it out.

use serde_json::Value;

mod parse;

#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Key(String),
    Index(usize),
    Every,
    Where { key: String, equals: String },
}

impl Path {
    pub fn parse(text: &str) -> Result<Path, String> {
        parse::segments(text).map(|segments| Path { segments })
    }

    /// A path of keys alone: `a.b.c`, where a dot may also belong to a key.
    pub fn of_keys(text: &str) -> Path {
        let segments = text.split('.').map(|key| Segment::Key(key.into()));
        Path { segments: segments.collect() }
    }

    /// The value at this path. `[*]` gives the list of all values found below it; a filter gives
    /// its first match.
    pub fn find(&self, root: &Value) -> Option<Value> {
        descend(root, &self.segments)
    }
}

fn descend(value: &Value, segments: &[Segment]) -> Option<Value> {
    let Some((first, rest)) = segments.split_first() else {
        return Some(value.clone());
    };
    match first {
        Segment::Key(_) => descend_keys(value, segments),
        Segment::Index(index) => descend(value.as_array()?.get(*index)?, rest),
        Segment::Every => {
            let found = value.as_array()?.iter().filter_map(|item| descend(item, rest));
            Some(Value::Array(found.collect()))
        }
        Segment::Where { key, equals } => {
            let mut items = value.as_array()?.iter();
            let item = items.find(|item| item.get(key).and_then(Value::as_str) == Some(equals))?;
            descend(item, rest)
        }
    }
}

/// Metadata keys contain dots (`ojs.codec.key_id`), and the cases write them unquoted. So keys are
/// taken one by one first, and where that leads nowhere several neighbours are tried as one key.
fn descend_keys(value: &Value, segments: &[Segment]) -> Option<Value> {
    let object = value.as_object()?;
    let mut joined = String::new();
    for (taken, segment) in segments.iter().enumerate() {
        let Segment::Key(key) = segment else { break };
        if taken > 0 {
            joined.push('.');
        }
        joined.push_str(key);
        let below = object.get(&joined).and_then(|child| descend(child, &segments[taken + 1..]));
        if below.is_some() {
            return below;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn find(path: &str, value: &Value) -> Option<Value> {
        Path::parse(path).unwrap().find(value)
    }

    #[test]
    fn follows_keys_and_indexes() {
        let value = json!({"job": {"args": [1, [2, "two"], {"deep": {"key": null}}]}});
        assert_eq!(find("$.job.args[0]", &value), Some(json!(1)));
        assert_eq!(find("$.job.args[1][1]", &value), Some(json!("two")));
        assert_eq!(find("$.job.args[2].deep.key", &value), Some(Value::Null));
        assert_eq!(find("job.args[0]", &value), Some(json!(1)));
        assert_eq!(find("$", &value), Some(value.clone()));
    }

    #[test]
    fn finds_nothing_where_nothing_is() {
        let value = json!({"jobs": [{"id": "a"}], "text": "x"});
        assert_eq!(find("$.jobs[1].id", &value), None);
        assert_eq!(find("$.jobs[0].state", &value), None);
        assert_eq!(find("$.text.more", &value), None);
        assert_eq!(find("$.text[0]", &value), None);
    }

    #[test]
    fn keys_with_dots_are_found() {
        let value = json!({"meta": {"ojs.codec.encodings": ["zstd"], "ojs": {"other": 1}}});
        assert_eq!(find("$.meta.ojs.codec.encodings[0]", &value), Some(json!("zstd")));
        assert_eq!(find("$.meta.ojs.other", &value), Some(json!(1)));
        let weights = json!({"ojs.federation.weights": {"us-east-1": 60}});
        assert_eq!(
            Path::of_keys("ojs.federation.weights.us-east-1").find(&weights),
            Some(json!(60))
        );
    }

    #[test]
    fn every_collects_what_is_there() {
        let value = json!({"crons": [{"name": "a"}, {"other": 1}, {"name": "b"}]});
        assert_eq!(find("$.crons[*].name", &value), Some(json!(["a", "b"])));
        assert_eq!(find("$.crons[*].name", &json!({"crons": []})), Some(json!([])));
        assert_eq!(find("$.crons[*].name", &json!({})), None);
    }

    #[test]
    fn a_filter_takes_the_first_match() {
        let value = json!({"jobs": [{"id": "a", "n": 1}, {"id": "b.c", "n": 2}]});
        assert_eq!(find("$.jobs[?(@.id=='b.c')].n", &value), Some(json!(2)));
        assert_eq!(find("$.jobs[?(@.id=='a')]", &value), Some(json!({"id": "a", "n": 1})));
        assert_eq!(find("$.jobs[?(@.id=='z')]", &value), None);
    }
}
