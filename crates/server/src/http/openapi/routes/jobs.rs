//! Routes for jobs.

use crate::http::openapi::operation::{Operation, operation};

/// Headers of the answer to an enqueue.
const ENQUEUED: &[(&str, &str)] = &[
    ("Location", "The path of the job."),
    ("X-OJS-Queue-Depth", "Waiting jobs in a queue that has a bound."),
    ("X-OJS-Queue-Bound", "The bound of the queue."),
    ("X-OJS-Queue-Pressure", "How full the queue is, from 0 to 1."),
    (
        "X-OJS-Quota-Exceeded",
        "Soft limits of the tenant that the jobs exceed, separated by commas.",
    ),
    ("X-RateLimit-Limit", "The rate limit of the job."),
    ("X-RateLimit-Remaining", "What is left of it."),
    ("X-RateLimit-Reset", "When it is whole again, in seconds since 1970."),
];
const BLOCK: (&str, &str, &str) = (
    "OJS-Block-Timeout",
    "number(0..300)",
    "How long to wait for room in a queue that is full and whose strategy is 'block', in seconds.",
);

pub(super) fn operations() -> Vec<Operation> {
    let mut all = single();
    all.extend(many());
    all
}

fn single() -> Vec<Operation> {
    let mode = "By default the setting jobs.cancel_mode.";
    vec![
        operation("enqueueJob", "Enqueues a job.", &["POST /ojs/v1/jobs"])
            .takes("NewJob")
            .header(BLOCK.0, BLOCK.1, BLOCK.2)
            .gives(201, "EnqueuedJob")
            .with_headers(ENQUEUED)
            .fails(&[409]),
        operation("getJob", "Shows a job.", &["GET /ojs/v1/jobs/{id}"]).gives(200, "JobAnswer"),
        operation(
            "getJobWithTimes",
            "Shows a job, unwrapped and with all of its times.",
            &["GET /ojs/v1/admin/jobs/{id}"],
        )
        .gives(200, "AdminJob"),
        operation(
            "changeJob",
            "Changes the priority of a waiting job.",
            &["PATCH /ojs/v1/jobs/{id}", "PATCH /ojs/v1/admin/jobs/{id}"],
        )
        .takes("PriorityChange")
        .gives(200, "ChangedJob")
        .fails(&[409]),
        operation(
            "cancelJob",
            "Cancels a job, at once or by asking its worker.",
            &[
                "DELETE /ojs/v1/jobs/{id}",
                "POST /ojs/v1/jobs/{id}/cancel",
                "POST /ojs/v1/admin/jobs/{id}/cancel",
            ],
        )
        .param("mode", "'immediate' | 'cooperative'", mode)
        .gives(200, "ChangedJob")
        .fails(&[409]),
        operation("activateJob", "Activates a pending job.", &["POST /ojs/v1/jobs/{id}/activate"])
            .gives(200, "ChangedJob")
            .fails(&[409]),
        operation(
            "retryJob",
            "Retries a job that was discarded or cancelled.",
            &["POST /ojs/v1/admin/jobs/{id}/retry"],
        )
        .gives(200, "ChangedJob")
        .fails(&[409]),
        operation(
            "getJobResult",
            "Shows the result of a job, and waits for it if asked to.",
            &["GET /ojs/v1/jobs/{id}/result"],
        )
        .param(
            "wait",
            "boolean | integer(0..)",
            "Whether to wait, or for how many seconds: at most 30.",
        )
        .param(
            "timeout",
            "integer(0..)",
            "How long to wait with wait=true, in seconds: at most 30.",
        )
        .gives(200, "JobResult"),
        operation(
            "explainJob",
            "Explains why a job has not started, and when it can.",
            &["GET /ojs/v1/admin/jobs/{id}/explain"],
        )
        .gives(200, "Explanation"),
    ]
}

fn many() -> Vec<Operation> {
    vec![
        operation(
            "enqueueBatch",
            "Enqueues several jobs, all of them or none.",
            &["POST /ojs/v1/jobs/batch"],
        )
        .takes("Batch")
        .header(BLOCK.0, BLOCK.1, BLOCK.2)
        .gives(201, "EnqueuedBatch")
        .with_headers(ENQUEUED)
        .fails(&[409]),
        operation(
            "listJobs",
            "Lists jobs, the newest first.",
            &["GET /ojs/v1/jobs", "GET /ojs/v1/admin/jobs", "GET /ojs/v1/admin/tenants/{id}/jobs"],
        )
        .gives(200, "JobList"),
        operation(
            "changeJobs",
            "Retries, cancels or deletes all jobs that are named or that match a filter.",
            &["POST /ojs/v1/jobs/bulk/{action}", "POST /ojs/v1/admin/jobs/bulk/{action}"],
        )
        .takes("BulkRequest")
        .gives(200, "BulkResult"),
    ]
}
