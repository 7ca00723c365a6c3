use std::time::Duration;

use super::Sources;
use crate::settings::{Isolation, PriorityScope, Settings, TenantSource};

#[test]
fn tenancy_has_safe_defaults() {
    let settings = Settings::default();
    assert_eq!(&*settings.tenancy.default, "_default");
    assert_eq!(settings.tenancy.isolation, Isolation::Sharded);
    assert_eq!(
        settings.tenancy.source,
        [TenantSource::Body, TenantSource::Header, TenantSource::Credentials]
    );
    assert!(!settings.noisy.throttle && settings.noisy.detect);
    assert_eq!(settings.limits.rate_limit_pause, Duration::from_secs(3_600));
    assert_eq!(settings.starvation.rule(), rota_model::Starvation::default());
    assert!(settings.tenants.is_empty() && settings.pools.is_empty());
}

#[test]
fn what_is_left_to_auto_follows_the_isolation() {
    for (isolation, fair, scope) in [
        ("sharded", true, PriorityScope::Global),
        ("shared", false, PriorityScope::Global),
        ("namespace", true, PriorityScope::Tenant),
    ] {
        let flags = [("tenancy.isolation", isolation)];
        let settings = Sources { flags: &flags, ..Sources::default() }.resolve().unwrap();
        assert_eq!((settings.is_fair(), settings.priority_scope()), (fair, scope), "{isolation}");
    }
    let flags = [("tenancy.isolation", "shared"), ("fairness.enabled", "true")];
    assert!(Sources { flags: &flags, ..Sources::default() }.resolve().unwrap().is_fair());
}

#[test]
fn sharded_tenants_are_served_fairly_or_not_at_all() {
    let mut sources =
        Sources { file: Some("[tenant_fairness]\nenabled = false"), ..Sources::default() };
    assert_eq!(
        sources.problems(),
        ["fairness.enabled = \"false\" (file rota.toml line 2) does not go with \
          tenancy.isolation = \"sharded\" (default); \
          set tenancy.isolation to shared for the order of enqueueing"]
    );
    sources.flags = &[("tenancy.isolation", "shared")];
    assert!(!sources.resolve().unwrap().is_fair());
}

#[test]
fn lists_and_fractions_may_be_written_as_toml_has_them() {
    let sources = Sources {
        file: Some("tenancy.source = ['header', 'body']\nnoisy.active_share = 0.75"),
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    assert_eq!(settings.tenancy.source, [TenantSource::Header, TenantSource::Body]);
    assert_eq!(settings.noisy.active_share, 0.75);
    let source = settings.table().into_iter().find(|row| row.key == "tenancy.source").unwrap();
    assert_eq!(source.value, "header,body");

    let wrong = Sources {
        file: Some("tenancy.source = ['body', 'body']\ntenancy.default = 5\nlog.level = ['info']"),
        ..Sources::default()
    };
    assert_eq!(
        wrong.problems(),
        [
            "file rota.toml line 2: tenancy.default = \"5\", expected a tenant's name, \
             such as _default or acme-corp",
            "file rota.toml line 3: log.level = \"info\", \
             expected error, warn, info, debug or trace",
            "file rota.toml line 1: tenancy.source = \"body,body\", \
             expected a list of body, header or credentials, each at most once",
        ]
    );
}
