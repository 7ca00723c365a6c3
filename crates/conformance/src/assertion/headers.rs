//! Checks response headers. Names are case-insensitive; a string is an exact value, an object is a matcher.

use serde_json::Value;

use super::Inspection;
use crate::{http::Response, matcher::Matcher};

impl Inspection<'_> {
    pub(super) fn headers(&mut self, expected: &Value, response: &Response) {
        let Some(headers) = expected.as_object() else {
            return self.not_understood("headers", &format!("unknown list of headers {expected}"));
        };
        for (name, expected) in headers {
            let what = format!("header {name}");
            let actual = response.header(name).map(Value::String);
            match expected {
                // `text/plain` is a value here and never the name of a matcher.
                Value::String(_) => {
                    let exact = Matcher::Equal(expected.clone());
                    self.apply(&what, expected, &exact, actual.as_ref());
                }
                _ => self.compare(&what, expected, actual.as_ref()),
            }
        }
    }
}
