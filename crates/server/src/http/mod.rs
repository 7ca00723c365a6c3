//! The HTTP API (OJS): one file for each group of routes, put together into one router.

mod access;
mod acts;
mod admin;
mod admission;
mod audited;
mod body;
mod bounded_list;
mod cap_reached;
mod claims_in_answer;
mod client_address;
mod cors;
mod cron;
mod dead_letter;
mod dead_letter_bulk;
mod dead_letter_override;
mod dead_letter_stats;
mod engine_slices;
mod error;
mod events;
mod failure;
mod fast_path;
mod filter;
mod in_flight;
mod incoming_bodies;
mod job_json;
mod job_pages;
mod job_priority;
mod jobs;
mod limited;
mod listen;
mod manifest;
mod metrics;
mod name_pages;
mod openapi;
mod over_limit;
mod params;
mod queues;
mod quirks;
mod rate_limits;
mod refusal;
mod reply;
mod results;
mod route_table;
mod service;
mod settle;
mod spec_version;
mod system;
mod unread_answers;
mod unread_body;
mod unserved;
mod workers;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{delete, get, post, put};

pub use access::{Access, App, Caller, View};
pub use error::ApiError;
pub(crate) use job_json::write_record as write_job;
pub use listen::{Certificates, FailedHandshakes, Listener, Peer, Serve, TlsError, serve};
pub use route_table::{permission_table, routes};
pub use service::{HttpService, RequestBody, identified};
pub use unserved::{UNSERVED, Unserved};

pub fn service(app: Arc<App>) -> HttpService {
    HttpService::new(app.clone(), router(app))
}

fn router(app: Arc<App>) -> Router {
    served()
        .route_layer(from_fn(route_table::check))
        .fallback(system::not_found)
        .method_not_allowed_fallback(system::method_not_allowed)
        .with_state(app)
}

