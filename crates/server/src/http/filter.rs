//! The filter that selects jobs for a list or a bulk operation.

use rota_engine::Totals;
use rota_model::{Class, ClassId, Millis, QueueName, Seq, State, TenantId};
use rota_store::{DeadFilter, ListQuery, Order, Selection};

use super::access::ScopedQuery;
use super::error::{ApiError, excerpt};
use super::params::Params;
use super::{Access, View};

/// The most rows that one request may read. A page that reaches this bound is short and has a cursor.
const MAX_ROWS: usize = 50_000;
/// The most bytes of jobs that are read at once, where nothing else is said.
const SLICE_BYTES: usize = 4 << 20;
/// Classes per slice.
const CLASSES: usize = 5_000;
/// Selects jobs. All conditions must hold.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// The caller, or else the tenant that an operator names.
    tenant: Option<TenantId>,
    /// A tenant asked for another tenant's jobs; no job matches.
    foreign: bool,
    /// The queue's name as clients see it.
    pub queue: Option<QueueName>,
    /// A job type, or a prefix followed by `*`.
    pub kind: Option<String>,
    pub select: Selection,
    /// The state that the client named, if any.
    pub state: Option<State>,
    pub since: Option<Millis>,
    pub until: Option<Millis>,
    /// Conditions on jobs in the dead letter.
    pub dead: DeadFilter,
}

impl Filter {
    pub fn from_params(app: &Access, params: &Params, select: Selection) -> Result<Self, ApiError> {
        let mut filter = Self::all(app, select);
        if let Some(tenant) = params.tenant()? {
            filter = filter.of_tenant(tenant);
        }
        if let Some(name) = params.get("queue") {
            filter.set_queue(name)?;
        }
        if let Some(text) = params.get("state") {
            filter.set_state(text)?;
        }
        if params.flag("exclude_terminal")? == Some(true) {
            filter.exclude_terminal()?;
        }
        filter.kind = params.get("type").map(str::to_owned);
        filter.since = params.time("since")?;
        filter.until = params.time("until")?;
        Ok(filter)
    }

    /// A filter for jobs in the dead letter, all of which are discarded.
    pub fn dead_letter(app: &Access, params: &Params) -> Result<Self, ApiError> {
        let mut filter = Self::from_params(app, params, Selection::DEAD_LETTER)?;
        if filter.state.is_some_and(|state| state != State::Discarded) {
            return Err(ApiError::invalid_request("Jobs in the dead letter are all discarded.")
                .hint("Leave 'state' out.")
                .detail("field", "state"));
        }
        (filter.select, filter.state) = (Selection::DEAD_LETTER, None);
        filter.dead = DeadFilter {
            error_type: params.get("error_type").map(Into::into),
            since: filter.since.take(),
            until: filter.until.take(),
        };
        Ok(filter)
    }

    pub fn all(app: &Access, select: Selection) -> Self {
        Self {
            tenant: app.tenant().cloned(),
            foreign: false,
            queue: None,
            kind: None,
            select,
            state: None,
            since: None,
            until: None,
            dead: DeadFilter::default(),
        }
    }

