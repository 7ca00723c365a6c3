//! Requests of web pages from other origins (CORS).

use crate::support::{Reply, Server};

const PAGE: &str = "https://admin.example.com";

fn preflight(server: &Server, path: &str, origin: &str) -> Reply {
    let headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", "PUT"),
        ("Access-Control-Request-Headers", "content-type,x-ojs-tenant"),
    ];
    server.send("OPTIONS", path, &headers, None)
}

fn get(server: &Server, path: &str, origin: &str) -> Reply {
    server.send("GET", path, &[("Origin", origin)], None)
}

#[test]
fn pages_of_listed_origins_may_ask_and_read() {
    let origins = format!("{PAGE},http://localhost:5173");
    let server = Server::start_with(&["--http-cors-origins", &origins]);
    for origin in [PAGE, "http://localhost:5173"] {
        // A path that does not exist, too: the page is to read the 404.
        for path in ["/ojs/v1/jobs", "/ojs/manifest", "/no/such/path"] {
            let asked = preflight(&server, path, origin);
            assert_eq!(asked.status, 204, "{}", asked.text);
            let methods = asked.header("access-control-allow-methods").unwrap();
            assert_eq!(methods, "GET, POST, PUT, PATCH, DELETE");
            let headers = asked.header("access-control-allow-headers");
            assert_eq!(headers, Some("content-type,x-ojs-tenant"));
            assert!(asked.header("access-control-max-age").is_some());
            assert_eq!(asked.header("access-control-allow-origin"), Some(origin));
        }
        for (path, status) in [("/ojs/v1/health", 200), ("/ojs/v1/jobs/x", 404)] {
            let reply = get(&server, path, origin);
            assert_eq!(reply.status, status);
            assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
            assert_eq!(reply.header("access-control-allow-credentials"), Some("true"));
            assert_eq!(reply.header("vary"), Some("Origin"));
            let exposed = reply.header("access-control-expose-headers").unwrap();
            for name in ["OJS-Version", "X-Request-Id", "Retry-After", "X-RateLimit-Reset"] {
                assert!(exposed.contains(name), "{exposed}");
            }
        }
    }
    // Near misses are other origins.
    for origin in ["https://admin.example.com:8443", "http://admin.example.com", "null"] {
        let error = preflight(&server, "/ojs/v1/jobs", origin).expect_error(403, "forbidden");
        assert!(error["message"].as_str().unwrap().contains(origin), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("http.cors_origins"), "{error}");
        let reply = get(&server, "/ojs/v1/health", origin);
        assert_eq!(reply.header("access-control-allow-origin"), None);
        assert_eq!(reply.header("vary"), Some("Origin"), "a cache must not mix origins");
    }
    // Not a preflight: nothing is asked.
    let reply = server.send("OPTIONS", "/ojs/v1/jobs", &[("Origin", PAGE)], None);
    assert_eq!(reply.status, 405);
    assert_eq!(server.get("/ojs/v1/health").header("access-control-allow-origin"), None);
}

#[test]
fn a_star_allows_every_page_but_no_credentials() {
    let server = Server::start_with(&["--http-cors-origins", "*"]);
    assert_eq!(preflight(&server, "/ojs/v1/jobs", "null").status, 204);
    let reply = get(&server, "/ojs/v1/health", PAGE);
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    assert_eq!(reply.header("vary"), None);
}

#[test]
fn without_the_setting_no_page_may_ask() {
    let server = Server::start();
    preflight(&server, "/ojs/v1/jobs", PAGE).expect_error(403, "forbidden");
    let reply = get(&server, "/ojs/v1/health", PAGE);
    assert_eq!(reply.status, 200);
    assert!(!reply.headers.iter().any(|(name, _)| name.starts_with("access-control")));
}
