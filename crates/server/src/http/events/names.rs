//! What the jobs in events are called.

use rota_engine::{Event, EventKind};
use rota_model::Seq;

use super::App;
use crate::runtime::{About, Name, Names, ReadError};

/// Finds out what is missing in `names`. The engine does not always know the id behind a number; the
/// store does as long as it has the job, and then other events of the same job may.
pub(super) async fn learn<'a>(
    app: &App,
    names: &mut Names,
    events: impl Iterator<Item = &'a Event>,
) -> Result<(), ReadError> {
    let unknown = events.flat_map(wanted_of).filter(|seq| !names.contains_key(seq));
    let mut seqs: Vec<Seq> = unknown.collect();
    seqs.sort_unstable();
    seqs.dedup();
    let bodies = app.handle.bodies(seqs.clone()).await?;
    for (&seq, body) in seqs.iter().zip(&bodies) {
        let name = body.as_ref().map(|body| Name { id: body.id, created: Some(body.created) });
        names.insert(seq, name);
    }
    // Only jobs that are gone are worth a walk through the ring.
    seqs.retain(|seq| names.get(seq).is_some_and(Option::is_none));
    if !seqs.is_empty() {
        for (seq, id) in app.handle.events().ids_of(&seqs) {
            names.insert(seq, Some(Name { id, created: None }));
        }
    }
    Ok(())
}

/// The jobs about which an event does not say enough.
fn wanted_of(event: &Event) -> impl Iterator<Item = Seq> + use<> {
    let job = About::of(&event.kind).job;
    let (unsaid, other) = match &event.kind {
        EventKind::Expired { .. } => (true, None),
        EventKind::CronSkipped { existing, .. } => (false, *existing),
        _ => (false, None),
    };
    let job = job.filter(|job| unsaid || job.id.is_none()).map(|job| job.seq);
    job.into_iter().chain(other)
}