/// All routes that do something. What each needs is in [`route_table`].
fn served() -> Router<Arc<App>> {
    let v1 = Router::new()
        .route("/health", get(system::health))
        .route("/jobs", get(admin::jobs::list).post(jobs::enqueue))
        .route("/jobs/bulk/{action}", post(admin::bulk::run_unconfirmed))
        .route("/jobs/batch", post(jobs::enqueue_batch))
        .route("/jobs/{id}", get(jobs::info).patch(job_priority::change).delete(jobs::cancel))
        .route("/jobs/{id}/activate", post(jobs::activate))
        .route("/jobs/{id}/result", get(results::show))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/events", get(events::stream_job))
        .route("/workers/fetch", post(workers::fetch))
        .route("/workers/ack", post(settle::ack))
        .route("/workers/nack", post(settle::nack))
        .route("/workers/heartbeat", post(workers::heartbeat))
        .route("/workers/register", post(workers::register))
        .route("/workers", post(workers::register))
        .route("/workers/deregister", post(workers::deregister))
        .route("/workers/{id}", delete(workers::deregister_by_path))
        .route("/queues", get(queues::list).post(admin::queue_config::create))
        .route("/queues/{name}", get(queues::stats).delete(admin::queue_delete::delete))
        .route(
            "/queues/{name}/config",
            get(admin::queue_config::show).put(admin::queue_config::configure),
        )
        .route("/queues/{name}/purge", post(admin::queues::purge_finished))
        .route("/queues/{name}/stats", get(queues::stats))
        .route("/queues/{name}/events", get(events::stream_queue))
        .route("/queues/{name}/pause", post(queues::pause))
        .route("/queues/{name}/resume", post(queues::resume))
        .route("/dead-letter", get(dead_letter::list).delete(dead_letter_bulk::purge))
        .route("/dead-letter/retry", post(dead_letter_bulk::retry))
        .route("/dead-letter/purge", post(dead_letter_bulk::purge_by_path))
        .route("/dead-letter/stats", get(dead_letter_stats::stats))
        .route("/dead-letter/{id}", get(dead_letter::show).delete(dead_letter::delete))
        .route("/dead-letter/{id}/retry", post(dead_letter::retry))
        .route("/events", get(events::list_or_stream))
        .route("/events/stream", get(events::stream_all))
        .route("/ws", get(events::connect))
        .route("/rate-limits", get(rate_limits::list))
        .route(
            "/rate-limits/{key}",
            get(rate_limits::show).put(rate_limits::put).delete(rate_limits::clear),
        )
        .route("/rate-limits/{key}/override", put(rate_limits::put).delete(rate_limits::clear))
        .route("/pools", get(admin::pools::list))
        .route("/pools/{name}", get(admin::pools::show))
        .route("/metrics", get(metrics::scrape))
        .route("/openapi.json", get(openapi::show))
        .merge(cron::routes());
    let admin = Router::new()
        .route("/queues", get(admin::queues::list).post(admin::queue_config::create))
        .route("/queues/{name}", get(admin::queues::show).delete(admin::queue_delete::delete))
        .route("/queues/{name}/pause", post(admin::queues::pause))
        .route("/queues/{name}/resume", post(admin::queues::resume))
        .route("/queues/{name}/jobs", delete(admin::queues::purge))
        .route(
            "/queues/{name}/config",
            get(admin::queue_config::show).put(admin::queue_config::configure),
        )
        .route(
            "/queues/{name}/rate-limit",
            get(rate_limits::show_queue)
                .put(rate_limits::put_queue)
                .delete(rate_limits::clear_queue),
        )
        .route(
            "/job-types/{type}/rate-limit",
            get(rate_limits::show_type).put(rate_limits::put_type).delete(rate_limits::clear_type),
        )
        .route("/pools", get(admin::pools::list))
        .route(
            "/pools/{name}",
            get(admin::pools::show).put(admin::pools::put).delete(admin::pools::remove),
        )
        .route("/scheduling/stats", get(admin::scheduling::stats))
        .route("/jobs", get(admin::jobs::list))
        .route("/jobs/{id}", get(admin::jobs::show).patch(job_priority::change))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/retry", post(admin::jobs::retry))
        .route("/jobs/{id}/explain", get(admin::explain::explain))
        .route("/jobs/bulk/{action}", post(admin::bulk::run))
        .route("/tenants", get(admin::tenants::list))
        .route(
            "/tenants/{id}",
            get(admin::tenants::show).put(admin::tenants::put).delete(admin::tenants::delete),
        )
        .route("/tenants/{id}/limits", get(admin::tenants::limits).put(admin::tenants::merge))
        .route("/tenants/{id}/stats", get(admin::tenants::stats))
        .route("/tenants/{id}/usage", get(admin::tenants::usage))
        .route("/tenants/{id}/jobs", get(admin::tenants::jobs))
        .route("/tenants/{id}/changes", get(admin::tenants::changes))
        .route("/tenants/{id}/release", post(admin::tenants::release))
        .route("/keys", get(admin::keys::list).post(admin::keys::create))
        .route("/keys/{id}", get(admin::keys::show).delete(admin::keys::remove))
        .route("/keys/{id}/revoke", post(admin::keys::revoke))
        .route("/keys/{id}/rotate", post(admin::keys::rotate))
        .route("/audit", get(admin::audit::list))
        .route("/fairness", get(admin::fairness::show))
        .route("/workers", get(admin::workers::list))
        .route("/workers/{id}", get(admin::workers::show).delete(admin::workers::drop_stale))
        .route("/workers/{id}/quiet", post(admin::workers::quiet))
        .route("/workers/{id}/terminate", post(admin::workers::terminate))
        .route("/workers/{id}/resume", post(admin::workers::resume))
        .route("/stats", get(admin::totals::totals))
        .route("/stats/history", get(admin::stats::history))
        .route("/dead-letter", get(admin::dead_letter::list).delete(dead_letter_bulk::purge))
        .route("/dead-letter/stats", get(dead_letter_stats::stats))
        .route("/dead-letter/retry", post(dead_letter_bulk::retry))
        .route("/dead-letter/{id}", get(dead_letter::show).delete(admin::dead_letter::delete))
        .route("/dead-letter/{id}/retry", post(dead_letter::retry))
        .route(
            "/system/maintenance",
            get(admin::system::maintenance).post(admin::system::set_maintenance),
        )
        .route("/system/config", get(admin::system::config))
        .route("/maintenance", get(admin::system::maintenance).post(admin::system::set_maintenance))
        .route("/config", get(admin::system::config));
    Router::new()
        .route("/ojs/manifest", get(manifest::manifest))
        .route("/health", get(system::health))
        .route("/ready", get(system::ready))
        .route("/metrics", get(metrics::scrape))
        // ojs-cli's `doctor` leaves out the prefix.
        .route("/v1/health", get(system::health))
        .route("/v1/queues", get(queues::list))
        .route("/v1/dead-letter", get(dead_letter::list))
        .route("/v1/workers", get(admin::workers::list))
        .nest("/ojs/v1", v1)
        .nest("/ojs/v1/admin", admin)
}
