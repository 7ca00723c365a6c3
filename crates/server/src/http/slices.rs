//! Looking at all of something a slice at a time, so that nobody waits long for it.

use rota_engine::Engine;

use super::App;
use super::error::ApiError;

/// Every slice of this length one after the other: `look` gets where it begins and how long it may
/// be, and says where the next begins.
pub(super) async fn gather<T: Send + 'static>(
    app: &App,
    length: usize,
    look: impl Fn(&Engine, usize, usize) -> (Vec<T>, Option<usize>) + Clone + Send + 'static,
) -> Result<Vec<T>, ApiError> {
    let (mut all, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let look = look.clone();
        let (slice, more) = app.handle.look(move |engine| look(engine, from, length)).await?;
        all.extend(slice);
        next = more;
    }
    Ok(all)
}

/// The same of what goes by name: `look` gets the name before the first, and `name` tells how the
/// engine is asked for what is behind one.
pub(super) async fn gather_by_name<T: Send + 'static>(
    app: &App,
    length: usize,
    look: impl Fn(&Engine, &str, usize) -> Vec<T> + Clone + Send + 'static,
    name: impl Fn(&T) -> String,
) -> Result<Vec<T>, ApiError> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let look = look.clone();
        let slice = app.handle.look(move |engine| look(engine, &after, length)).await?;
        let is_last = slice.len() < length;
        all.extend(slice);
        match all.last().filter(|_| !is_last) {
            Some(last) => after = name(last),
            None => return Ok(all),
        }
    }
}
