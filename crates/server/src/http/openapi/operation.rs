//! The description of one operation: what a request to a route does, takes and answers.

/// A description, which holds for all routes that are aliases of each other.
#[derive(Debug)]
pub(super) struct Operation {
    /// The name that generated clients use.
    pub name: &'static str,
    pub summary: &'static str,
    /// Methods and paths, such as `GET /health`.
    pub routes: &'static [&'static str],
    pub body: RequestBody,
    pub answers: Vec<Answer>,
    /// Statuses of errors, besides those that any request may get.
    pub errors: Vec<u16>,
    /// Parameters whose description differs from the usual one: name, type, meaning.
    pub params: Vec<(&'static str, &'static str, &'static str)>,
    /// Request headers: name, type, meaning.
    pub headers: Vec<(&'static str, &'static str, &'static str)>,
}

/// What a request has as its body, in the notation of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestBody {
    /// Nothing, though an empty object is accepted too if the method can have a body.
    None,
    Optional(&'static str),
    Required(&'static str),
}

#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub content: Content,
    /// Names and meanings.
    pub headers: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    None,
    /// JSON of a type, in the notation of types.
    Json(&'static str),
    /// Another media type.
    Text(&'static str),
    /// JSON of a type, or another media type if the request accepts that.
    JsonOrText(&'static str, &'static str),
}

/// An operation without a body and without answers yet.
pub(super) fn operation(
    name: &'static str,
    summary: &'static str,
    routes: &'static [&'static str],
) -> Operation {
    Operation {
        name,
        summary,
        routes,
        body: RequestBody::None,
        answers: Vec::new(),
        errors: Vec::new(),
        params: Vec::new(),
        headers: Vec::new(),
    }
}

impl Operation {
    pub fn takes(mut self, kind: &'static str) -> Self {
        self.body = RequestBody::Required(kind);
        self
    }

    pub fn may_take(mut self, kind: &'static str) -> Self {
        self.body = RequestBody::Optional(kind);
        self
    }

    /// Answers with JSON of this type.
    pub fn gives(self, status: u16, kind: &'static str) -> Self {
        self.answers_with(status, Content::Json(kind))
    }

    pub fn answers_with(mut self, status: u16, content: Content) -> Self {
        self.answers.push(Answer { status, content, headers: &[] });
        self
    }

    /// Describes headers of the last answer.
    pub fn with_headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers = headers;
        }
        self
    }

    pub fn fails(mut self, statuses: &[u16]) -> Self {
        self.errors.extend(statuses);
        self
    }

    pub fn param(mut self, name: &'static str, kind: &'static str, about: &'static str) -> Self {
        self.params.push((name, kind, about));
        self
    }

    pub fn header(mut self, name: &'static str, kind: &'static str, about: &'static str) -> Self {
        self.headers.push((name, kind, about));
        self
    }
}
