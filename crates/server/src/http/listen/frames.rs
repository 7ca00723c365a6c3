//! Follows the frames that an HTTP/2 connection writes, to learn which answers the kernel has taken.

use std::collections::BTreeMap;
use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// Bytes of a frame's header.
const HEADER: usize = 9;
/// The type of frames with the content of answers.
const DATA: u8 = 0;
/// More streams than a connection may have at once, in case some were reset.
const MAX_STREAMS: usize = 256;

/// The length and the checksum of an answer's content. No two answers with claims are the same, because they
/// have the ids of their jobs and the times of their starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    length: u64,
    checksum: u64,
}

/// Content that is read piece by piece.
#[derive(Default)]
pub(super) struct Content {
    length: u64,
    hasher: XxHash3_64,
}

impl Content {
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.hasher.write(bytes);
    }

    pub fn digest(&self) -> Digest {
        Digest { length: self.length, checksum: self.hasher.finish() }
    }
}

/// The frames that were written so far.
#[derive(Default)]
pub(super) struct Frames {
    header: [u8; HEADER],
    header_bytes: usize,
    /// Bytes of the current frame that are still to come.
    left: usize,
    /// What was written of streams while answers were watched.
    contents: BTreeMap<u32, Content>,
}

impl Frames {
    /// Adds what was written. With `watch`, returns what each stream has got by the end of each of its frames.
    pub fn advance(&mut self, mut bytes: &[u8], watch: bool) -> Vec<Digest> {
        let mut digests = Vec::new();
        if !watch {
            self.contents.clear();
        }
        while !bytes.is_empty() {
            if self.header_bytes < HEADER {
                let count = bytes.len().min(HEADER - self.header_bytes);
                let (begin, rest) = bytes.split_at(count);
                self.header[self.header_bytes..][..count].copy_from_slice(begin);
                (self.header_bytes, bytes) = (self.header_bytes + count, rest);
                if self.header_bytes == HEADER {
                    let [a, b, c, ..] = self.header;
                    self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                }
            } else {
                let (payload, rest) = bytes.split_at(bytes.len().min(self.left));
                (self.left, bytes) = (self.left - payload.len(), rest);
                if watch && self.header[3] == DATA {
                    digests.extend(self.add(payload));
                }
            }
            if self.header_bytes == HEADER && self.left == 0 {
                self.header_bytes = 0;
            }
        }
        digests
    }

    /// Adds a part of the current frame. Returns the content of its stream if the frame is complete.
    fn add(&mut self, payload: &[u8]) -> Option<Digest> {
        let [.., a, b, c, d] = self.header;
        let stream = u32::from_be_bytes([a, b, c, d]);
        let content = self.contents.entry(stream).or_default();
        content.add(payload);
        let digest = (self.left == 0).then(|| content.digest());
        if self.contents.len() > MAX_STREAMS {
            self.contents.pop_first();
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0], &stream.to_be_bytes(), payload].concat()
    }

    fn digest(content: &[u8]) -> Digest {
        let mut all = Content::default();
        all.add(content);
        all.digest()
    }

    #[test]
    fn contents_of_streams_are_told_apart_however_they_are_cut() {
        let written = [
            frame(4, 0, &[0; 18]),
            frame(1, 1, b"headers"),
            frame(DATA, 1, b"a long "),
            frame(DATA, 3, b"another"),
            frame(4, 0, b""),
            frame(DATA, 1, b"answer"),
        ]
        .concat();
        let expected = [&b"a long "[..], b"another", b"a long answer"].map(digest);
        for size in 1..=written.len() {
            let mut frames = Frames::default();
            let pieces = written.chunks(size);
            let found: Vec<Digest> = pieces.flat_map(|piece| frames.advance(piece, true)).collect();
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn the_place_among_the_frames_is_known_although_nothing_was_watched() {
        let mut frames = Frames::default();
        let unwatched = frame(DATA, 1, &[7; 100]);
        assert!(frames.advance(&unwatched[..50], false).is_empty());
        assert!(frames.advance(&unwatched[50..], false).is_empty());
        assert_eq!(frames.advance(&frame(DATA, 3, b"x"), true), [digest(b"x")]);
    }

    #[test]
    fn streams_that_never_end_are_forgotten() {
        let mut frames = Frames::default();
        for stream in 0..2_000 {
            frames.advance(&frame(DATA, stream, b"x"), true);
        }
        assert_eq!(frames.contents.len(), MAX_STREAMS);
    }
}
