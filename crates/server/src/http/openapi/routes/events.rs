//! Routes for events.

use crate::http::openapi::operation::{Content, Operation, operation};

const STREAM: &str = "text/event-stream";
const LAST: (&str, &str, &str) =
    ("Last-Event-ID", "string", "The event behind which to go on, as browsers send it.");

pub(super) fn operations() -> Vec<Operation> {
    let stream = |name, summary, routes| {
        operation(name, summary, routes)
            .header(LAST.0, LAST.1, LAST.2)
            .answers_with(200, Content::Text(STREAM))
    };
    vec![
        operation(
            "listEvents",
            "Lists recent events; with Accept: text/event-stream, streams new ones.",
            &["GET /ojs/v1/events"],
        )
        .header(LAST.0, LAST.1, LAST.2)
        .answers_with(200, Content::JsonOrText("Events", STREAM))
        .fails(&[404]),
        stream("streamEvents", "Streams events.", &["GET /ojs/v1/events/stream"]).fails(&[404]),
        stream(
            "streamQueueEvents",
            "Streams the events of a queue.",
            &["GET /ojs/v1/queues/{name}/events"],
        ),
        stream(
            "streamJobEvents",
            "Streams the events of a job.",
            &["GET /ojs/v1/jobs/{id}/events"],
        ),
        operation("connectWebSocket", "Opens a WebSocket for events.", &["GET /ojs/v1/ws"])
            .answers_with(101, Content::None)
            .fails(&[403, 404, 426]),
    ]
}
