//! Writes a JSON array that ends before the answer gets too long.

/// An answer that begins with an array. Elements that would make it longer than `max_bytes` are left
/// out, but the first is always written.
pub(super) struct BoundedList {
    out: Vec<u8>,
    /// Where the elements begin in `out`.
    start: usize,
    count: usize,
    max_bytes: usize,
}

/// What the buffer is created with; most answers are short.
const INITIAL_BYTES: usize = 4 << 10;

impl BoundedList {
    /// `opening` comes before the first element, such as `{"jobs":[`. It does not count.
    pub fn new(opening: &[u8], max_bytes: usize) -> Self {
        let mut out = Vec::with_capacity(INITIAL_BYTES);
        out.extend_from_slice(opening);
        let start = out.len();
        Self { out, start, count: 0, max_bytes }
    }

    /// Writes an element, or returns false if there is no room for it.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let before = self.out.len();
        if self.count > 0 {
            self.out.push(b',');
        }
        write(&mut self.out);
        if self.count > 0 && self.bytes() > self.max_bytes {
            self.out.truncate(before);
            return false;
        }
        self.count += 1;
        true
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// How many more bytes there is room for.
    pub fn room(&self) -> usize {
        self.max_bytes.saturating_sub(self.bytes())
    }

    /// Ends the array, and writes a second one with the same elements after `opening`, for clients that
    /// know the list by another name.
    pub fn repeat(&mut self, opening: &[u8]) {
        let end = self.out.len();
        self.out.reserve_exact(end - self.start + opening.len() + 512);
        self.out.extend_from_slice(opening);
        let second = self.out.len();
        self.out.extend_from_within(self.start..end);
        self.start = second;
    }

    /// The answer, whose array is followed by `closing`.
    pub fn finish(mut self, closing: &[u8]) -> Vec<u8> {
        self.out.extend_from_slice(closing);
        self.out
    }

    fn bytes(&self) -> usize {
        self.out.len() - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(bytes: usize) -> impl Fn(&mut Vec<u8>) {
        move |out| out.extend(std::iter::repeat_n(b'1', bytes))
    }

    #[test]
    fn ends_before_it_is_too_long() {
        let mut list = BoundedList::new(b"[", 10);
        assert!(list.push(element(4)) && list.push(element(5)));
        assert_eq!((list.len(), list.room()), (2, 0));
        assert!(!list.push(element(1)));
        assert_eq!(list.finish(b"]"), b"[1111,11111]");
    }

    #[test]
    fn the_first_element_is_written_whatever_its_size() {
        let mut list = BoundedList::new(b"{\"a\":[", 10);
        assert!(list.push(element(20)));
        assert!(!list.push(element(1)));
        list.repeat(b"],\"b\":[");
        let text = String::from_utf8(list.finish(b"]}")).unwrap();
        assert_eq!(text, format!(r#"{{"a":[{0}],"b":[{0}]}}"#, "1".repeat(20)));
    }
}
