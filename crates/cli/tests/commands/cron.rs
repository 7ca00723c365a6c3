use serde_json::json;

use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

fn add_nightly(server: &Server) -> String {
    #[rustfmt::skip]
    let arguments = [
        "cron", "add", "nightly", "0 2 * * *", "report.build", "--timezone", "Europe/Berlin",
        "--overlap", "allow", "--description", "for the board", "--queue", "reports",
        "--args", "[\"daily\"]", "--max-attempts", "1",
    ];
    rota(server, &arguments).printed()
}

#[test]
fn a_schedule_is_added() {
    let server = Server::start();
    looks_like!("added", add_nightly(&server));
    let cron = server.get("/ojs/v1/cron/nightly").expect(200)["cron"].clone();
    assert_eq!(
        (&cron["expression"], &cron["timezone"]),
        (&json!("0 2 * * *"), &json!("Europe/Berlin"))
    );
    assert_eq!((&cron["overlap_policy"], &cron["enabled"]), (&json!("allow"), &json!(true)));
    assert_eq!(cron["description"], "for the board");
    let job = json!({
        "type": "report.build", "args": ["daily"], "queue": "reports", "retry": {"max_attempts": 1},
    });
    assert_eq!(cron["job_template"], job);
}

#[test]
fn a_schedule_can_be_added_without_running_yet() {
    let server = Server::start();
    let printed = rota(&server, &["cron", "add", "n", "@hourly", "a.b", "--disabled"]).printed();
    assert_eq!(printed, "added n, disabled\n");
    let cron = rota(&server, &["cron", "show", "n", "--json"]).json();
    assert_eq!((&cron["name"], &cron["enabled"]), (&json!("n"), &json!(false)));
}

#[test]
fn schedules_are_listed_and_shown() {
    let server = Server::start();
    add_nightly(&server);
    rota(&server, &["cron", "add", "poll", "@every 1h", "feed.poll", "--disabled"]).printed();
    looks_like!("list", rota(&server, &["cron"]).printed());
    looks_like!("show", rota(&server, &["cron", "show", "nightly"]).printed());
    let list = rota(&server, &["cron", "list", "--json"]).json();
    assert_eq!((&list["total"], &list["crons"][0]["name"]), (&json!(2), &json!("nightly")));
}

#[test]
fn schedules_are_switched_off_and_on() {
    let server = Server::start();
    add_nightly(&server);
    assert_eq!(rota(&server, &["cron", "disable", "nightly"]).printed(), "nightly disabled\n");
    assert_eq!(server.get("/ojs/v1/cron/nightly").expect(200)["cron"]["enabled"], false);
    let changed = rota(&server, &["cron", "enable", "nightly", "--json"]).json();
    assert_eq!(changed["crons"][0]["enabled"], true);
    assert_eq!(server.get("/ojs/v1/cron/nightly").expect(200)["cron"]["enabled"], true);
}

#[test]
fn a_schedule_is_removed() {
    let server = Server::start();
    add_nightly(&server);
    assert_eq!(rota(&server, &["cron", "remove", "nightly"]).printed(), "nightly removed\n");
    server.get("/ojs/v1/cron/nightly").expect(404);
}

#[test]
fn a_bad_schedule_is_rejected_with_the_servers_message() {
    let server = Server::start();
    looks_like!(
        "bad_expression",
        rota(&server, &["cron", "add", "n", "x * * * *", "a.b"]).failed(5)
    );
    rota(&server, &["cron", "add", "n", "@hourly", "a.b", "--timezone", "Mars"]).failed(5);
    let message =
        rota(&server, &["cron", "add", "n", "@hourly", "a.b", "--overlap", "x"]).failed(2);
    assert!(message.contains("possible values: skip"), "{message}");
    rota(&server, &["cron", "add", "n", "@hourly", "a.b", "--args", "{"]).failed(2);
}

#[test]
fn an_unknown_schedule_is_exit_code_4() {
    let server = Server::start();
    for action in ["show", "remove", "enable", "disable"] {
        let message = rota(&server, &["cron", action, "nope"]).failed(4);
        assert!(message.contains("There is no cron job 'nope'."), "{message}");
    }
}

#[test]
fn no_schedules_is_explained() {
    let server = Server::start();
    let ran = rota(&server, &["cron"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.contains("rota cron add --help"), "{}", ran.stderr);
}

#[test]
fn a_run_is_started_by_hand_and_remembered() {
    let server = Server::start();
    let cron = |arguments: &[&str]| rota(&server, &[&["cron"], arguments].concat());
    cron(&["add", "nightly", "0 2 * * *", "report.build"]).printed();
    let ran = cron(&["history", "nightly"]);
    assert!(ran.stderr.starts_with("it has not run yet"), "{}", ran.stderr);
    assert_eq!(cron(&["pause", "nightly"]).printed(), "nightly disabled\n");
    let id = cron(&["trigger", "nightly"]).printed();
    assert_eq!(server.job(id.trim())["type"], "report.build");
    assert_eq!(cron(&["resume", "nightly"]).printed(), "nightly enabled\n");
    let text = cron(&["history", "nightly"]).printed();
    assert!(text.contains(&format!("{}  available  manual", id.trim())), "{text}");
    let list = cron(&["history", "nightly", "--json"]).json();
    assert_eq!(list["executions"][0]["job_id"], id.trim());
    cron(&["trigger", "nightly"]).failed(5);
    cron(&["trigger", "nobody"]).failed(4);
}
