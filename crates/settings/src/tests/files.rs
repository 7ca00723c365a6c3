use super::Sources;

fn problems(file: &str) -> Vec<String> {
    let sources = Sources { file: Some(file), ..Sources::default() };
    sources.problems()
}

#[test]
fn values_may_be_strings_or_toml_numbers_and_booleans() {
    let sources = Sources {
        file: Some(
            "limits.batch_jobs = 1_0\nlimits.fetch_jobs = \"20\"\ncache.bodies = 0x1000\n\
             shutdown.grace = 0\ntesting = { directives = true }\nlog.level = 'debug'",
        ),
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    assert_eq!(settings.limits.batch_jobs, 10);
    assert_eq!(settings.limits.fetch_jobs, 20);
    assert_eq!(settings.cache.bodies, 4096);
    assert!(settings.shutdown.grace.is_zero());
    assert!(settings.testing.directives);
}

#[test]
fn values_of_the_wrong_shape_are_refused() {
    assert_eq!(
        problems("data = 5\nlimits.batch_jobs = 1.5\nretention.batch = -1\ncache.bodies = [1]"),
        [
            "file rota.toml line 1: data = \"5\", expected a directory, such as /var/lib/rota",
            "file rota.toml line 4: cache.bodies = \"[1]\", \
             expected a size from 0 to 1TiB, such as 64MiB, 1MB or 4096",
            "file rota.toml line 2: limits.batch_jobs = \"1.5\", \
             expected a whole number from 1 to 1000",
            "file rota.toml line 3: retention.batch = \"-1\", \
             expected a whole number from 1 to 10000",
        ]
    );
    let found = problems("[listen]\nport = 8080");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("file rota.toml line 1: listen = "), "{found:?}");
}

#[test]
fn a_group_is_a_table() {
    for text in ["log = \"json\"", "\n[[log]]\nlevel = 'info'"] {
        let found = problems(text);
        assert!(found[0].contains("expected a table [log]"), "{found:?}");
    }
    let empty = Sources { file: Some("# nothing set\n[log]\n"), ..Sources::default() };
    assert!(empty.resolve().is_ok());
}

#[test]
fn syntax_errors_show_line_and_column() {
    let found = problems("listen = \"127.0.0.1:1\"\ndata = 'é' oops\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("file rota.toml line 2 column 12: not valid TOML: "), "{found:?}");
    let found = problems("data = 'a'\ndata = 'b'\n");
    assert!(
        found[0].starts_with("file rota.toml line 2 column 1: not valid TOML: duplicate key"),
        "{found:?}"
    );
}

#[test]
fn windows_line_ends_count_once() {
    let found = problems("data = 'a'\r\n\r\nlog.level = 'loud'\r\n");
    assert_eq!(
        found,
        ["file rota.toml line 3: log.level = \"loud\", \
          expected error, warn, info, debug or trace"]
    );
}

#[test]
fn a_quoted_dotted_name_is_not_a_path() {
    let found = problems("\"log.level\" = 'info'");
    assert!(found[0].contains("unknown setting \"log.level\""), "{found:?}");
}
