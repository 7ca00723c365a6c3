//! Looks up the ids and traces of the jobs in events.

use rota_engine::{Event, EventKind};
use rota_model::Seq;
use rota_store::Body;

use super::Access;
use super::trace::trace_of;
use crate::runtime::{About, Name, Names, ReadError};

/// Finds out what is missing in `names`. The engine does not always know the id behind a number, and
/// never the trace; the store does as long as it has the job, and then other events of the same job may
/// tell the id.
pub(super) async fn learn<'a>(
    app: &Access,
    names: &mut Names,
    events: impl Iterator<Item = &'a Event>,
) -> Result<(), ReadError> {
    let mut jobs = app.jobs_of_events(events, jobs_of);
    jobs.retain(|seq| !names.contains_key(&seq));
    let note = |seq, body: Option<Body>| {
        let name = body.map(|body| Name {
            id: body.id,
            created: Some(body.created),
            trace: trace_of(&body.json),
        });
        names.insert(seq, name);
    };
    app.each_body(&jobs, note).await?;
    // Only jobs that are gone are worth a walk through the ring.
    jobs.retain(|seq| names.get(&seq).is_some_and(Option::is_none));
    if !jobs.is_empty() {
        for (seq, id) in app.events().ids_of(&jobs) {
            names.insert(seq, Some(Name { id, created: None, trace: None }));
        }
    }
    Ok(())
}

/// The jobs that an event is about.
fn jobs_of(event: &Event) -> impl Iterator<Item = Seq> + use<> {
    let job = About::of(&event.kind).job.map(|job| job.seq);
    let other = match &event.kind {
        EventKind::CronSkipped { existing, .. } => *existing,
        _ => None,
    };
    job.into_iter().chain(other)
}
