/// The name of a thing that a command is about. Without one, a request would be about all of them.
pub(crate) fn named(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}
