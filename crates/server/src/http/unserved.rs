//! Features of the specification that this server knows and does not serve.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;

use super::App;
use super::error::ApiError;

/// A client that asks for one of them is told so, rather than that there is no such path.
pub(super) fn routes() -> Router<Arc<App>> {
    ["/workflows", "/schemas", "/webhooks"].into_iter().fold(Router::new(), |router, path| {
        router.route(path, any(unserved)).route(&format!("{path}/{{*rest}}"), any(unserved))
    })
}

async fn unserved(request: Request) -> ApiError {
    let path = request.uri().path();
    let feature = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or(path);
    ApiError::unsupported(format!("This server does not serve {feature} yet."))
}
