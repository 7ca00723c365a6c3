//! Reads long lists from the engine in slices, so that other requests are served in between.

use super::error::ApiError;
use super::{Access, View};

/// Collects a list by index. `look` gets the index to start from and the most entries to return; it
/// returns the entries and the index where the next slice starts, if there is one.
pub(super) async fn gather<T: Send + 'static>(
    app: &Access,
    length: usize,
    look: impl Fn(View<'_>, usize, usize) -> (Vec<T>, Option<usize>) + Clone + Send + 'static,
) -> Result<Vec<T>, ApiError> {
    let (mut all, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let look = look.clone();
        let (slice, more) = app.look(move |view| look(view, from, length)).await?;
        all.extend(slice);
        next = more;
    }
    Ok(all)
}

/// Collects a list that is sorted by name. `look` gets the name after which to start and the most entries
/// to return; `name` is the name to continue after.
pub(super) async fn gather_by_name<T: Send + 'static>(
    app: &Access,
    length: usize,
    look: impl Fn(View<'_>, &str, usize) -> Vec<T> + Clone + Send + 'static,
    name: impl Fn(&T) -> String,
) -> Result<Vec<T>, ApiError> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let look = look.clone();
        let slice = app.look(move |view| look(view, &after, length)).await?;
        let is_last = slice.len() < length;
        all.extend(slice);
        match all.last().filter(|_| !is_last) {
            Some(last) => after = name(last),
            None => return Ok(all),
        }
    }
}
