//! The messages that the server sends over a WebSocket, as JSON.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::super::super::error::ApiError;
use super::super::form::{Form, Piece};
use super::super::frames::Frame;
use super::super::json::event_id;
use super::request::ENVELOPES;
use super::subscriptions::Subscription;

fn text(value: &Value) -> Message {
    Message::text(value.to_string())
}

pub(super) fn subscribed(subscription: &Subscription) -> Message {
    if subscription.request.channel == ENVELOPES {
        let id = &subscription.name;
        return text(&json!({
            "type": "subscribed", "action": "subscribed", "channel": ENVELOPES, "subscription_id": id,
        }));
    }
    let mut message = json!({"type": "subscribed", "channel": subscription.name});
    if let Some(types) = &subscription.request.event_types {
        message["event_types"] = json!(types);
    }
    text(&message)
}

pub(super) fn unsubscribed(subscription: &Subscription) -> Message {
    text(&match &*subscription.request.channel {
        ENVELOPES => json!({
            "type": "unsubscribed", "action": "unsubscribed", "channel": ENVELOPES,
            "subscription_id": subscription.name,
        }),
        _ => json!({"type": "unsubscribed", "channel": subscription.name}),
    })
}

/// `session` is added to the id, so that a client that comes back with it gets its subscriptions back.
pub(super) fn event(subscription: &Subscription, frame: &Frame, at: &str, session: u64) -> Message {
    match subscription.form {
        Form::Envelope => Message::text(frame.json()),
        Form::Flat(_) => {
            let id = with_session(frame.id(), session);
            let (channel, event) = (json!(subscription.name), json!(frame.name()));
            // Times and ids need no escaping.
            Message::text(format!(
                r#"{{"type":"event","channel":{channel},"event":{event},"data":{},"id":"{id}","timestamp":"{at}"}}"#,
                frame.json()
            ))
        }
    }
}

/// A notice about the subscription itself.
pub(super) fn notice(subscription: &Subscription, piece: Piece, at: &str, session: u64) -> Message {
    match subscription.form {
        Form::Envelope => text(&piece.data),
        Form::Flat(_) => text(&json!({
            "type": "event",
            "channel": subscription.name,
            "event": piece.name,
            "data": piece.data,
            "id": session_id(&piece, session),
            "timestamp": at,
        })),
    }
}

/// An event that belongs to no channel.
pub(super) fn system_event(piece: Piece, at: &str, session: u64) -> Message {
    text(&json!({
        "type": "event",
        "channel": "system",
        "event": piece.name,
        "id": session_id(&piece, session),
        "data": piece.data,
        "timestamp": at,
    }))
}

fn session_id(piece: &Piece, session: u64) -> String {
    with_session(&event_id(piece.id), session)
}

fn with_session(id: &str, session: u64) -> String {
    format!("{id}.{session:016x}")
}

/// `dropped` is the data of a `system.events_dropped`.
pub(super) fn warning(dropped: &Value) -> Message {
    text(&json!({
        "type": "warning",
        "code": "events_dropped",
        "count": dropped["dropped_count"],
        "channel": dropped["channel"],
        "oldest_dropped_id": dropped["oldest_dropped_id"],
        "newest_dropped_id": dropped["newest_dropped_id"],
    }))
}

pub(super) fn error(error: &ApiError, channel: Option<&str>) -> Message {
    let mut message = json!({
        "type": "error", "code": error.code(), "message": error.message(), "hint": error.advice(),
    });
    if let Some(channel) = channel {
        message["channel"] = json!(channel);
    }
    text(&message)
}

pub(super) fn unknown_event_id() -> Message {
    text(&json!({
        "type": "error",
        "code": "unknown_event_id",
        "message": "Event ID not found in buffer. Perform a full state sync.",
    }))
}