    /// Restricts the filter to a tenant's jobs.
    pub fn of_tenant(mut self, tenant: TenantId) -> Self {
        self.foreign |= self.tenant.as_ref().is_some_and(|caller| *caller != tenant);
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

    /// Leaves out finished jobs.
    fn exclude_terminal(&mut self) -> Result<(), ApiError> {
        match self.state {
            None => self.select = Selection::UNFINISHED,
            Some(state) if state.is_terminal() => {
                let text = format!("'exclude_terminal' leaves out all jobs that are {state}.");
                return Err(ApiError::invalid_request(text).detail("field", "exclude_terminal"));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// The query for the store; `None` if no job can match.
    pub async fn query(&self, app: &Access) -> Result<Option<ScopedQuery>, ApiError> {
        let extent = Extent { after: None, order: Order::NewestFirst, limit: 0 };
        Ok(self.plan_page(app, extent, |_, _| None).await?.query)
    }

    /// Asks the engine about one page: the total, the query for the store, and the page's jobs if `find`
    /// can name them. Takes one look at the engine for each slice of classes.
    pub async fn plan_page(
        &self,
        app: &Access,
        extent: Extent,
        find: impl Fn(View<'_>, &ScopedQuery) -> Option<Vec<Seq>> + Clone + Send + 'static,
    ) -> Result<PagePlan, ApiError> {
        if self.foreign {
            return Ok(PagePlan { total: self.is_counted().then_some(0), query: None, seqs: None });
        }
        let Extent { after, order, limit } = extent;
        let classes = self.selects_classes().then(Vec::new);
        let (select, since, until) = (self.select, self.since, self.until);
        let dead = (select == Selection::DEAD_LETTER).then(|| self.dead.clone());
        let mut query = ListQuery {
            select,
            classes,
            since,
            until,
            dead,
            after,
            order,
            skip: 0,
            limit,
            max_bytes: SLICE_BYTES,
            scan: MAX_ROWS,
        };
        let (mut counted, mut total, mut from) = (self.counted(app), None, None);
        loop {
            let (filter, find, counted) = (self.clone(), find.clone(), counted.take());
            let look = app.look(move |view| {
                let totals = counted.map(|counted| counted.totals(view));
                let classes = query.classes.as_mut();
                let next = classes.and_then(|classes| filter.add_classes(view, from, classes));
                if next.is_some() {
                    return (totals, Planned::Part(query, next));
                }
                if query.classes.as_ref().is_some_and(Vec::is_empty) {
                    return (totals, Planned::Nothing);
                }
                let query = view.query(query);
                let seqs = find(view, &query);
                (totals, Planned::Whole(query, seqs))
            });
            let (totals, planned) = look.await?;
            total = total.or(totals.map(|totals| self.count(&totals)));
            match planned {
                Planned::Part(extended, next) => (query, from) = (extended, next),
                Planned::Nothing => return Ok(PagePlan { total, query: None, seqs: None }),
                Planned::Whole(query, seqs) => {
                    return Ok(PagePlan { total, query: Some(query), seqs });
                }
            }
        }
    }

    /// Whether the filter excludes some classes.
    fn selects_classes(&self) -> bool {
        self.tenant.is_some() || self.queue.is_some() || self.kind.is_some()
    }

    /// Adds the matching classes of one slice to `classes`, which is sorted after the last slice. Returns
    /// where the next slice starts, if there is one.
    fn add_classes(
        &self,
        view: View<'_>,
        from: Option<usize>,
        classes: &mut Vec<ClassId>,
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
        let (slice, next) = view.classes(self.tenant.as_ref(), from, CLASSES, matches);
        classes.extend(slice);
        if next.is_none() {
            classes.sort_unstable();
            classes.dedup();
        }
        next
    }

    /// Whether counters may know the number of matching jobs.
    fn is_counted(&self) -> bool {
        let any_time = self.since.is_none() && self.until.is_none();
        self.kind.is_none() && any_time && self.dead == DeadFilter::default()
    }

    /// The counters that know the number of matching jobs, if there are any.
    fn counted(&self, app: &Access) -> Option<Counted> {
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
        let matches = |state: &State| match state.is_terminal() {
            true => self.select.endings().any(|ending| ending.state() == *state),
            false => self.select.has_state(*state),
        };
        State::ALL.iter().filter(|s| matches(s)).map(|state| totals.of(*state)).sum()
    }
}

/// Where a page of jobs starts, and how long it is.
pub(super) struct Extent {
    pub after: Option<Seq>,
    pub order: Order,
    pub limit: usize,
}

/// How to read one page of jobs.
pub(super) struct PagePlan {
    /// The number of matching jobs, if a counter knows it.
    pub total: Option<u64>,
    /// The query for the store; `None` if no job can match.
    pub query: Option<ScopedQuery>,
    /// The jobs of the page, if the engine can name them.
    pub seqs: Option<Vec<Seq>>,
}

/// How far a page is planned after one look at the engine.
enum Planned {
    /// There are more classes, from this one on.
    Part(ListQuery, Option<usize>),
    /// No job can match.
    Nothing,
    Whole(ScopedQuery, Option<Vec<Seq>>),
}

/// Names a counter of jobs: of all jobs, a queue, a tenant, or a tenant in a queue.
#[derive(Clone)]
struct Counted {
    queue: Option<QueueName>,
    tenant: Option<TenantId>,
}

impl Counted {
    fn totals(&self, view: View<'_>) -> Totals {
        match (&self.queue, &self.tenant) {
            (None, None) => view.totals(),
            (None, Some(tenant)) => view.totals_of_tenant(tenant),
            (Some(queue), tenant) => view.totals_of_queue(queue, tenant.as_ref()),
        }
    }
}

pub(super) fn parse_state(text: &str) -> Result<State, ApiError> {
    State::parse(text).ok_or_else(|| {
        let states = State::ALL.map(State::as_str).join(", ");
        ApiError::invalid_request(format!("'{}' is not a state.", excerpt(text)))
            .detail("field", "state")
            .hint(format!("Use one of: {states}."))
    })
}
