//! Server-sent events as text.

use rota_model::JobId;

use super::form::Piece;
use super::json::event_id;

/// How long a client waits before it comes back, in milliseconds.
const RETRY_MS: u32 = 3000;

/// The first lines. With an id, because a client that loses the connection before its first event
/// shall go on from here too.
pub(super) fn write_greeting(out: &mut Vec<u8>, place: JobId) {
    let text = format!("retry: {RETRY_MS}\nid: {}\n\n", event_id(place));
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn write_event(out: &mut Vec<u8>, piece: &Piece) {
    let head = format!("id: {}\nevent: {}\ndata: ", event_id(piece.id), piece.name);
    out.extend_from_slice(head.as_bytes());
    serde_json::to_writer(&mut *out, &piece.data).expect("events are plain data");
    out.extend_from_slice(b"\n\n");
}

/// Says that the stream is alive and where it is: it may have passed events that were not wanted. The id
/// is there in any case, so that it tells nobody whether other tenants' events were among them.
pub(super) fn write_heartbeat(out: &mut Vec<u8>, place: JobId) {
    out.extend_from_slice(format!(":heartbeat\nid: {}\n\n", event_id(place)).as_bytes());
}

pub(super) fn write_dropped(out: &mut Vec<u8>, count: u64) {
    out.extend_from_slice(format!(":events-dropped {count}\n\n").as_bytes());
}
