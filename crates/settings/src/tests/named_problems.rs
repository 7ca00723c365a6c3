use super::Sources;

fn in_file(file: &str) -> Vec<String> {
    Sources { file: Some(file), ..Sources::default() }.problems()
}

fn in_variable(name: &str, text: &str) -> Vec<String> {
    Sources { environment: &[(name, text)], ..Sources::default() }.problems()
}

#[test]
fn values_are_reported_with_their_line_and_field() {
    let found = in_file(
        "[tenants.acme]\nweight = 0\n[tenants.beta.limits]\n\
         max_enqueue_rate = { limit = 5, period = 'soon' }\n[tenants.gamma]\nquota = 'firm'\n\
         [pools.general]\nconcurrency = 5\n[rate_limits.stripe]\nthrottle = { limit = 0, period = '1s' }\n",
    );
    assert_eq!(
        found,
        [
            "file rota.toml line 2: tenants.acme.weight must be a number from 0.01 to 1000, not 0",
            "file rota.toml line 4: tenants.beta.limits.max_enqueue_rate.period is 'soon': \
             the duration has something other than a number where a number belongs; \
             expected an ISO 8601 duration such as \"PT30S\", or one such as \"45s\" or \"1h30m\"",
            "file rota.toml line 6: tenants.gamma.quota must be 'hard' or 'soft'",
            "file rota.toml line 7: pools.general.queues is required. \
             Send the names of the pool's queues as an array.",
            "file rota.toml line 10: rate_limits.stripe.throttle.limit must be at least 1. \
             A concurrency of 0 lets nothing start.",
        ]
    );
}

#[test]
fn unknown_fields_are_all_reported_with_the_nearest_one() {
    assert_eq!(
        in_file(
            "[tenants.acme]\nwieght = 1\ncolour = 'red'\nlimits.max_concurency = 5\n\
             [rate_limits.stripe]\nconcurency = 1\n[tenant_fairness]\ndefault_wight = 1\n"
        ),
        [
            "file rota.toml line 3: unknown setting tenants.acme.colour (value \"red\"); \
             see docs/configuration.md for all settings",
            "file rota.toml line 2: unknown setting tenants.acme.wieght (value \"1\"); \
             did you mean tenants.acme.weight?",
            "file rota.toml line 4: unknown setting tenants.acme.limits.max_concurency \
             (value \"5\"); did you mean tenants.acme.limits.max_concurrency?",
            "file rota.toml line 6: unknown setting rate_limits.stripe.concurency \
             (value \"1\"); did you mean rate_limits.stripe.concurrency?",
            "file rota.toml line 8: unknown setting tenant_fairness.default_wight \
             (value \"1\"); did you mean tenant_fairness.default_weight?",
        ]
    );
}

#[test]
fn a_mistyped_table_finds_its_name() {
    assert_eq!(
        in_file("[tenant.acme]\nweight = 1"),
        ["file rota.toml line 2: unknown setting tenant.acme.weight (value \"1\"); \
          did you mean tenants.acme.weight?"]
    );
    assert_eq!(
        in_variable("ROTA_POOL", "{}"),
        ["environment ROTA_POOL: unknown setting ROTA_POOL (value \"{}\"); \
          did you mean ROTA_POOLS?"]
    );
}

#[test]
fn names_are_checked() {
    assert_eq!(
        in_file(
            "[tenants.'a b']\nweight = 1\n[[pools]]\nqueues = ['a']\n[tenants.x]\ntenant_id = 'y'"
        ),
        [
            "file rota.toml line 1: tenants.\"a b\" is not a valid name of a tenant: it must be 1 to 128 \
             letters, digits, '.', '_', ':' and '-', starting with a letter or digit",
            "file rota.toml line 6: tenants.x.tenant_id must be the name of its table",
            "file rota.toml line 3: pools.0 needs a field name",
        ]
    );
    assert_eq!(
        in_variable("ROTA_POOLS", r#"[{"name":"a","queues":["a"]},{"name":"a","queues":["b"]}]"#),
        ["environment ROTA_POOLS: pools has a twice"]
    );
    assert_eq!(
        in_variable("ROTA_TENANT_FAIRNESS", r#"{"weights": {"tenant:a": 1, "a": 2}}"#),
        [
            "environment ROTA_TENANT_FAIRNESS: tenant_fairness.weights.\"tenant:a\" already has a weight"
        ]
    );
}

#[test]
fn shapes_are_checked() {
    assert_eq!(
        in_file("tenants = 5\npools.general = 5\ntenant_fairness.strategy = 'lottery'"),
        [
            "file rota.toml line 1: tenants = \"5\", but tenants is a group: \
             expected a table [tenants]",
            "file rota.toml line 2: pools.general must be a table with the fields of a pool",
            "file rota.toml line 3: tenant_fairness.strategy must be fair-share; \
             for other strategies set fairness.strategy",
        ]
    );
    for text in ["5", "null", "\"acme\""] {
        assert_eq!(
            in_variable("ROTA_TENANTS", text),
            ["environment ROTA_TENANTS: tenants must be a table of names"]
        );
    }
}

#[test]
fn a_variable_is_json_in_which_no_name_is_repeated() {
    for (text, problem) in [
        ("", "tenants is not valid JSON: EOF while parsing a value at line 1 column 0"),
        ("{acme: 1}", "tenants is not valid JSON: key must be a string at line 1 column 2"),
        (r#"{"a":{},"a":{}}"#, "'a' is given twice"),
        (r#"{"a":{"weight":1,"weight":2}}"#, "'a.weight' is given twice"),
    ] {
        assert_eq!(
            in_variable("ROTA_TENANTS", text),
            [format!(
                "environment ROTA_TENANTS: {problem}. \
                 Write JSON such as {{\"acme\": {{\"weight\": 10}}}}."
            )]
        );
    }
    let deep = "[".repeat(100_000);
    assert_eq!(in_variable("ROTA_POOLS", &deep).len(), 1);
}

#[test]
fn numbers_that_json_has_not_are_refused() {
    assert_eq!(
        in_file("tenants.a.weight = nan\ntenants.b.max_scheduled = -1\ntenants.c.weight = inf"),
        [
            "file rota.toml line 1: tenants.a.weight must be a number from 0.01 to 1000, not \"nan\"",
            "file rota.toml line 2: tenants.b.max_scheduled must be a whole number from 0 to 9223372036854775807, not -1",
            "file rota.toml line 3: tenants.c.weight must be a number from 0.01 to 1000, not \"inf\"",
        ]
    );
}
