//! Pages of jobs, by cursor or by page number.

mod sorted_jobs;

use axum::http::StatusCode;
use rota_model::{Seq, State};
use rota_store::{Order, Record, Selection};
use serde_json::{Map, Value, json};

use super::access::ScopedQuery;
use super::bounded_list::BoundedList;
use super::error::{ApiError, ApiResult, excerpt};
use super::filter::{Extent, Filter, PagePlan};
use super::params::Params;
use super::{Access, View, job_json, reply};

/// The most lanes that the engine merges for one page.
const MAX_LANES: usize = 1_000;
/// The most jobs that the engine visits for one page.
const MAX_VISITED: usize = 100_000;
/// The most jobs that pages by number may reach. Cursors have no such bound.
const MAX_DEPTH: u64 = 10_000;

/// The page that a request asks for.
pub(super) struct Window {
    limit: usize,
    skip: usize,
    after: Option<Seq>,
    page: u64,
    order: Order,
    sort: Sort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Created,
    Scheduled,
    Priority,
}

impl Window {
    /// `page` and `per_page`, or `limit` and `offset`, or `cursor`.
    pub fn from_params(params: &Params, default: u64, max_limit: u64) -> Result<Self, ApiError> {
        let limit = params.page_size(default, max_limit)?;
        let skip = params.skipped(limit)?;
        let page = params.number("page", 1, u64::MAX, skip / limit + 1)?;
        if skip.saturating_add(limit) > MAX_DEPTH {
            return Err(ApiError::validation(
                "page",
                format!("Pages by number end after {MAX_DEPTH} jobs."),
            )
            .hint("Follow 'next_cursor' with ?cursor=... to read on; it has no such bound."));
        }
        let after = params.cursor()?.map(parse_cursor).transpose()?;
        let order = match params.get("order") {
            None | Some("desc") => Order::NewestFirst,
            Some("asc") => Order::OldestFirst,
            Some(other) => {
                let text = format!("'order' is '{}'; it must be asc or desc.", excerpt(other));
                return Err(ApiError::invalid_request(text).detail("field", "order"));
            }
        };
        let sort = match params.get("sort") {
            None | Some("created_at") => Sort::Created,
            Some("scheduled_at") => Sort::Scheduled,
            Some("priority") => Sort::Priority,
            Some(other) => {
                return Err(ApiError::invalid_request(format!(
                    "'sort' is '{}'; it must be created_at, scheduled_at or priority.",
                    excerpt(other)
                ))
                .detail("field", "sort"));
            }
        };
        Ok(Self { limit: limit as usize, skip: skip as usize, after, page, order, sort })
    }
}

/// The jobs of a page, and how the list goes on.
struct Found {
    records: Vec<Record>,
    /// Where the next page starts, if there is one and the list has cursors.
    next: Option<Seq>,
    has_more: bool,
}

/// Answers with one page of the jobs that match the filter. The page ends at the window's limit, or
/// earlier where the answer would get too long.
pub(super) async fn answer(app: &Access, filter: &Filter, window: &Window) -> ApiResult {
    let in_order = window.sort == Sort::Created;
    // One more job than the limit shows whether there is another page.
    let limit = if in_order { window.skip + window.limit } else { MAX_DEPTH as usize } + 1;
    let extent = Extent { after: window.after, order: window.order, limit };
    let look = move |view: View<'_>, query: &ScopedQuery| {
        if in_order { seqs_from_engine(view, query) } else { None }
    };
    let PagePlan { total, query, seqs } = filter.plan_page(app, extent, look).await?;
    let found = match (query, seqs) {
        (None, _) => Found { records: Vec::new(), next: None, has_more: false },
        (Some(query), Some(seqs)) => read_seqs(app, &query, seqs, window).await?,
        (Some(query), None) if in_order => read_in_order(app, query, window).await?,
        (Some(query), None) => sorted_jobs::read(app, query, window).await?,
    };
    Ok(reply::raw(StatusCode::OK, write_page(app, window, total, found)))
}

