use super::Sources;

#[test]
fn unknown_names_are_reported_with_the_nearest_one_in_the_same_form() {
    let sources = Sources {
        flags: &[("lisen", "1")],
        environment: &[("ROTA_LIMITS_BATCH_JOB", "2")],
        file: Some("[retention]\ncomplete = '7d'\n[colours]\nbackground = 'red'\n[empty]\n"),
    };
    assert_eq!(
        sources.problems(),
        [
            "file rota.toml line 2: unknown setting retention.complete (value \"7d\"); \
             did you mean retention.completed?",
            "file rota.toml line 4: unknown setting colours.background (value \"red\"); \
             see docs/configuration.md for all settings",
            "file rota.toml line 5: unknown setting empty (value \"[empty]\"); \
             see docs/configuration.md for all settings",
            "environment ROTA_LIMITS_BATCH_JOB: unknown setting ROTA_LIMITS_BATCH_JOB \
             (value \"2\"); did you mean ROTA_LIMITS_BATCH_JOBS?",
            "flag --lisen: unknown setting --lisen (value \"1\"); did you mean --listen?",
        ]
    );
}

#[test]
fn all_problems_are_reported_together() {
    let sources = Sources {
        flags: &[("log.level", "loud")],
        environment: &[("ROTA_LISTEN", ""), ("ROTA_DATE", "/var/lib/rota")],
        file: Some("not toml"),
    };
    let error = sources.resolve().unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "4 problems in the settings:");
    assert!(lines[1].starts_with("  file rota.toml line 1 column 5: not valid TOML:"), "{error}");
    assert!(lines[2].ends_with("did you mean ROTA_DATA?"), "{error}");
    assert!(lines[3].starts_with("  environment ROTA_LISTEN: listen = \"\", expected"), "{error}");
    assert_eq!(
        lines[4],
        "  flag --log-level: log.level = \"loud\", expected error, warn, info, debug or trace"
    );
}

#[test]
fn variables_that_are_not_settings_are_left_alone() {
    let sources = Sources {
        environment: &[
            ("ROTA", "x"),
            ("ROTATE", "x"),
            ("ROTA_CONFIG", "rota.toml"),
            ("ROTA_URL", "http://127.0.0.1:8080"),
            ("ROTA_LOG", "debug"),
            ("ROTA_JOB_ID", "x"),
            ("ROTA_JOB_TYPE", "a.b"),
            ("ROTA_QUEUE", "default"),
            ("ROTA_ATTEMPT", "1"),
        ],
        ..Sources::default()
    };
    assert!(sources.resolve().is_ok());
}

#[test]
fn kubernetes_service_links_are_left_alone() {
    let sources = Sources {
        environment: &[
            ("ROTA_SERVICE_HOST", "10.0.0.11"),
            ("ROTA_SERVICE_PORT", "8080"),
            ("ROTA_SERVICE_PORT_HTTP", "8080"),
            ("ROTA_PORT", "tcp://10.0.0.11:8080"),
            ("ROTA_PORT_8080_TCP", "tcp://10.0.0.11:8080"),
            ("ROTA_PORT_8080_TCP_PROTO", "tcp"),
            ("ROTA_PORT_8080_TCP_ADDR", "10.0.0.11"),
            ("ROTA_SERVER_PORT_8080_TCP_PORT", "8080"),
        ],
        ..Sources::default()
    };
    assert!(sources.resolve().is_ok());

    let meant = Sources { environment: &[("ROTA_PORT", "8080")], ..Sources::default() };
    assert_eq!(meant.problems().len(), 1, "a person wrote this one");
}

#[test]
fn a_long_value_is_cut_short_and_a_strange_one_escaped() {
    let long = format!("line\n{}", "é".repeat(500));
    let sources = Sources { flags: &[("listen", &long)], ..Sources::default() };
    let problem = &sources.problems()[0];
    assert!(problem.starts_with("flag --listen: listen = \"line\\né"), "{problem}");
    assert!(problem.chars().count() < 250, "{problem}");
}
