use rota_model::RequestLimit;

use super::Kind;

/// Requests per minute and burst.
pub(crate) fn request_limit() -> Kind<RequestLimit> {
    Kind::new("off, or requests per minute and how many may come at once", RequestLimit::parse)
        .such_as("6000/200")
}
