use super::Sources;
use crate::{Origin, Row, Settings};

const FILE: &str = r#"
listen = "127.0.0.1:1"

[retention]
completed = "1d"
"#;

fn row(settings: &Settings, key: &str) -> Row {
    let found = settings.table().into_iter().find(|row| row.key == key);
    found.unwrap()
}

#[test]
fn flags_over_environment_over_file_over_default() {
    let mut sources = Sources::default();
    let port = |sources: &Sources| sources.resolve().unwrap().listen.port();
    assert_eq!(port(&sources), 8080);
    sources.file = Some(FILE);
    assert_eq!(port(&sources), 1);
    sources.environment = &[("ROTA_LISTEN", "127.0.0.1:2")];
    assert_eq!(port(&sources), 2);
    sources.flags = &[("listen", "127.0.0.1:3")];
    assert_eq!(port(&sources), 3);
}

#[test]
fn each_row_says_where_its_value_came_from() {
    let settings = Sources {
        flags: &[("limits.batch_jobs", "5")],
        environment: &[("ROTA_RETENTION_DISCARDED", "never"), ("PATH", "/bin")],
        file: Some(FILE),
    };
    let settings = settings.resolve().unwrap();
    let origin = |key| row(&settings, key).origin.to_string();
    assert_eq!(origin("data"), "default");
    assert_eq!(origin("listen"), "file rota.toml line 2");
    assert_eq!(origin("retention.completed"), "file rota.toml line 5");
    assert_eq!(origin("retention.discarded"), "environment ROTA_RETENTION_DISCARDED");
    assert_eq!(origin("limits.batch_jobs"), "flag --limits-batch-jobs");
    assert_eq!(settings.retention.discarded, None);
    assert_eq!(
        row(&settings, "limits.batch_jobs"),
        Row {
            key: "limits.batch_jobs".to_owned(),
            value: "5".to_owned(),
            origin: Origin::Flag("--limits-batch-jobs".to_owned()),
            default: "1000",
            help: "Maximum jobs enqueued by one request.",
        }
    );
}

#[test]
fn a_flag_is_known_by_its_key_or_its_own_name_and_the_last_one_counts() {
    let sources = Sources {
        flags: &[("retention.batch", "1"), ("--retention-batch", "2")],
        ..Sources::default()
    };
    assert_eq!(sources.resolve().unwrap().retention.batch, 2);
}

#[test]
fn an_overruled_value_still_has_to_be_good() {
    let sources = Sources {
        flags: &[("listen", "127.0.0.1:3")],
        file: Some("listen = \"nowhere\""),
        ..Sources::default()
    };
    assert_eq!(
        sources.problems(),
        ["file rota.toml line 1: listen = \"nowhere\", expected an IP address and port, \
          such as 127.0.0.1:8080, [::1]:8080 or localhost:8080"]
    );
}
