//! Routes for features of the specification that this server does not support.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;

use super::App;
use super::error::ApiError;

/// These paths answer `unsupported` instead of `not_found`.
pub(super) fn routes() -> Router<Arc<App>> {
    ["/workflows", "/schemas", "/webhooks"].into_iter().fold(Router::new(), |router, path| {
        router.route(path, any(unsupported)).route(&format!("{path}/{{*rest}}"), any(unsupported))
    })
}

async fn unsupported(request: Request) -> ApiError {
    let path = request.uri().path();
    let feature = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or(path);
    ApiError::unsupported(format!("This server does not support {feature} yet."))
}
