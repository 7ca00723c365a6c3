//! The server's own list of job types.

use serde_json::json;

use crate::secured::job;
use crate::support::Server;

#[test]
fn only_listed_types_are_accepted() {
    let server = Server::start_with(&["--jobs-allowed-types", "email.send,report.render"]);
    server.post("/ojs/v1/jobs", job("email.send", "q")).expect(201);
    let error =
        server.post("/ojs/v1/jobs", job("email.purge", "q")).expect_error(422, "invalid_request");
    assert_eq!(error["details"]["field"], "type");
    let batch = json!({"jobs": [job("report.render", "q"), job("other", "q")]});
    let error = server.post("/ojs/v1/jobs/batch", batch).expect_error(422, "invalid_request");
    assert_eq!(error["details"]["index"], 1);
    let cron = json!({"name": "n", "cron": "0 0 * * *", "type": "other"});
    server.post("/ojs/v1/cron", cron).expect_error(422, "invalid_request");
}
