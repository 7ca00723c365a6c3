//! Tables in terminals of 80 and 40 columns.

use std::process::Command;

use serde_json::json;

use crate::support::{Server, binary, command};

const LISTS: [&str; 13] = [
    "jobs",
    "dead-letter",
    "queues",
    "cron",
    "workers",
    "pools",
    "tenants",
    "limits",
    "tenants changes acme",
    "fairness",
    "events",
    "tenants stats acme",
    "tenants top --once",
];

fn busy_server() -> Server {
    let server = Server::start();
    let tenant = |id: &str| {
        [crate::support::JSON, ("X-OJS-Tenant", id)].map(|(k, v)| (k.to_owned(), v.to_owned()))
    };
    let send = |method: &str, path: &str, id: &str, body: serde_json::Value| {
        let headers = tenant(id);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (&**k, &**v)).collect();
        let path = format!("/ojs/v1/{path}");
        let reply = server.send(method, &path, &headers, Some(body.to_string().as_bytes()));
        assert!(reply.status < 300, "{}", reply.text);
        reply.body
    };
    for id in ["acme", "globex"] {
        let limit =
            json!({"key": "stripe", "concurrency": 5, "rate": {"limit": 100, "period": "PT1M"}});
        let job = json!({"type": "email.send", "args": [], "queue": "email", "rate_limit": limit,
                         "retry": {"max_attempts": 1}});
        send("POST", "jobs", id, job.clone());
        send("POST", "jobs", id, job);
        let fetch = json!({"queues": ["email", "reports"], "worker_id": format!("mailer-{id}")});
        let jobs = send("POST", "workers/fetch", id, fetch);
        let error = json!({"type": "smtp_timeout", "message": "no answer from smtp.example.com on port 25"});
        send("POST", "workers/nack", id, json!({"job_id": jobs["jobs"][0]["id"], "error": error}));
        let cron = json!({"name": "nightly-report", "expression": "0 2 * * *", "timezone": "Europe/Berlin",
                          "job_template": {"type": "report.build", "args": []}});
        send("POST", "cron", id, cron);
        send("POST", "cron/nightly-report/trigger", id, json!({}));
    }
    server
        .put("/ojs/v1/admin/pools/mail", json!({"queues": ["email", "reports"], "concurrency": 50}))
        .expect(201);
    let limits =
        json!({"max_concurrency": 10, "max_enqueue_rate": {"limit": 1000, "period": "PT1M"}});
    server
        .put("/ojs/v1/admin/tenants/acme", json!({"limits": limits, "reason": "their API is down"}))
        .expect(201);
    server
}

/// What is on a terminal of this width.
fn on_terminal(server: &Server, columns: usize, line: &str) -> String {
    let (rota, url) = (binary(), server.url(""));
    let line = format!("stty rows 50 cols {columns}; {} {line} --url {url}", rota.display());
    let shown = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap().replace("\r\n", "\n")
}

#[track_caller]
fn assert_fits(text: &str, columns: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "{columns}: {line}\n{text}");
    }
}

#[test]
fn tables_fit_the_terminal() {
    let server = busy_server();
    for line in LISTS {
        for columns in [80, 40] {
            let text = on_terminal(&server, columns, line);
            assert_fits(&text, columns);
            assert!(text.lines().count() >= 2 && !text.contains("rota:"), "{line}: {text}");
        }
    }
    // Ids are never cut, so that they can be copied.
    let jobs = on_terminal(&server, 40, "jobs");
    let ids: Vec<&str> =
        jobs.lines().filter(|line| line.len() == 36 && !line.starts_with(' ')).collect();
    assert_eq!(ids.len(), 6, "{jobs}");
    assert!(
        jobs.contains("\n  tenant   globex\n") && jobs.contains("\n  state    discarded\n"),
        "{jobs}"
    );
    assert_fits(&on_terminal(&server, 40, &format!("jobs show {}", ids[0])), 40);
    let queues = on_terminal(&server, 80, "queues");
    assert!(queues.contains("\nno room for PENDING, CANCELLED; --json has all\n"), "{queues}");
}

#[test]
fn several_tenants_have_a_column() {
    let server = busy_server();
    let run = |arguments: &[&str], columns: Option<&str>| {
        let mut command = command(arguments);
        command.env("ROTA_URL", server.url(""));
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for list in ["cron", "workers", "jobs"] {
        let text = run(&[list], None);
        assert!(text.lines().next().unwrap().contains("  TENANT  "), "{text}");
        assert!(text.contains("  acme  ") && text.contains("  globex  "), "{text}");
        let text = run(&[list, "--tenant", "acme"], None);
        assert!(!text.contains("TENANT") && text.lines().count() >= 2, "{text}");
    }
    // A pipe has any width, unless the variable says otherwise.
    assert!(run(&["queues"], None).contains("DISCARDED\n"));
    let text = run(&["queues"], Some("40"));
    assert!(text.contains("AVAILABLE") && !text.contains("DISCARDED"), "{text}");
    assert_fits(&text, 40);
}
