//! Captures the output of a command.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time to read what is left in the pipe after a command has exited. Background processes that it
/// left running may hold the pipe open forever.
const AFTER_EXIT: Duration = Duration::from_secs(1);
const CHUNK: usize = 16 << 10;

/// A command's output: read to the end, but stored only up to a limit.
pub(super) struct Capture {
    kept: Arc<Mutex<Captured>>,
    reading: JoinHandle<()>,
}

/// The beginning and the end of the output.
#[derive(Debug, Default)]
pub(super) struct Captured {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub fn start(mut pipe: impl AsyncRead + Unpin + Send + 'static, limit: usize) -> Self {
        let kept = Arc::new(Mutex::new(Captured { limit, ..Captured::default() }));
        let filled = kept.clone();
        let reading = tokio::spawn(async move {
            let mut chunk = vec![0; CHUNK];
            while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
                filled.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..count]);
            }
        });
        Self { kept, reading }
    }

    /// Returns the output of a command that has exited.
    pub async fn end(mut self) -> Captured {
        let _ = timeout(AFTER_EXIT, &mut self.reading).await;
        self.reading.abort();
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Captured {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.limit - self.limit / 2);
        self.tail.drain(..excess);
    }

    /// Bytes that were printed but not stored.
    pub fn cut(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The stored output, with a mark where bytes were cut.
    pub fn text(&self) -> String {
        let (head, tail) = (String::from_utf8_lossy(&self.head), self.end_of(self.tail.len()));
        match self.cut() {
            0 => {
                let whole: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
                String::from_utf8_lossy(&whole).into_owned()
            }
            cut => format!("{head}\n[... {cut} bytes cut ...]\n{tail}"),
        }
    }

    /// Returns at most this many bytes from the end.
    pub fn end_of(&self, most: usize) -> String {
        let kept = self.head.len() + self.tail.len();
        let bytes = self.head.iter().chain(&self.tail).skip(kept.saturating_sub(most));
        String::from_utf8_lossy(&bytes.copied().collect::<Vec<u8>>()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, chunks: &[&str]) -> Captured {
        let mut captured = Captured { limit, ..Captured::default() };
        chunks.iter().for_each(|chunk| captured.push(chunk.as_bytes()));
        captured
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let all = captured(10, &["abc", "défg", "hi"]);
        assert_eq!((all.text().as_str(), all.cut()), ("abcdéfghi", 0));
        assert_eq!(all.end_of(2), "hi");
        assert_eq!(all.end_of(100), "abcdéfghi");
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept() {
        let some = captured(4, &["abcde", "fghij", "k"]);
        assert_eq!((some.text().as_str(), some.cut()), ("ab\n[... 7 bytes cut ...]\njk", 7));
        assert_eq!(some.end_of(1), "k");
    }
}
