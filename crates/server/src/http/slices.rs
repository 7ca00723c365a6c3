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
