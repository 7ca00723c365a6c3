//! Pages of jobs, by cursor or by page number.

use rota_model::{Millis, Seq, State};
use rota_store::{ListPage, Order, Record, Selection};
use serde_json::{Map, Value, json};

use super::access::ScopedQuery;
use super::error::{ApiError, excerpt};
use super::filter::{Extent, Filter, PagePlan};
use super::params::Params;
use super::{Access, View};

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

pub(super) struct JobPage {
    pub records: Vec<Record>,
    pub pagination: Value,
}

/// Reads one page of the jobs that match the filter.
pub(super) async fn find(
    app: &Access,
    filter: &Filter,
    window: &Window,
) -> Result<JobPage, ApiError> {
    let in_order = window.sort == Sort::Created;
    // One more job than the limit shows whether there is another page.
    let limit = if in_order { window.skip + window.limit } else { MAX_DEPTH as usize } + 1;
    let extent = Extent { after: window.after, order: window.order, limit };
    let look = move |view: View<'_>, query: &ScopedQuery| {
        if in_order { seqs_from_engine(view, query) } else { None }
    };
    let PagePlan { total, query, seqs } = filter.plan_page(app, extent, look).await?;
    let (records, next, has_more) = match query {
        Some(query) if in_order => {
            let (records, next) = read_in_order(app, query, seqs, window).await?;
            (records, next, next.is_some())
        }
        Some(query) => {
            let (records, has_more) = read_sorted(app, query, window).await?;
            (records, None, has_more)
        }
        None => (Vec::new(), None, false),
    };
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
    }
    Ok(JobPage { records, pagination: Value::Object(pagination) })
}

/// Reads a page in the order of creation. Returns the cursor of the next page, if there is one.
async fn read_in_order(
    app: &Access,
    query: ScopedQuery,
    seqs: Option<Vec<Seq>>,
    window: &Window,
) -> Result<(Vec<Record>, Option<Seq>), ApiError> {
    let page = match seqs {
        Some(seqs) => read_seqs(app, &query, seqs).await?,
        None => app.list(query).await?,
    };
    let mut records = page.records;
    let has_more = records.len() > window.skip + window.limit;
    records.drain(..window.skip.min(records.len()));
    if has_more {
        records.truncate(window.limit);
        let last = records.last().map(|record| record.seq);
        return Ok((records, last));
    }
    Ok((records, page.next))
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

async fn read_seqs(
    app: &Access,
    query: &ScopedQuery,
    seqs: Vec<Seq>,
) -> Result<ListPage, ApiError> {
    let query = query.as_query();
    let next = seqs.last().filter(|_| seqs.len() == query.limit).copied();
    let records = app.records(seqs).await?;
    // Leaves out jobs whose state has changed since the engine named them.
    let still_matches = |record: &Record| query.select == Selection::state(record.row.state());
    let records = records.into_iter().flatten().filter(still_matches).collect();
    Ok(ListPage { records, next })
}

/// Reads a page in an order that no index has: reads all matching jobs, if they are few enough, and sorts
/// them. Such lists have page numbers but no cursors. Also returns whether there is another page.
async fn read_sorted(
    app: &Access,
    query: ScopedQuery,
    window: &Window,
) -> Result<(Vec<Record>, bool), ApiError> {
    if window.after.is_some() {
        return Err(ApiError::invalid_request("'cursor' can only be used with sort=created_at.")
            .detail("field", "cursor")
            .hint("Use 'page' for other orders."));
    }
    let page = app.list(query).await?;
    if page.records.len() > MAX_DEPTH as usize || page.next.is_some() {
        return Err(ApiError::validation(
            "sort",
            format!("More than {MAX_DEPTH} jobs match, too many to sort."),
        )
        .hint("Narrow the filter, or sort by created_at."));
    }
    let mut records = page.records;
    let sort = window.sort;
    records.sort_by_cached_key(|record| (sort_key(record, sort), record.seq));
    if window.order == Order::NewestFirst {
        records.reverse();
    }
    let rest = records.len().saturating_sub(window.skip + window.limit);
    records.drain(..window.skip.min(records.len()));
    records.truncate(window.limit);
    Ok((records, rest > 0))
}

fn sort_key(record: &Record, sort: Sort) -> i64 {
    #[derive(serde::Deserialize)]
    struct Keys {
        priority: Option<i64>,
        scheduled_at: Option<String>,
    }
    let text = format!("{{{}}}", String::from_utf8_lossy(&record.body.json));
    let Ok(keys) = serde_json::from_str::<Keys>(&text) else { return 0 };
    match sort {
        Sort::Priority => keys.priority.unwrap_or(0),
        Sort::Scheduled => keys
            .scheduled_at
            .and_then(|text| Millis::parse_rfc3339(&text).ok())
            .map_or(record.body.created.0, |time| time.0),
        Sort::Created => record.body.created.0,
    }
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
