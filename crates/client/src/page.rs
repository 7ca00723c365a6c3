use serde::Deserialize;

/// A part of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins; without it this was the last one.
    pub next: Option<PageAt>,
    /// How many there are in all, where the server knows.
    pub total: Option<u64>,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAt {
    Cursor(String),
    Number(u64),
}

impl PageAt {
    pub(crate) fn cursor(&self) -> Option<&str> {
        match self {
            Self::Cursor(cursor) => Some(cursor),
            Self::Number(_) => None,
        }
    }

    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Cursor(_) => None,
            Self::Number(number) => Some(*number),
        }
    }
}

/// What the server says about a page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Pagination {
    #[serde(default)]
    has_more: bool,
    next_cursor: Option<String>,
    page: Option<u64>,
    total: Option<u64>,
}

impl Pagination {
    pub fn page<T>(self, items: Vec<T>) -> Page<T> {
        let next = match (self.has_more, self.next_cursor, self.page) {
            (false, ..) => None,
            (true, Some(cursor), _) => Some(PageAt::Cursor(cursor)),
            (true, None, page) => Some(PageAt::Number(page.unwrap_or(1) + 1)),
        };
        Page { items, next, total: self.total }
    }
}
