//! Pages of lists.

use serde::Deserialize;

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<PageAt>,
    /// Total number of items, if the server knows it.
    pub total: Option<u64>,
}

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAt {
    /// After the last item of the previous page. Costs the same at any depth.
    Cursor(String),
    /// A page number, counted from 1. Servers may limit it.
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

/// The pagination member of a response.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Pagination {
    has_more: Option<bool>,
    next_cursor: Option<String>,
    page: Option<u64>,
    per_page: Option<u64>,
    total: Option<u64>,
}

impl Pagination {
    pub fn page<T>(self, items: Vec<T>) -> Page<T> {
        let next = match (self.has_more(), self.next_cursor, self.page) {
            (false, ..) => None,
            (true, Some(cursor), _) => Some(PageAt::Cursor(cursor)),
            (true, None, page) => Some(PageAt::Number(page.unwrap_or(1) + 1)),
        };
        Page { items, next, total: self.total }
    }

    /// Computed from the page number and the total if the response does not say.
    fn has_more(&self) -> bool {
        let counted = || match (self.page, self.per_page, self.total) {
            (Some(page), Some(per_page), Some(total)) => page.saturating_mul(per_page) < total,
            _ => false,
        };
        self.has_more.unwrap_or_else(|| self.next_cursor.is_some() || counted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(pagination: &str) -> Option<PageAt> {
        serde_json::from_str::<Pagination>(pagination).unwrap().page(vec![()]).next
    }

    #[test]
    fn the_next_page_is_told_or_counted() {
        assert_eq!(next(r#"{"has_more": true, "page": 2}"#), Some(PageAt::Number(3)));
        assert_eq!(next(r#"{"has_more": false, "next_cursor": "c"}"#), None);
        assert_eq!(next(r#"{"next_cursor": "c"}"#), Some(PageAt::Cursor("c".into())));
        assert_eq!(next(r#"{"total": 3, "page": 1, "per_page": 2}"#), Some(PageAt::Number(2)));
        assert_eq!(next(r#"{"total": 4, "page": 2, "per_page": 2}"#), None);
        assert_eq!(next(r#"{"total": 4}"#), None);
        assert_eq!(next("{}"), None);
    }
}
