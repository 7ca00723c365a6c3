//! Which jobs a list or a bulk operation is about.

use rota_model::{Class, ClassId, Millis, QueueName, State, TenantId};
use rota_store::{ListQuery, Order, Selection};

use super::App;
use super::caller::caller;
use super::error::ApiError;
use super::params::Params;

/// Rows that one request may look at. A page that comes to this bound is short and has a cursor.
const MOST_ROWS: usize = 50_000;

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
        if self.foreign {
            return Ok(None);
        }
        let classes = self.classes(app).await?;
        if classes.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        Ok(Some(ListQuery {
            select: self.select,
            classes,
            since: self.since,
            until: self.until,
            after: None,
            order: Order::NewestFirst,
            limit: 0,
            scan: MOST_ROWS,
        }))
    }

    async fn classes(&self, app: &App) -> Result<Option<Vec<ClassId>>, ApiError> {
        if self.tenant.is_none() && self.queue.is_none() && self.kind.is_none() {
            return Ok(None);
        }
        let (tenant, queue, kind) = (self.tenant.clone(), self.queue.clone(), self.kind.clone());
        let matches = move |class: &Class| {
            let queue_fits = queue.as_ref().is_none_or(|queue| *class.queue.local() == **queue);
            let kind_fits = kind.as_ref().is_none_or(|kind| match kind.strip_suffix('*') {
                Some(prefix) => class.kind.starts_with(prefix),
                None => *class.kind == **kind,
            });
            queue_fits && kind_fits
        };
        let look = app.handle.look(move |engine| match tenant {
            Some(tenant) => engine.classes_of_tenant(&tenant, matches),
            None => engine.classes_where(matches),
        });
        Ok(Some(look.await?))
    }

    /// How many jobs match, where a counter knows.
    pub async fn total(&self, app: &App) -> Result<Option<u64>, ApiError> {
        if self.kind.is_some() || self.since.is_some() || self.until.is_some() {
            return Ok(None);
        }
        if self.foreign {
            return Ok(Some(0));
        }
        let queue = match (&self.queue, &self.tenant) {
            (Some(queue), Some(tenant)) if app.is_namespaced() => Some(queue.in_namespace(tenant)),
            // Every tenant may have a queue of this name.
            (Some(_), None) if app.is_namespaced() => return Ok(None),
            (queue, _) => queue.clone(),
        };
        let tenant = self.tenant.clone();
        let totals = app.handle.look(move |engine| match (&queue, &tenant) {
            (None, None) => engine.totals(),
            (None, Some(tenant)) => engine.totals_of_tenant(tenant),
            (Some(queue), tenant) => engine.totals_of_queue(queue, tenant.as_ref()),
        });
        let totals = totals.await?;
        if self.select == Selection::DEAD_LETTER {
            return Ok(Some(totals.dead_letter()));
        }
        let wanted = |state: &State| self.state.is_none_or(|one| one == *state);
        Ok(Some(State::ALL.iter().filter(|s| wanted(s)).map(|state| totals.of(*state)).sum()))
    }
}

pub(super) fn parse_state(text: &str) -> Result<State, ApiError> {
    State::parse(text).ok_or_else(|| {
        let states = State::ALL.map(State::as_str).join(", ");
        ApiError::invalid_request(format!("'{text}' is not a state."))
            .hint(format!("One of: {states}."))
    })
}
