//! Routes for queues.

use crate::http::openapi::operation::{Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    let mut all = reads();
    all.extend(changes());
    all
}

fn reads() -> Vec<Operation> {
    vec![
        operation("listQueues", "Lists queues by name.", &["GET /ojs/v1/queues", "GET /v1/queues"])
            .gives(200, "QueueList"),
        operation(
            "getQueueStats",
            "Shows a queue with its figures.",
            &["GET /ojs/v1/queues/{name}", "GET /ojs/v1/queues/{name}/stats"],
        )
        .gives(200, "QueueStatsAnswer"),
        operation(
            "getQueueConfig",
            "Shows the configuration of a queue.",
            &["GET /ojs/v1/queues/{name}/config", "GET /ojs/v1/admin/queues/{name}/config"],
        )
        .gives(200, "QueueConfigAnswer"),
        operation(
            "listAdminQueues",
            "Lists queues by name, with throughput and latency.",
            &["GET /ojs/v1/admin/queues"],
        )
        .gives(200, "AdminQueueList"),
        operation(
            "getAdminQueue",
            "Shows a queue with its configuration.",
            &["GET /ojs/v1/admin/queues/{name}"],
        )
        .gives(200, "AdminQueueDetails"),
    ]
}

fn changes() -> Vec<Operation> {
    vec![
        operation(
            "createQueue",
            "Creates a queue.",
            &["POST /ojs/v1/queues", "POST /ojs/v1/admin/queues"],
        )
        .takes("NewQueue")
        .gives(201, "CreatedQueue")
        .fails(&[409]),
        operation(
            "configureQueue",
            "Replaces the configuration of a queue.",
            &["PUT /ojs/v1/queues/{name}/config", "PUT /ojs/v1/admin/queues/{name}/config"],
        )
        .takes("NewQueueConfig")
        .gives(200, "QueueConfigAnswer"),
        operation(
            "deleteQueue",
            "Deletes a queue, with its unfinished jobs if asked to.",
            &["DELETE /ojs/v1/queues/{name}", "DELETE /ojs/v1/admin/queues/{name}"],
        )
        .may_take("QueueDeletion")
        .gives(200, "DeletedQueue")
        .fails(&[409]),
        operation(
            "pauseQueue",
            "Pauses a queue: its jobs wait.",
            &["POST /ojs/v1/queues/{name}/pause"],
        )
        .gives(200, "QueuePaused"),
        operation("resumeQueue", "Resumes a queue.", &["POST /ojs/v1/queues/{name}/resume"])
            .gives(200, "QueueResumed"),
        operation(
            "pauseAdminQueue",
            "Pauses a queue: its jobs wait.",
            &["POST /ojs/v1/admin/queues/{name}/pause"],
        )
        .gives(200, "AdminQueuePaused"),
        operation(
            "resumeAdminQueue",
            "Resumes a queue.",
            &["POST /ojs/v1/admin/queues/{name}/resume"],
        )
        .gives(200, "AdminQueueResumed"),
        operation(
            "purgeFinishedJobs",
            "Deletes the finished jobs of a queue, by default the completed ones.",
            &["POST /ojs/v1/queues/{name}/purge"],
        )
        .may_take("QueuePurge")
        .gives(200, "PurgedJobs"),
        operation(
            "purgeJobs",
            "Deletes the jobs of a queue that are in the given states.",
            &["DELETE /ojs/v1/admin/queues/{name}/jobs"],
        )
        .takes("QueuePurge")
        .gives(200, "PurgedJobs"),
    ]
}
