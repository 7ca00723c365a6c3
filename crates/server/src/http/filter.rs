//! Which jobs a list or a bulk operation is about.

use rota_engine::{Engine, Totals};
use rota_model::{Class, ClassId, Millis, QueueName, Seq, State, TenantId};
use rota_store::{ListQuery, Order, Selection};

use super::App;
use super::caller::caller;
use super::error::ApiError;
use super::params::Params;

/// Rows that one request may look at. A page that comes to this bound is short and has a cursor.
const MOST_ROWS: usize = 50_000;
/// Classes that are looked at in one go.
const CLASSES: usize = 5_000;
/// Parameters that narrow a list of jobs, and those that tell where a page of it begins.
const PARAMS: [&str; 14] = [
    "tenant",
    "tenant_id",
    "queue",
    "type",
    "state",
    "since",
    "until",
    "page",
    "per_page",
    "limit",
    "offset",
    "cursor",
    "order",
    "sort",
];

/// Which jobs are meant.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// Whose; a caller's own, whatever is asked for.
    tenant: Option<TenantId>,
    /// Somebody else's jobs were asked for, which do not exist for the caller.
    foreign: bool,
    /// As clients call it.
    pub queue: Option<QueueName>,
    /// Exact, or a prefix with `*` at its end.
    pub kind: Option<String>,
    pub select: Selection,
    /// The one state that was asked for, if it was one.
    pub state: Option<State>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
}

impl Filter {
    pub fn from_params(params: &Params, select: Selection) -> Result<Self, ApiError> {
        params.only(&PARAMS)?;
        let mut filter = Self::all(select);
        if let Some(tenant) = params.tenant()? {
            filter = filter.of_tenant(tenant);
        }
        if let Some(name) = params.get("queue") {
            filter.set_queue(name)?;
        }
        if let Some(text) = params.get("state") {
            filter.set_state(text)?;
        }
        filter.kind = params.get("type").map(str::to_owned);
        filter.since = params.time("since")?;
        filter.until = params.time("until")?;
        Ok(filter)
    }

    /// Only jobs in the dead letter, which are all discarded.
    pub fn dead_letter(params: &Params) -> Result<Self, ApiError> {
        let mut filter = Self::from_params(params, Selection::DEAD_LETTER)?;
        if filter.state.is_some_and(|state| state != State::Discarded) {
            return Err(ApiError::invalid_request("Jobs in the dead letter are all discarded.")
                .hint("Leave 'state' out.")
                .detail("field", "state"));
        }
        (filter.select, filter.state) = (Selection::DEAD_LETTER, None);
        Ok(filter)
    }

    pub fn all(select: Selection) -> Self {
        Self {
            tenant: caller(),
            foreign: false,
            queue: None,
            kind: None,
            select,
            state: None,
            since: None,
            until: None,
        }
    }

    /// Only jobs of this tenant.
    pub fn of_tenant(mut self, tenant: TenantId) -> Self {
        self.foreign |= self.tenant.as_ref().is_some_and(|own| *own != tenant);
        self.tenant.get_or_insert(tenant);
        self
    }

    pub fn set_tenant(&mut self, id: &str, field: &str) -> Result<(), ApiError> {
        let tenant = TenantId::parse(id).map_err(|e| {
            ApiError::invalid_request(format!("'{field}' {e}.")).detail("field", field)
        })?;
        *self = self.clone().of_tenant(tenant);
        Ok(())
    }

    pub fn set_queue(&mut self, name: &str) -> Result<(), ApiError> {
        let queue = QueueName::parse(name).map_err(|e| {
            ApiError::invalid_request(format!("'queue' {e}.")).detail("field", "queue")
        })?;
        self.queue = Some(queue);
        Ok(())
    }

    pub fn set_state(&mut self, text: &str) -> Result<(), ApiError> {
        let state = parse_state(text)?;
        self.select = Selection::state(state);
        self.state = Some(state);
        Ok(())
    }

    /// What the store is asked for; `None` when no job can match.
    pub async fn query(&self, app: &App) -> Result<Option<ListQuery>, ApiError> {
        let extent = Extent { after: None, order: Order::NewestFirst, limit: 0 };
        Ok(self.look(app, extent, |_, _| None).await?.query)
    }

