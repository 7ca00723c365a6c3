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

/// Ids of 27 characters that differ at their ends.
fn many() -> String {
    let tenant = |n: u32| {
        format!(
            r#"{{"tenant_id": "customer-of-the-north-{n:05}", "dispatched_1m": {}, "backlog": 90000,
                "active": 8, "entitled_share": 0.033, "actual_share": 0.034, "enqueued_per_minute": 7}}"#,
            100 - n
        )
    };
    let tenants: Vec<String> = (1..=30).map(tenant).collect();
    let shares = format!(
        r#"{{"strategy": "weighted", "cost": "job", "priority_scope": "global", "enabled": true,
            "tenants": [{}], "total_dispatched_1m": 1000}}"#,
        tenants.join(",")
    );
    conversing(move |_, _| Said::Answer(200, shares.clone()))
}

/// What a terminal shows of it, screen by screen. `before` is done in it first.
#[cfg(target_os = "linux")]
fn watched(before: &str) -> Vec<String> {
    let rota = crate::support::binary();
    let line = format!(
        "{before}; exec timeout 2 {} tenants top -n 30 --interval 200ms --url {}",
        rota.display(),
        many()
    );
    let shown = std::process::Command::new("script").args(["-qec", &line, "/dev/null"]).output();
    let text = String::from_utf8(shown.unwrap().stdout).unwrap();
    let text = text.replace("\r\n", "\n").replace("\u{1b}[K", "").replace("\u{1b}[J", "");
    let screens: Vec<String> = text.split("\u{1b}[H").skip(2).map(str::to_owned).collect();
    assert!(screens.len() >= 3, "{text}");
    screens
}

#[cfg(target_os = "linux")]
#[track_caller]
fn assert_fits(screen: &str, columns: usize, lines: usize) {
    assert!(screen.lines().count() < lines, "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= columns), "{screen}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_what_it_has_room_for() {
    let screens = watched("stty rows 24 cols 80");
    screens.iter().for_each(|screen| assert_fits(screen, 80, 24));
    let first = &screens[0];
    assert!(first.starts_with("weighted by job") && first.contains("ENQUEUED/M\n"), "{first}");
    assert!(first.contains("\ncustomer-o…orth-00001 ") && first.contains("-00019 "), "{first}");
    assert!(first.ends_with("\n… and 11 more; q quits\n"), "{first}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_shrinks_shows_less() {
    let resize = "stty rows 24 cols 80; (sleep 1; stty rows 10 cols 40 < /dev/tty) &";
    let screens = watched(&format!("{resize} true"));
    assert_fits(&screens[0], 80, 24);
    assert!(screens[0].contains("ENQUEUED/M"), "{}", screens[0]);
    let last = screens.last().unwrap();
    assert_fits(last, 40, 10);
    assert!(last.contains("\nTENANT ") && last.contains(" DISPATCHED  BACKLOG\n"), "{last}");
    assert!(last.contains("-00005 ") && last.ends_with("\n… and 25 more; q quits\n"), "{last}");
}

#[cfg(target_os = "linux")]
#[test]
fn q_quits_and_restores_the_terminal() {
    use std::io::Write;
    let rota = crate::support::binary();
    let line = format!(
        "stty rows 24 cols 80; {} tenants top --url {}; echo code $?; stty -a | tr ' ' '\\n' | grep icanon",
        rota.display(),
        many()
    );
    let mut child = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = child.stdin.take().unwrap();
    // Other keys do nothing; the terminal keeps what is typed before it listens.
    keys.write_all(b"xq").unwrap();
    let shown = child.wait_with_output().unwrap();
    drop(keys);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("code 0") && text.trim_end().ends_with("\nicanon"), "{text}");
}
