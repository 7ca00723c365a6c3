//! Routes for cron jobs.

use crate::http::openapi::operation::{Operation, operation};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        operation(
            "listCrons",
            "Lists cron jobs by name.",
            &["GET /ojs/v1/cron", "GET /ojs/v1/crons"],
        )
        .gives(200, "CronList")
        .fails(&[404]),
        operation(
            "registerCron",
            "Registers a cron job, or replaces the one of this name.",
            &["POST /ojs/v1/cron", "POST /ojs/v1/crons"],
        )
        .takes("NewCron")
        .gives(200, "RegisteredCron")
        .gives(201, "RegisteredCron"),
        operation(
            "getCron",
            "Shows a cron job.",
            &["GET /ojs/v1/cron/{name}", "GET /ojs/v1/crons/{name}"],
        )
        .gives(200, "CronAnswer")
        .fails(&[409]),
        operation(
            "changeCron",
            "Changes some members of a cron job.",
            &["PATCH /ojs/v1/cron/{name}", "PATCH /ojs/v1/crons/{name}"],
        )
        .takes("CronChange")
        .gives(200, "CronAnswer")
        .fails(&[409]),
        operation(
            "deleteCron",
            "Deletes a cron job.",
            &["DELETE /ojs/v1/cron/{name}", "DELETE /ojs/v1/crons/{name}"],
        )
        .gives(200, "CronAnswer")
        .fails(&[409]),
        operation(
            "pauseCron",
            "Disables a cron job.",
            &["POST /ojs/v1/cron/{name}/pause", "POST /ojs/v1/crons/{name}/pause"],
        )
        .gives(200, "CronAnswer")
        .fails(&[409]),
        operation(
            "resumeCron",
            "Enables a cron job.",
            &["POST /ojs/v1/cron/{name}/resume", "POST /ojs/v1/crons/{name}/resume"],
        )
        .gives(200, "CronAnswer")
        .fails(&[409]),
        operation(
            "triggerCron",
            "Starts a run of a cron job at once.",
            &["POST /ojs/v1/cron/{name}/trigger", "POST /ojs/v1/crons/{name}/trigger"],
        )
        .gives(201, "TriggeredCron")
        .fails(&[409]),
        operation(
            "getCronHistory",
            "Lists the last runs of a cron job, the newest first.",
            &["GET /ojs/v1/cron/{name}/history", "GET /ojs/v1/crons/{name}/history"],
        )
        .gives(200, "CronHistory")
        .fails(&[409]),
    ]
}
