//! What is pushed for recent events, rendered once and shared by all streams.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::form::{Piece, Variant};
use super::frame;
use super::json::event_id;
use crate::runtime::CHUNK;

/// The most chunks of events, and the most bytes, for which frames are kept.
const MAX_CHUNKS: usize = 32;
const MAX_BYTES: usize = 16 << 20;
/// Longer frames are not kept.
const MAX_FRAME: usize = 16 << 10;

/// Frames of recent events. Streams that keep up read the same few chunks.
#[derive(Default)]
pub(in super::super) struct Frames {
    /// By chunk, the newest last.
    recent: Mutex<VecDeque<Arc<ChunkFrames>>>,
}

/// The frames of the events in one chunk.
pub(super) struct ChunkFrames {
    first: u64,
    /// By event and variant.
    frames: Box<[[OnceLock<Frame>; Variant::COUNT]]>,
    bytes: AtomicUsize,
}

/// An event as it is pushed.
#[derive(Clone)]
pub(super) struct Frame {
    /// As a server-sent event.
    text: Bytes,
    /// Where its id, its name and its JSON are.
    id: Range<usize>,
    name: &'static str,
    json: Range<usize>,
}

impl Frames {
    pub(super) fn of(&self, first: u64) -> Arc<ChunkFrames> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = recent.iter().rev().find(|frames| frames.first == first) {
            return found.clone();
        }
        let bytes = |recent: &VecDeque<Arc<ChunkFrames>>| -> usize {
            recent.iter().map(|frames| frames.bytes.load(Ordering::Relaxed)).sum()
        };
        while recent.len() >= MAX_CHUNKS || bytes(&recent) > MAX_BYTES {
            recent.pop_front();
        }
        let new = Arc::new(ChunkFrames::new(first));
        // A reader that is behind comes before those that keep up, and is forgotten first.
        let place = recent.partition_point(|frames| frames.first < first);
        recent.insert(place, new.clone());
        new
    }
}

impl ChunkFrames {
    fn new(first: u64) -> Self {
        let frames = (0..CHUNK).map(|_| Default::default()).collect();
        Self { first, frames, bytes: AtomicUsize::new(0) }
    }

    /// The frame of an event, if it was rendered before.
    pub fn get(&self, number: u64, variant: Variant) -> Option<Frame> {
        self.slot(number, variant)?.get().cloned()
    }

    /// Renders a frame and keeps it.
    pub fn render(&self, number: u64, variant: Variant, piece: impl FnOnce() -> Piece) -> Frame {
        let frame = Frame::of(&piece());
        if frame.text.len() <= MAX_FRAME
            && let Some(slot) = self.slot(number, variant)
            && slot.set(frame.clone()).is_ok()
        {
            self.bytes.fetch_add(frame.text.len(), Ordering::Relaxed);
        }
        frame
    }

    fn slot(&self, number: u64, variant: Variant) -> Option<&OnceLock<Frame>> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        Some(&self.frames.get(index)?[variant as usize])
    }
}

impl Frame {
    fn of(piece: &Piece) -> Self {
        let mut text = Vec::with_capacity(1024);
        frame::write_event(&mut text, piece);
        // `id: ...`, `event: ...`, `data: ...` and an empty line.
        let id = 4..4 + event_id(piece.id).len();
        let json = id.end + "\nevent: ".len() + piece.name.len() + "\ndata: ".len();
        let json = json..text.len() - 2;
        Self { text: text.into(), id, name: piece.name, json }
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub fn id(&self) -> &str {
        self.slice(&self.id)
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn json(&self) -> &str {
        self.slice(&self.json)
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        std::str::from_utf8(&self.text[range.clone()]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rota_engine::{Event, EventKind};
    use rota_model::{Millis, TenantId};

    use super::*;
    use crate::runtime::{Events, Names};

    #[test]
    fn an_event_is_rendered_once_however_many_streams_there_are() {
        let (events, frames, renders) = (Events::empty(1_000), Frames::default(), Cell::new(0));
        let tenant = TenantId::parse("a").unwrap();
        let kind = EventKind::TenantCreated { tenant };
        events.publish_next(vec![Event { at: Millis(1), kind }; 300]);
        for _ in 0..100 {
            let mut from = 1;
            while let Some(chunk) = events.look(from).chunk {
                let shared = frames.of(chunk.first());
                for (number, event) in chunk.from(from) {
                    let frame = shared.get(number, Variant::Own).unwrap_or_else(|| {
                        renders.set(renders.get() + 1);
                        let piece = || {
                            Variant::Own.piece(
                                events.ids(number, event.at),
                                event,
                                &Names::default(),
                            )
                        };
                        shared.render(number, Variant::Own, piece)
                    });
                    assert_eq!(frame.name(), "tenant.created");
                    assert!(frame.json().contains("\"tenant_id\":\"a\""), "{}", frame.json());
                    assert!(frame.id().starts_with("evt_") && frame.json().ends_with('}'));
                }
                from = chunk.end();
            }
        }
        assert_eq!(renders.get(), 300);
    }

    #[test]
    fn few_chunks_are_kept() {
        let (events, frames) = (Events::empty(100_000), Frames::default());
        let tenant = TenantId::parse("a").unwrap();
        let event = Event { at: Millis(1), kind: EventKind::TenantCreated { tenant } };
        (0..100).for_each(|_| events.publish_next(vec![event.clone(); CHUNK]));
        let mut from = 1;
        while let Some(chunk) = events.look(from).chunk {
            let shared = frames.of(chunk.first());
            let piece =
                || Variant::Own.piece(events.ids(from, event.at), &event, &Names::default());
            shared.render(from, Variant::Own, piece);
            from = chunk.end();
        }
        let recent = frames.recent.lock().unwrap();
        assert_eq!(recent.len(), MAX_CHUNKS);
        assert!(recent.back().is_some_and(|last| last.first > 99 * CHUNK as u64));
    }
}
