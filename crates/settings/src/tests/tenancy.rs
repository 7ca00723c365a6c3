use std::time::Duration;

use rota_model::{FairnessScope, PriorityScope};

use super::Sources;
use crate::{Isolation, Origin, Settings, TenantSource};

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
        ["fairness.enabled = \"false\" (file rota.toml line 2) conflicts with \
          tenancy.isolation = \"sharded\" (default); \
          for first in, first out set tenancy.isolation to shared"]
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

#[test]
fn a_throttle_that_could_have_no_effect_is_refused() {
    let shared = [("ROTA_NOISY_THROTTLE", "true"), ("ROTA_TENANCY_ISOLATION", "shared")];
    let wrong = Sources { environment: &shared, ..Sources::default() };
    let problems = wrong.problems();
    assert!(problems[0].contains("noisy.throttle") && problems[0].contains("tenancy.isolation"));
    let off = [shared[0], shared[1], ("ROTA_FAIRNESS_ENABLED", "false")];
    let wrong = Sources { environment: &off, ..Sources::default() };
    assert!(wrong.problems()[0].contains("fairness.enabled"));
    for more in [("ROTA_FAIRNESS_ENABLED", "true"), ("ROTA_FAIRNESS_STRATEGY", "strict")] {
        let right = [shared[0], shared[1], more];
        assert!(Sources { environment: &right, ..Sources::default() }.resolve().is_ok());
    }
    let throttle = shared[0];
    for (more, name) in [
        (("ROTA_TENANCY_ISOLATION", "namespace"), "tenancy.isolation"),
        (("ROTA_NOISY_DETECT", "false"), "noisy.detect"),
    ] {
        let wrong = Sources { environment: &[throttle, more], ..Sources::default() }.problems();
        assert!(wrong[0].contains("noisy.throttle") && wrong[0].contains(name), "{wrong:?}");
    }
}

#[test]
fn shares_are_counted_queue_by_queue_unless_told() {
    let settings = Settings::default();
    assert_eq!(settings.fairness.scope, FairnessScope::Queue);
    assert!(!settings.fairness.charge_own_workers);
    let sources = Sources {
        environment: &[("ROTA_FAIRNESS_SCOPE", "pool")],
        file: Some(
            "fairness.charge_own_workers = true\n[pools.mail]\nqueues = ['email']\nfairness_scope = 'queue'",
        ),
        ..Sources::default()
    };
    let settings = sources.resolve().unwrap();
    assert_eq!(settings.fairness.scope, FairnessScope::Pool);
    assert!(settings.fairness.charge_own_workers);
    assert_eq!(settings.pools["mail"].fairness_scope, Some(FairnessScope::Queue));
    let wrong = Sources { flags: &[("fairness.scope", "server")], ..Sources::default() };
    assert_eq!(
        wrong.problems(),
        ["flag --fairness-scope: fairness.scope = \"server\", expected queue or pool"]
    );
    let wrong = Sources {
        file: Some("[pools.mail]\nqueues = ['email']\nfairness_scope = 'all'"),
        ..Sources::default()
    };
    assert_eq!(
        wrong.problems(),
        ["file rota.toml line 3: pools.mail.fairness_scope must be queue or pool"]
    );
}

#[test]
fn a_dispatch_ratio_counts_as_given_only_when_someone_gave_it() {
    let ratio_row = |settings: &Settings| {
        let mut rows = settings.table().into_iter();
        rows.find(|row| row.key == "starvation.min_dispatch_ratio").unwrap()
    };
    let settings = Settings::default();
    assert_eq!(settings.starvation.rule().min_ratio, None);
    assert_eq!(ratio_row(&settings).value, "0.05");
    assert_eq!(ratio_row(&settings).origin, Origin::Default);

    let file = Some("starvation.min_dispatch_ratio = 0.05");
    let settings = Sources { file, ..Sources::default() }.resolve().unwrap();
    assert_eq!(settings.starvation.rule().min_ratio, Some(50_000));
    assert_eq!(ratio_row(&settings).origin.to_string(), "file rota.toml line 1");

    let flags = [("starvation.min_dispatch_ratio", "1.5")];
    assert_eq!(
        Sources { flags: &flags, ..Sources::default() }.problems(),
        ["flag --starvation-min-dispatch-ratio: starvation.min_dispatch_ratio = \"1.5\", \
          expected a number from 0 to 1, such as 0.5"]
    );
}

#[test]
fn a_given_dispatch_ratio_has_to_fit_the_queues_of_every_pool() {
    let pools = "[pools.mail]\nqueues = ['a', 'b', 'c']\n\
                 [pools.own]\nqueues = ['a', 'b', 'c']\nstarvation_prevention = { enabled = true }";
    let flags = |ratio| [("starvation.enabled", "true"), ("starvation.min_dispatch_ratio", ratio)];
    let too_much = Sources { flags: &flags("0.4"), file: Some(pools), ..Sources::default() };
    assert_eq!(
        too_much.problems(),
        ["file rota.toml line 1: pools.mail has 3 queues, and 3 times \
          starvation.min_dispatch_ratio is more than 1. Lower starvation.min_dispatch_ratio or give \
          the pool its own starvation_prevention"]
    );
    let fits = Sources { flags: &flags("0.33"), file: Some(pools), ..Sources::default() };
    assert!(fits.resolve().is_ok());

    let many: Vec<String> = (0..30).map(|n| format!("'q{n}'")).collect();
    let pool = format!("[pools.wide]\nqueues = [{}]", many.join(", "));
    let enabled = [("starvation.enabled", "true")];
    let default = Sources { flags: &enabled, file: Some(&pool), ..Sources::default() };
    assert!(default.resolve().is_ok(), "the default is lowered instead");
}
