use rota_model::{FairStrategy, LimitKey, PoolName, QueueStrategy, Rate, TenantId, Weight};

use super::Sources;
use crate::Settings;

const FILE: &str = r#"
[tenants.acme]
weight = 10
concurrency = 20
max_enqueue_rate = { limit = 1000, period = "PT1M" }

[tenants.acme.limits]
max_queue_depth = 50_000

[tenants."beta.inc"]
fairness_weight = 0.5
quota = "soft"

[pools.payments]
queues = ["payments"]
concurrency = 10
strategy = "strict"
isolated = true

[rate_limits."stripe:api"]
concurrency = 5
rate = { limit = 100, period = "1m" }
"#;

fn weight_of(settings: &Settings, tenant: &str) -> Option<f64> {
    settings.tenants[tenant].weight.map(Weight::value)
}

#[test]
fn the_file_names_tenants_pools_and_rate_limits() {
    let settings = Sources { file: Some(FILE), ..Sources::default() }.resolve().unwrap();
    let acme = &settings.tenants["acme"];
    assert_eq!((acme.max_concurrency, acme.max_queue_depth), (Some(20), Some(50_000)));
    assert_eq!(acme.max_enqueue_rate, Some(Rate { limit: 1000, period_ms: 60_000 }));
    assert_eq!(weight_of(&settings, "acme"), Some(10.0));
    assert_eq!(weight_of(&settings, "beta.inc"), Some(0.5));
    let payments = &settings.pools["payments"];
    assert_eq!((payments.strategy, payments.isolated), (QueueStrategy::Strict, true));
    assert_eq!(settings.rate_limits["stripe:api"].numbers.concurrency, Some(5));
}

#[test]
fn the_variables_take_every_shape_of_the_documents() {
    for (variable, texts) in [
        (
            "ROTA_TENANTS",
            &[
                r#"{"tenants": {"acme": {"weight": 10}}}"#,
                r#"{"acme": {"weight": 10}}"#,
                r#"{"acme": {"tenant_id": "acme", "limits": {}, "fairness_weight": 10}}"#,
                r#"[{"tenant_id": "acme", "fairness_weight": 10}]"#,
            ][..],
        ),
        (
            "ROTA_POOLS",
            &[
                r#"{"pools": [{"name": "payments", "queues": ["payments"]}]}"#,
                r#"[{"name": "payments", "queues": ["payments"]}]"#,
                r#"{"pools": {"payments": {"queues": {"payments": {"weight": 3}}}}}"#,
            ],
        ),
        (
            "ROTA_RATE_LIMITS",
            &[
                r#"{"stripe:api": {"rate": 100, "period": "minute"}}"#,
                r#"{"rate_limits": [{"key": "stripe:api", "max_per_second": 3}]}"#,
            ],
        ),
    ] {
        for text in texts {
            let sources = Sources { environment: &[(variable, text)], ..Sources::default() };
            let settings = sources.resolve().unwrap_or_else(|error| panic!("{text}: {error}"));
            match variable {
                "ROTA_TENANTS" => assert_eq!(weight_of(&settings, "acme"), Some(10.0), "{text}"),
                "ROTA_POOLS" => {
                    assert!(settings.pools.contains_key(&PoolName::parse("payments").unwrap()));
                }
                _ => {
                    let key = LimitKey::parse("stripe:api").unwrap();
                    assert!(settings.rate_limits[&key].numbers.rate.is_some(), "{text}");
                }
            }
        }
    }
}

#[test]
fn a_variable_replaces_the_entries_that_it_names() {
    let sources = Sources {
        environment: &[("ROTA_TENANTS", r#"{"acme": {"max_scheduled": 7}}"#)],
        file: Some(FILE),
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    let acme = &settings.tenants["acme"];
    assert_eq!((acme.max_scheduled, acme.max_concurrency, acme.weight), (Some(7), None, None));
    assert_eq!(weight_of(&settings, "beta.inc"), Some(0.5));
}

#[test]
fn tenant_fairness_gives_weights_to_tenants_without_their_own() {
    let sources = Sources {
        environment: &[("ROTA_TENANT_FAIRNESS", r#"{"weights": {"tenant:late": 3, "both": 4}}"#)],
        file: Some(
            "tenancy.isolation = 'shared'\n\
             [tenant_fairness]\nenabled = true\nstrategy = 'fair-share'\ndefault_weight = 2\n\
             [tenant_fairness.weights]\n'tenant:acme' = 5\nbare = 6\nboth = 7\n\
             [tenants.acme]\nweight = 10\n[tenants.bare]\nmax_scheduled = 1\n",
        ),
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    assert!(settings.is_fair());
    assert_eq!(settings.fairness.strategy, FairStrategy::Weighted);
    assert_eq!(settings.fairness.default_weight, Weight::new(2.0).unwrap());
    let weights: Vec<_> = ["acme", "bare", "both", "late"]
        .map(|tenant| weight_of(&settings, tenant).unwrap())
        .to_vec();
    assert_eq!(weights, [10.0, 6.0, 4.0, 3.0]);
    assert_eq!(settings.tenants["bare"].max_scheduled, Some(1));
}

#[test]
fn a_setting_under_its_own_name_wins_over_tenant_fairness_in_the_same_source() {
    let file = "fairness.default_weight = 3\n[tenant_fairness]\ndefault_weight = 2";
    let wrapped = r#"{"tenant_fairness": {"default_weight": 4}}"#;
    let mut sources = Sources { file: Some(file), ..Sources::default() };
    assert_eq!(sources.resolve().unwrap().fairness.default_weight.value(), 3.0);
    let environment = [("ROTA_TENANT_FAIRNESS", wrapped)];
    sources.environment = &environment;
    assert_eq!(sources.resolve().unwrap().fairness.default_weight.value(), 4.0);
}

#[test]
fn entries_are_rows_with_their_origin() {
    let sources = Sources {
        environment: &[("ROTA_TENANT_FAIRNESS", r#"{"weights": {"tenant:late": 3, "acme": 4}}"#)],
        file: Some(FILE),
        ..Sources::default()
    };
    let table = sources.resolve().unwrap().table();
    let named = table.iter().skip_while(|row| !row.key.starts_with("tenants."));
    let shown: Vec<String> =
        named.map(|row| format!("{} {} {}", row.key, row.value, row.origin)).collect();
    assert_eq!(
        shown,
        [
            "tenants.acme {\"concurrency\":20,\"limits\":{\"max_queue_depth\":50000},\
             \"max_enqueue_rate\":{\"limit\":1000,\"period\":\"PT1M\"},\"weight\":10} \
             file rota.toml line 2",
            "tenants.\"beta.inc\" {\"fairness_weight\":0.5,\"quota\":\"soft\"} \
             file rota.toml line 10",
            "pools.payments {\"concurrency\":10,\"isolated\":true,\"queues\":[\"payments\"],\
             \"strategy\":\"strict\"} file rota.toml line 14",
            "rate_limits.\"stripe:api\" {\"concurrency\":5,\"rate\":{\"limit\":100,\
             \"period\":\"1m\"}} file rota.toml line 20",
            "tenant_fairness.weights.late 3 environment ROTA_TENANT_FAIRNESS",
        ]
    );
}

#[test]
fn a_tenant_may_have_the_name_of_its_table() {
    let sources = Sources {
        environment: &[("ROTA_TENANTS", r#"{"tenants": {"tenants": {"weight": 2}}}"#)],
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    assert_eq!(settings.tenants.keys().collect::<Vec<_>>(), [&TenantId::parse("tenants").unwrap()]);
}
