//! Applies a change to several items.

use std::collections::BTreeMap;

use rota_client::{Error, WithJson};

use super::{print_json, print_line};
use crate::Failure;

/// Applies the same change to several items in order, and continues after a failure. `verb` is the
/// past tense of the change; `name` is the plural of the items.
pub(crate) async fn each<T>(
    ids: &[String],
    verb: &str,
    name: &str,
    as_json: bool,
    act: impl AsyncFnMut(&str) -> Result<WithJson<T>, Error>,
) -> Result<(), Failure> {
    each_told(ids, verb, name, as_json, act, |_| verb.to_owned()).await
}

/// The same, where what is printed for an item depends on what became of it.
pub(crate) async fn each_told<T>(
    ids: &[String],
    verb: &str,
    name: &str,
    as_json: bool,
    mut act: impl AsyncFnMut(&str) -> Result<WithJson<T>, Error>,
    told: impl Fn(&T) -> String,
) -> Result<(), Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for id in ids {
        match act(id).await {
            Ok(changed) if as_json => done.push(changed),
            Ok(changed) => print_line(&format!("{id} {}", told(&changed)))?,
            // Without a server, the others would fail the same way, only slower.
            Err(error) if error.refusal().is_none() => return Err(error.into()),
            Err(error) => failures.push((id.clone(), Failure::from(error))),
        }
    }
    if as_json {
        print_json(&BTreeMap::from([(name, done)]))?;
    }
    match (failures.len(), ids.len()) {
        (0, _) => Ok(()),
        (1, 1) => Err(failures.remove(0).1),
        (failed, all) => {
            let things = name.replace('_', " ");
            let message = format!("{failed} of {all} {things} could not be {verb}:");
            Err(Failure::several(message, &failures))
        }
    }
}
