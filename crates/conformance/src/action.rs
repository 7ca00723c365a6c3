//! What a step does: sends a request, waits, or compares earlier responses.

use serde_json::{Map, Value};
use ureq::http::Method;

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Send(Method),
    /// An operation by name, as the federation and machine-learning cases write it. Its route is
    /// ours to know.
    Operate(Operation),
    Wait,
    Assert,
    Unknown(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Push,
    Get,
    Fetch,
    Ack,
}

impl Action {
    pub fn named(name: &str) -> Action {
        match name {
            "GET" => Action::Send(Method::GET),
            "POST" => Action::Send(Method::POST),
            "PUT" => Action::Send(Method::PUT),
            "PATCH" => Action::Send(Method::PATCH),
            "DELETE" => Action::Send(Method::DELETE),
            "push" => Action::Operate(Operation::Push),
            "get" => Action::Operate(Operation::Get),
            "fetch" => Action::Operate(Operation::Fetch),
            "ack" => Action::Operate(Operation::Ack),
            "WAIT" => Action::Wait,
            "ASSERT" => Action::Assert,
            _ => Action::Unknown(name.into()),
        }
    }

    /// Operations describe the job itself, so what they expect may stand under `job` in the answer.
    pub fn looks_into_job(&self) -> bool {
        matches!(self, Action::Operate(_))
    }
}

impl Operation {
    /// The method, path and body that carry out this operation.
    pub fn request(
        self,
        request: &Map<String, Value>,
    ) -> Result<(Method, String, Option<Value>), String> {
        let id = || request.get("id").and_then(Value::as_str).ok_or("the request names no id");
        Ok(match self {
            Operation::Push => post("/ojs/v1/jobs", request.clone()),
            Operation::Get => (Method::GET, format!("/ojs/v1/jobs/{}", id()?), None),
            Operation::Fetch => post("/ojs/v1/workers/fetch", request.clone()),
            Operation::Ack => {
                let mut body = request.clone();
                body.insert("job_id".into(), id()?.into());
                body.remove("id");
                post("/ojs/v1/workers/ack", body)
            }
        })
    }
}

fn post(path: &str, body: Map<String, Value>) -> (Method, String, Option<Value>) {
    (Method::POST, path.into(), Some(Value::Object(body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_have_their_routes() {
        let request = json!({"id": "j-1", "worker_id": "w"});
        let request = request.as_object().unwrap();
        let (method, path, body) = Operation::Get.request(request).unwrap();
        assert_eq!((method, path.as_str(), body), (Method::GET, "/ojs/v1/jobs/j-1", None));
        let (method, path, body) = Operation::Ack.request(request).unwrap();
        assert_eq!((method, path.as_str()), (Method::POST, "/ojs/v1/workers/ack"));
        assert_eq!(body, Some(json!({"job_id": "j-1", "worker_id": "w"})));
        assert!(Operation::Get.request(&Map::new()).is_err());
    }

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(Action::named("get"), Action::Operate(Operation::Get));
        assert_eq!(Action::named("GET"), Action::Send(Method::GET));
        assert_eq!(Action::named("HEAD"), Action::Unknown("HEAD".into()));
    }
}
