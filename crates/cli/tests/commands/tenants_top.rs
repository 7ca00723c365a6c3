use crate::fairness::SHARES;
use crate::fake::{Said, conversing, scripted};
use crate::looks_like;
use crate::run::rota_at;
use crate::tenants::STATS;

fn server() -> String {
    conversing(|path, _| match path {
        "/ojs/v1/admin/fairness?limit=20" | "/ojs/v1/admin/fairness?limit=2" => {
            Said::Answer(200, SHARES.to_owned())
        }
        "/ojs/v1/admin/tenants/initech/stats" => Said::Answer(
            404,
            r#"{"error": {"code": "not_found", "message": "There is no tenant."}}"#.to_owned(),
        ),
        "/ojs/v1/admin/tenants/acme/stats" | "/ojs/v1/admin/tenants/globex/stats" => {
            Said::Answer(200, STATS.to_owned())
        }
        _ => Said::Nothing,
    })
}

#[test]
fn one_table_where_there_is_no_terminal() {
    let url = server();
    let text = rota_at(&url, &["tenants", "top"]).printed();
    looks_like!("top", &text);
    assert_eq!(rota_at(&url, &["tenants", "top", "--once"]).printed(), text);
}

#[test]
fn no_more_tenants_than_wanted() {
    let url = server();
    let text = rota_at(&url, &["tenants", "top", "-n", "2", "--once"]).printed();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(!text.contains("initech"), "{text}");
}

#[test]
fn a_server_that_tells_the_rate_is_asked_once() {
    let shares = r#"{"tenants": [{"tenant_id": "acme", "enqueued_per_minute": 13}]}"#;
    let server = scripted(&[(200, shares)]);
    let text = rota_at(&server.url, &["tenants", "top"]).printed();
    assert!(text.ends_with("    13\n"), "{text}");
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/fairness?limit=20"]);
}

#[test]
fn json_is_the_answer_of_the_server() {
    let top = rota_at(&server(), &["tenants", "top", "--json"]).json();
    assert_eq!(top["total_dispatched_1m"], 1000);
}

#[test]
fn mistakes_are_explained() {
    let message = rota_at("", &["tenants", "top", "--interval", "5ms"]).failed(2);
    assert!(message.contains("at least 100ms"), "{message}");
    rota_at("", &["tenants", "top", "-n", "0"]).failed(2);
}
