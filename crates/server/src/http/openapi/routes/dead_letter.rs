//! Routes for the dead letter.

use crate::http::openapi::operation::{Content, Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation(
            "listDeadLetter",
            "Lists jobs of the dead letter, the newest first.",
            &["GET /ojs/v1/dead-letter", "GET /ojs/v1/admin/dead-letter", "GET /v1/dead-letter"],
        )
        .gives(200, "JobList"),
        operation(
            "getDeadLetterJob",
            "Shows a job of the dead letter.",
            &["GET /ojs/v1/dead-letter/{id}", "GET /ojs/v1/admin/dead-letter/{id}"],
        )
        .gives(200, "JobAnswer"),
        operation(
            "getDeadLetterStats",
            "Counts the jobs of the dead letter by queue and by error.",
            &["GET /ojs/v1/dead-letter/stats", "GET /ojs/v1/admin/dead-letter/stats"],
        )
        .gives(200, "DeadLetterStats"),
        operation(
            "retryDeadLetterJob",
            "Retries a job of the dead letter, as it is or changed.",
            &["POST /ojs/v1/dead-letter/{id}/retry", "POST /ojs/v1/admin/dead-letter/{id}/retry"],
        )
        .may_take("RetryChange")
        .gives(200, "ChangedJob")
        .fails(&[409]),
        operation(
            "deleteDeadLetterJob",
            "Deletes a job of the dead letter.",
            &["DELETE /ojs/v1/dead-letter/{id}"],
        )
        .gives(200, "DeletedJob")
        .fails(&[409]),
        operation(
            "deleteAdminDeadLetterJob",
            "Deletes a job of the dead letter.",
            &["DELETE /ojs/v1/admin/dead-letter/{id}"],
        )
        .answers_with(204, Content::None)
        .fails(&[409]),
        operation(
            "retryDeadLetter",
            "Retries all jobs of the dead letter that match a filter.",
            &["POST /ojs/v1/dead-letter/retry", "POST /ojs/v1/admin/dead-letter/retry"],
        )
        .takes("DeadRetry")
        .gives(200, "BulkResult"),
        operation(
            "purgeDeadLetter",
            "Deletes all jobs of the dead letter that match a filter.",
            &["DELETE /ojs/v1/dead-letter", "DELETE /ojs/v1/admin/dead-letter"],
        )
        .takes("DeadPurge")
        .gives(200, "DeadPurged"),
        operation(
            "purgeDeadLetterByPath",
            "Deletes all jobs of the dead letter, or those of some age.",
            &["POST /ojs/v1/dead-letter/purge"],
        )
        .gives(200, "DeadPurged"),
    ]
}