    /// What the engine has to say about one page of a list; `find` names the page's jobs, where the
    /// engine can. That is one look, and one more for each further slice of classes.
    pub async fn look(
        &self,
        app: &App,
        extent: Extent,
        find: impl Fn(&Engine, &ListQuery) -> Option<Vec<Seq>> + Clone + Send + 'static,
    ) -> Result<Seen, ApiError> {
        if self.foreign {
            return Ok(Seen { total: self.is_counted().then_some(0), query: None, seqs: None });
        }
        let Extent { after, order, limit } = extent;
        let classes = self.names_classes().then(Vec::new);
        let (select, since, until) = (self.select, self.since, self.until);
        let mut query =
            ListQuery { select, classes, since, until, after, order, limit, scan: MOST_ROWS };
        let (mut counted, mut total, mut from) = (self.counted(app), None, None);
        loop {
            let (filter, find, counted) = (self.clone(), find.clone(), counted.take());
            let look = app.handle.look(move |engine| {
                let totals = counted.map(|counted| counted.totals(engine));
                let classes = query.classes.as_mut();
                let next = classes.and_then(|classes| filter.add_classes(engine, from, classes));
                let matches = query.classes.as_ref().is_none_or(|classes| !classes.is_empty());
                let seqs = if matches && next.is_none() { find(engine, &query) } else { None };
                (totals, query, next, seqs, matches)
            });
            let (totals, asked, next, seqs, matches) = look.await?;
            total = total.or(totals.map(|totals| self.count(&totals)));
            if next.is_none() {
                return Ok(Seen { total, query: matches.then_some(asked), seqs });
            }
            (query, from) = (asked, next);
        }
    }

    fn names_classes(&self) -> bool {
        self.tenant.is_some() || self.queue.is_some() || self.kind.is_some()
    }

    /// Adds the classes of a slice that are meant, in order. Where to go on, if there are more.
    fn add_classes(
        &self,
        engine: &Engine,
        from: Option<usize>,
        known: &mut Vec<ClassId>,
    ) -> Option<usize> {
        let matches = |class: &Class| {
            let queue_fits =
                self.queue.as_ref().is_none_or(|queue| *class.queue.local() == **queue);
            let kind_fits = self.kind.as_ref().is_none_or(|kind| match kind.strip_suffix('*') {
                Some(prefix) => class.kind.starts_with(prefix),
                None => *class.kind == **kind,
            });
            queue_fits && kind_fits
        };
        let (slice, next) = match &self.tenant {
            Some(tenant) => engine.classes_of_tenant(tenant, from, CLASSES, matches),
            None => engine.classes_slice(from.unwrap_or(0), CLASSES, matches),
        };
        known.extend(slice);
        if next.is_none() {
            known.sort_unstable();
            known.dedup();
        }
        next
    }

    /// How many jobs match may be known.
    fn is_counted(&self) -> bool {
        self.kind.is_none() && self.since.is_none() && self.until.is_none()
    }

    /// The counters that tell how many jobs match, where there are any.
    fn counted(&self, app: &App) -> Option<Counted> {
        if !self.is_counted() {
            return None;
        }
        let queue = match (&self.queue, &self.tenant) {
            (Some(queue), Some(tenant)) if app.is_namespaced() => Some(queue.in_namespace(tenant)),
            // Every tenant may have a queue of this name.
            (Some(_), None) if app.is_namespaced() => return None,
            (queue, _) => queue.clone(),
        };
        Some(Counted { queue, tenant: self.tenant.clone() })
    }

    fn count(&self, totals: &Totals) -> u64 {
        if self.select == Selection::DEAD_LETTER {
            return totals.dead_letter();
        }
        let wanted = |state: &State| self.state.is_none_or(|one| one == *state);
        State::ALL.iter().filter(|s| wanted(s)).map(|state| totals.of(*state)).sum()
    }
}

/// Where a page of a list begins, and how long it is.
pub(super) struct Extent {
    pub after: Option<Seq>,
    pub order: Order,
    pub limit: usize,
}

/// What the engine has to say about one page of a list.
pub(super) struct Seen {
    /// How many jobs match, where a counter knows.
    pub total: Option<u64>,
    /// What the store is asked for; `None` when no job can match.
    pub query: Option<ListQuery>,
    /// The jobs of the page, where the engine can name them.
    pub seqs: Option<Vec<Seq>>,
}

/// A queue, a tenant, or a tenant in a queue, whose jobs are counted.
#[derive(Clone)]
struct Counted {
    queue: Option<QueueName>,
    tenant: Option<TenantId>,
}

impl Counted {
    fn totals(&self, engine: &Engine) -> Totals {
        match (&self.queue, &self.tenant) {
            (None, None) => engine.totals(),
            (None, Some(tenant)) => engine.totals_of_tenant(tenant),
            (Some(queue), tenant) => engine.totals_of_queue(queue, tenant.as_ref()),
        }
    }
}

pub(super) fn parse_state(text: &str) -> Result<State, ApiError> {
    State::parse(text).ok_or_else(|| {
        let states = State::ALL.map(State::as_str).join(", ");
        ApiError::invalid_request(format!("'{text}' is not a state."))
            .hint(format!("One of: {states}."))
    })
}
