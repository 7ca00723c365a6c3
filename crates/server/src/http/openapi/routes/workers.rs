//! Routes for workers.

use crate::http::openapi::operation::{Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    let mut all = by_workers();
    all.extend(by_operators());
    all
}

fn by_workers() -> Vec<Operation> {
    vec![
        operation(
            "fetchJobs",
            "Hands out available jobs, and waits for one if asked to.",
            &["POST /ojs/v1/workers/fetch"],
        )
        .takes("FetchRequest")
        .gives(200, "FetchedJobs"),
        operation("ackJob", "Reports that jobs are completed.", &["POST /ojs/v1/workers/ack"])
            .takes("Ack")
            .gives(200, "SettleAnswer")
            .fails(&[404, 409]),
        operation("nackJob", "Reports that jobs have failed.", &["POST /ojs/v1/workers/nack"])
            .takes("Nack")
            .gives(200, "SettleAnswer")
            .fails(&[404, 409]),
        operation(
            "heartbeat",
            "Extends a worker's reservations, and tells it what to do.",
            &["POST /ojs/v1/workers/heartbeat"],
        )
        .takes("Heartbeat")
        .gives(200, "HeartbeatAnswer"),
        operation(
            "registerWorker",
            "Registers a worker. 'worker_id' or 'id' is required.",
            &["POST /ojs/v1/workers/register", "POST /ojs/v1/workers"],
        )
        .takes("Registration")
        .gives(200, "RegisteredWorker"),
        operation(
            "deregisterWorker",
            "Deregisters a worker, whose jobs are available again.",
            &["POST /ojs/v1/workers/deregister"],
        )
        .takes("Deregistration")
        .gives(200, "DeregisteredWorker")
        .fails(&[404]),
        operation(
            "deregisterWorkerById",
            "Deregisters a worker, whose jobs are available again.",
            &["DELETE /ojs/v1/workers/{id}"],
        )
        .gives(200, "DeregisteredWorker"),
    ]
}

fn by_operators() -> Vec<Operation> {
    let direct =
        |name, summary, routes| operation(name, summary, routes).gives(200, "Worker").fails(&[409]);
    vec![
        operation(
            "listWorkers",
            "Lists workers by id.",
            &["GET /ojs/v1/admin/workers", "GET /v1/workers"],
        )
        .gives(200, "WorkerList"),
        operation("getWorker", "Shows a worker.", &["GET /ojs/v1/admin/workers/{id}"])
            .gives(200, "WorkerDetails")
            .fails(&[409]),
        operation(
            "deleteWorker",
            "Deletes a worker that has been silent for too long.",
            &["DELETE /ojs/v1/admin/workers/{id}"],
        )
        .gives(200, "DeletedWorker")
        .fails(&[409]),
        direct(
            "quietWorker",
            "Tells a worker to fetch no more jobs.",
            &["POST /ojs/v1/admin/workers/{id}/quiet"],
        ),
        direct(
            "terminateWorker",
            "Tells a worker to finish its jobs and end.",
            &["POST /ojs/v1/admin/workers/{id}/terminate"],
        ),
        direct(
            "resumeWorker",
            "Tells a worker to go on.",
            &["POST /ojs/v1/admin/workers/{id}/resume"],
        ),
    ]
}