/// Writes the page. Jobs that do not fit are left to the next page.
fn write_page(app: &Access, window: &Window, total: Option<u64>, found: Found) -> Vec<u8> {
    let Found { records, mut next, mut has_more } = found;
    let mut list = BoundedList::new(b"{\"jobs\":[", max_bytes(app));
    let mut last = None;
    // Each record is dropped when it is written.
    for record in records {
        if !list.push(|out| job_json::write_record(out, &record)) {
            has_more = true;
            next = last.filter(|_| window.sort == Sort::Created);
            break;
        }
        last = Some(record.seq);
    }
    let mut pagination = Map::new();
    let mut put = |key: &str, value: Value| {
        pagination.insert(key.to_owned(), value);
    };
    match total {
        Some(total) => put("total", json!(total)),
        None => put("total_known", json!(false)),
    }
    put("limit", json!(window.limit));
    put("per_page", json!(window.limit));
    put("page", json!(window.page));
    put("offset", json!(window.skip));
    put("has_more", json!(has_more));
    if let Some(next) = next {
        put("next_cursor", json!(cursor(next)));
    } else if has_more && list.len() < window.limit {
        // The page was cut, so the next one by number would pass over jobs.
        put("next_offset", json!(window.skip + list.len()));
    }
    let pagination = Value::Object(pagination);
    list.repeat(b"],\"items\":[");
    let closing = match total {
        Some(total) => format!("],\"total\":{total},\"pagination\":{pagination}}}"),
        None => format!("],\"pagination\":{pagination}}}"),
    };
    list.finish(closing.as_bytes())
}

/// The most bytes of one list of jobs. An answer has each page twice.
fn max_bytes(app: &Access) -> usize {
    app.settings.limits.answer_bytes / 2
}

/// Reads a page in the order of creation from the store.
async fn read_in_order(
    app: &Access,
    mut query: ScopedQuery,
    window: &Window,
) -> Result<Found, ApiError> {
    query.set_extent(window.skip, window.limit + 1, max_bytes(app));
    let page = app.list(query).await?;
    let (mut records, mut next) = (page.records, page.next);
    if records.len() > window.limit {
        records.truncate(window.limit);
        next = records.last().map(|record| record.seq);
    }
    Ok(Found { records, next, has_more: next.is_some() })
}

/// The page's jobs, if the engine can name them without a scan: it indexes active jobs, and available
/// jobs by class, so a queue's few jobs are found among millions of others. `None` if the store has to be
/// read, because too many jobs or lanes would be visited.
fn seqs_from_engine(view: View<'_>, scoped: &ScopedQuery) -> Option<Vec<Seq>> {
    let query = scoped.as_query();
    if query.since.is_some() || query.until.is_some() {
        return None;
    }
    let (classes, after) = (query.classes.as_deref(), query.after);
    let descending = query.order == Order::NewestFirst;
    if query.select == Selection::state(State::Available) {
        let classes = classes?;
        let few = classes.len() <= MAX_LANES && classes.len() * query.limit <= MAX_VISITED;
        return few.then(|| view.available(scoped, descending)).flatten();
    }
    if query.select != Selection::state(State::Active) {
        return None;
    }
    let mut seqs = view.active_seqs(scoped, MAX_VISITED)?;
    if descending {
        seqs.reverse();
    }
    let follows =
        |seq: &Seq| after.is_none_or(|after| (*seq < after) == descending && *seq != after);
    Some(seqs.into_iter().filter(follows).take(query.limit).collect())
}

/// Reads the jobs that the engine has named.
async fn read_seqs(
    app: &Access,
    query: &ScopedQuery,
    mut seqs: Vec<Seq>,
    window: &Window,
) -> Result<Found, ApiError> {
    seqs.drain(..window.skip.min(seqs.len()));
    let is_last = seqs.len() <= window.limit;
    seqs.truncate(window.limit);
    let records = app.records(seqs.clone(), max_bytes(app)).await?;
    let has_more = !is_last || records.len() < seqs.len();
    let next = seqs[..records.len()].last().copied().filter(|_| has_more);
    // Leaves out jobs whose state has changed since the engine named them.
    let still_matches =
        |record: &Record| query.as_query().select == Selection::state(record.row.state());
    let records = records.into_iter().flatten().filter(still_matches).collect();
    Ok(Found { records, next, has_more })
}

fn cursor(seq: Seq) -> String {
    format!("c{:x}", seq.0)
}

fn parse_cursor(text: &str) -> Result<Seq, ApiError> {
    let number = text.strip_prefix('c').and_then(|hex| u64::from_str_radix(hex, 16).ok());
    number.map(Seq).ok_or_else(|| {
        ApiError::invalid_request("'cursor' is not a cursor of this server.")
            .detail("field", "cursor")
            .hint("Send 'next_cursor' of the previous page unchanged.")
    })
}
