//! Pages of lists that are sorted by name: queues, workers, schedules, pools.

use rota_engine::{Engine, WorkerCounts};
use serde_json::{Value, json};

use super::App;
use super::error::ApiError;
use super::params::Params;

/// The most entries that a page by number may skip. Cursors have no such bound.
const MAX_SKIP: usize = 100_000;

/// The page that a request asks for. Reading it takes one look at the engine.
pub(super) struct NameWindow {
    /// The engine's name of the entry before the page; empty for the first page.
    pub after: String,
    skip: usize,
    limit: usize,
    /// The page's number in lists with `page`; `None` in lists with `offset`.
    page: Option<usize>,
}

/// A page of entries.
pub(super) struct Page<T, C = usize> {
    pub items: Vec<T>,
    pub counts: C,
    pub pagination: Value,
}

/// Counts from which the length of the whole list follows.
pub(super) trait Total: Send + 'static {
    fn total(&self) -> usize;
}

impl Total for usize {
    fn total(&self) -> usize {
        *self
    }
}

impl Total for WorkerCounts {
    fn total(&self) -> usize {
        self.all()
    }
}

impl NameWindow {
    /// For a list with `page` and `per_page`. `more` are the list's other parameters.
    pub fn pages(params: &Params, more: &[&str]) -> Result<Self, ApiError> {
        params.only(&[&["page", "per_page", "cursor"], more].concat())?;
        let limit = params.number("per_page", 1, 100, 20)? as usize;
        let page = params.number("page", 1, 1_000_000, 1)? as usize;
        Self::new(params, "page", (page - 1) * limit, limit, Some(page))
    }

    /// For a list with `limit` and `offset`. `more` are the list's other parameters.
    pub fn offsets(
        params: &Params,
        more: &[&str],
        default: u64,
        max_limit: u64,
    ) -> Result<Self, ApiError> {
        params.only(&[&["limit", "offset", "cursor"], more].concat())?;
        let limit = params.number("limit", 1, max_limit, default)? as usize;
        let offset = params.number("offset", 0, u64::MAX, 0)? as usize;
        Self::new(params, "offset", offset, limit, None)
    }

    fn new(
        params: &Params,
        field: &str,
        skip: usize,
        limit: usize,
        page: Option<usize>,
    ) -> Result<Self, ApiError> {
        check_depth(field, skip)?;
        let after = params.cursor()?.unwrap_or_default().to_owned();
        Ok(Self { after, skip, limit, page })
    }

    /// Reads the page. `look` gets the name before the page, how many entries to skip and the most to
    /// return; it returns the entries and the counts of the whole list. `name` is an entry's cursor.
    pub async fn read<T: Send + 'static, C: Total>(
        &self,
        app: &App,
        look: impl FnOnce(&Engine, &str, usize, usize) -> (Vec<T>, C) + Send + 'static,
        name: impl FnOnce(&T) -> String,
    ) -> Result<Page<T, C>, ApiError> {
        let (after, skip, limit) = (self.after.clone(), self.skip, self.limit);
        // One more entry than the limit shows whether there is another page.
        let look = app.handle.look(move |engine| look(engine, &after, skip, limit + 1));
        let (mut items, counts) = look.await?;
        let total = counts.total();
        let has_more = items.len() > limit;
        items.truncate(limit);
        let mut pagination = match self.page {
            Some(page) => json!({"total": total, "page": page, "per_page": limit}),
            None => json!({"total": total, "limit": limit, "offset": skip}),
        };
        pagination["has_more"] = json!(has_more);
        if let Some(last) = items.last().filter(|_| has_more) {
            pagination["next_cursor"] = json!(name(last));
        }
        Ok(Page { items, counts, pagination })
    }
}

/// Refuses to pass over so many entries that a page would cost too much.
pub(super) fn check_depth(field: &str, skip: usize) -> Result<(), ApiError> {
    if skip <= MAX_SKIP {
        return Ok(());
    }
    let text = format!("Pages by number end after {MAX_SKIP} entries.");
    Err(ApiError::validation(field, text)
        .hint("Follow 'next_cursor' with ?cursor=... to go on; that has no end."))
}
