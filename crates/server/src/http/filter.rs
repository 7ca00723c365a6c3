//! Which jobs a list or a bulk operation is about.

use rota_engine::Totals;
use rota_model::{ClassId, Millis, QueueName, State};
use rota_store::{ListQuery, Order, Selection};

use super::App;
use super::error::ApiError;
use super::params::Params;

/// Rows that one request may look at. A page that comes to this bound is short and has a cursor.
const MOST_ROWS: usize = 50_000;

/// Which jobs are meant.
#[derive(Debug, Clone)]
pub(super) struct Filter {
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
        Self { queue: None, kind: None, select, state: None, since: None, until: None }
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
        if self.queue.is_none() && self.kind.is_none() {
            return Ok(None);
        }
        let (queue, kind) = (self.queue.clone(), self.kind.clone());
        let matches = move |class: &rota_model::Class| {
            let queue_fits = queue.as_ref().is_none_or(|queue| class.queue == *queue);
            let kind_fits = kind.as_ref().is_none_or(|kind| match kind.strip_suffix('*') {
                Some(prefix) => class.kind.starts_with(prefix),
                None => *class.kind == **kind,
            });
            queue_fits && kind_fits
        };
        Ok(Some(app.handle.look(move |engine| engine.classes_where(matches)).await?))
    }

    /// How many jobs match, where a counter knows.
    pub async fn total(&self, app: &App) -> Result<Option<u64>, ApiError> {
        if self.kind.is_some() || self.since.is_some() || self.until.is_some() {
            return Ok(None);
        }
        let queue = self.queue.clone();
        let totals = app.handle.look(move |engine| match queue {
            Some(queue) => engine.queue(&queue).map_or_else(Totals::default, |view| view.totals),
            None => engine.totals(),
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
