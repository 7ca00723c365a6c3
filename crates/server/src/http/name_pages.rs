//! Pages of lists that are sorted by name: queues, workers, schedules, pools.

use rota_engine::WorkerCounts;
use serde::Serialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::params::Params;
use super::{Access, View};

/// The most entries that a page by number may skip. Cursors have no such bound.
pub(super) const MAX_SKIP: usize = 100_000;

/// The page that a request asks for. Reading it takes one look at the engine.
pub(super) struct NameWindow {
    /// The engine's name of the entry before the page; empty for the first page.
    pub after: String,
    skip: usize,
    limit: usize,
    page: usize,
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
    /// `page` and `per_page`, or `limit` and `offset`, or `cursor`.
    pub fn from_params(params: &Params, default: u64, max_limit: u64) -> Result<Self, ApiError> {
        let limit = params.page_size(default, max_limit)?;
        let skip = params.skipped(limit)?;
        let field = if params.get("offset").is_some() { "offset" } else { "page" };
        check_depth(field, skip as usize)?;
        let page = params.number("page", 1, u64::MAX, skip / limit + 1)? as usize;
        let after = params.cursor()?.unwrap_or_default().to_owned();
        Ok(Self { after, skip: skip as usize, limit: limit as usize, page })
    }

    /// Reads the page. `look` gets the name before the page, how many entries to skip and the most to
    /// return; it returns the entries and the counts of the whole list. `name` is an entry's cursor, `size`
    /// its bytes in the answer.
    pub async fn read<T: Send + 'static, C: Total>(
        &self,
        app: &Access,
        look: impl FnOnce(View<'_>, &str, usize, usize) -> (Vec<T>, C) + Send + 'static,
        name: impl FnOnce(&T) -> String,
        size: impl Fn(&T) -> usize,
    ) -> Result<Page<T, C>, ApiError> {
        let (after, skip, limit) = (self.after.clone(), self.skip, self.limit);
        // One more entry than the limit shows whether there is another page.
        let look = app.look(move |view| look(view, &after, skip, limit + 1));
        let (mut items, counts) = look.await?;
        let total = counts.total();
        let length = items.len();
        items.truncate(limit);
        items.truncate(fitting(&items, app.settings.limits.answer_bytes, size));
        let has_more = items.len() < length;
        let mut pagination = json!({
            "total": total, "page": self.page, "per_page": limit, "limit": limit, "offset": skip,
        });
        pagination["has_more"] = json!(has_more);
        if let Some(last) = items.last().filter(|_| has_more) {
            pagination["next_cursor"] = json!(name(last));
        }
        Ok(Page { items, counts, pagination })
    }
}

/// How many of these entries fit into an answer; at least one. `size` is the bytes of an entry.
pub(super) fn fitting<T>(items: &[T], max_bytes: usize, size: impl Fn(&T) -> usize) -> usize {
    let mut bytes = 0_usize;
    let fits = |item: &&T| {
        bytes = bytes.saturating_add(size(item));
        bytes <= max_bytes
    };
    let count = items.iter().take_while(fits).count();
    count.max(items.len().min(1))
}

/// The bytes of a value as JSON, in `copies` places of an answer.
pub(super) fn json_bytes(value: &impl Serialize, copies: usize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("answers are plain data");
    (count.0 + 1) * copies
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
