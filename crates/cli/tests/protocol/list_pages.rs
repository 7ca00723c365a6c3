//! Lists by name: cursors and page numbers go through all of them.

use serde_json::{Value, json};

use crate::shorthand::{job_on, register};
use crate::support::Server;

fn names(page: &Value, list: &str, name: &str) -> Vec<String> {
    let items = page[list].as_array().unwrap().iter();
    items.map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

/// Follows the cursors of a list in pages of two.
fn all(server: &Server, path: &str, size: &str, list: &str, name: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("{path}?{size}=2{cursor}")).expect(200);
        assert_eq!(page["pagination"]["total"], 5, "{page}");
        found.extend(names(&page, list, name));
        match page["pagination"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
        assert_eq!(page["pagination"]["has_more"], true, "{page}");
    }
}

#[test]
fn cursors_go_through_lists_by_name() {
    let server = Server::start();
    let expected: Vec<String> = (1..=5).map(|n| format!("n{n}")).collect();
    for name in &expected {
        register(&server, name, json!({}));
        server.put(&format!("/ojs/v1/admin/pools/{name}"), json!({"queues": ["n1"]})).expect(201);
        let template = json!({"type": "t", "args": []});
        let cron = json!({"name": name, "expression": "0 0 1 1 *", "job_template": template});
        server.post("/ojs/v1/cron", cron).expect(201);
        server.enqueue(job_on(name));
    }
    let lists = [
        ("/ojs/v1/admin/workers", "per_page", "items", "id"),
        ("/ojs/v1/admin/pools", "per_page", "items", "name"),
        ("/ojs/v1/admin/queues", "per_page", "items", "name"),
        ("/ojs/v1/queues", "limit", "queues", "name"),
        ("/ojs/v1/cron", "limit", "crons", "name"),
    ];
    for (path, size, list, name) in lists {
        assert_eq!(all(&server, path, size, list, name), expected, "{path}");
        let page = server.get(&format!("{path}?page=2&per_page=2")).expect(200);
        assert_eq!(names(&page, list, name), ["n3", "n4"], "{path}");
        let skipped = server.get(&format!("{path}?offset=2&limit=2")).expect(200);
        assert_eq!(page["pagination"], skipped["pagination"], "{path}");
        assert_eq!(page["pagination"]["page"], 2, "{path}");
    }
}
