//! Admin routes for the dead letter: the list, and deleting one job.

use crate::http::body::NoBody;
use crate::http::dead_letter;
use crate::http::error::ApiResult;
use crate::http::filter::Filter;
use crate::http::job_pages::{self, Window};
use crate::http::params::{Params, PathName};
use crate::http::{Access, reply};

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let filter = Filter::dead_letter(&app, &params)?;
    let window = Window::from_params(&params, 20, 100)?;
    job_pages::answer(&app, &filter, &window).await
}

/// Unlike the route outside the admin API, this one has no body in its answer.
pub(in crate::http) async fn delete(app: Access, name: PathName, no_body: NoBody) -> ApiResult {
    dead_letter::delete(app, name, no_body).await?;
    Ok(reply::no_content())
}
