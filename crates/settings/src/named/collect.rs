use std::collections::BTreeMap;
use std::ops::Deref;

use rota_identity::CertificateRule;
use rota_model::{
    DeclaredLimit, LimitKey, PoolConfig, PoolName, ReplayRule, RuleName, Starvation, TenantConfig,
    TenantId, Weight,
};

use super::document::Table;
use super::entries::{self, Located};
use super::fairness;
use crate::declared::Settings;
use crate::error::Problem;
use crate::file::quote_key;
use crate::given::{Found, Given};
use crate::table::Row;

/// The entries of all sources so far; a later entry replaces an earlier one of the same name.
#[derive(Default)]
pub(crate) struct Collected {
    tenants: BTreeMap<TenantId, Located<TenantConfig>>,
    pools: BTreeMap<PoolName, Located<PoolConfig>>,
    rate_limits: BTreeMap<LimitKey, Located<DeclaredLimit>>,
    replay_rules: BTreeMap<RuleName, Located<ReplayRule>>,
    certificates: BTreeMap<RuleName, Located<CertificateRule>>,
    weights: BTreeMap<TenantId, Located<Weight>>,
}

impl Collected {
    /// Returns the values of settings. Those from `tenant_fairness` come first, so that the same source
    /// can override them under the setting's own name.
    pub(crate) fn add(&mut self, found: Found, problems: &mut Vec<Problem>) -> Vec<Given> {
        let mut given = Vec::new();
        for document in &found.documents {
            match document.table {
                Table::Tenants => self.tenants.extend(entries::read(document, problems)),
                Table::Pools => self.pools.extend(entries::read(document, problems)),
                Table::RateLimits => self.rate_limits.extend(entries::read(document, problems)),
                Table::ReplayRules => self.replay_rules.extend(entries::read(document, problems)),
                Table::Certificates => self.certificates.extend(entries::read(document, problems)),
                Table::TenantFairness => {
                    let fairness = fairness::read(document, problems);
                    self.weights.extend(fairness.weights);
                    given.extend(fairness.given);
                }
            }
        }
        given.extend(found.given);
        given
    }

    /// Problems with pools that have no rule of their own and too many queues for the server's ratio.
    pub(crate) fn overpromised(&self, rule: &Starvation) -> Vec<Problem> {
        let too_many = |pool: &PoolConfig| {
            pool.starvation.is_none() && rule.promises_too_much(pool.queues.len())
        };
        let problem = |(name, pool): (&PoolName, &Located<PoolConfig>)| {
            let queues = pool.value.queues.len();
            Problem::Entry {
                origin: pool.origin.clone(),
                message: format!(
                    "pools.{} has {queues} queues, and {queues} times starvation.min_dispatch_ratio is more than 1",
                    quote_key(name),
                ),
                hint: Some(
                    "Lower starvation.min_dispatch_ratio or give the pool its own starvation_prevention"
                        .to_owned(),
                ),
            }
        };
        self.pools.iter().filter(|(_, pool)| too_many(&pool.value)).map(problem).collect()
    }

    /// Problems with rules for certificates that nobody asks for, and with a mode that has no rules.
    pub(crate) fn unused_certificates(&self, has_mtls: bool, modes: Option<Given>) -> Vec<Problem> {
        let unused = |(name, rule): (&RuleName, &Located<CertificateRule>)| Problem::Entry {
            origin: rule.origin.clone(),
            message: format!("certificates.{} has no effect", quote_key(name)),
            hint: Some("Add mtls to auth.modes".to_owned()),
        };
        match (has_mtls, modes) {
            (false, _) => self.certificates.iter().map(unused).collect(),
            (true, Some(modes)) if self.certificates.is_empty() => vec![Problem::Entry {
                origin: modes.origin,
                message: "auth.modes has mtls, but nothing says whose clients' certificates are"
                    .to_owned(),
                hint: Some("Add a table [certificates.NAME]".to_owned()),
            }],
            (true, _) => Vec::new(),
        }
    }

    /// A weight in `tenant_fairness` is for a tenant that has none of its own.
    pub(crate) fn put_into(mut self, settings: &mut Settings) {
        let tenants = &self.tenants;
        let has_own = |id: &TenantId| tenants.get(id).is_some_and(|it| it.value.weight.is_some());
        self.weights.retain(|id, _| !has_own(id));

        let rows = &mut settings.rows;
        add_rows(rows, "tenants", &self.tenants, "What this tenant may use, and its share.");
        add_rows(rows, "pools", &self.pools, "A group of workers, and how its queues are served.");
        add_rows(rows, "rate_limits", &self.rate_limits, "How often jobs of this key may start.");
        add_rows(
            rows,
            "replay_rules",
            &self.replay_rules,
            "Jobs of the dead letter to be replayed.",
        );
        add_rows(
            rows,
            "certificates",
            &self.certificates,
            "Whose these clients' certificates are, and what they allow.",
        );
        let key = "tenant_fairness.weights";
        add_rows(rows, key, &self.weights, "Weight of a tenant that has none of its own.");

        settings.tenants = values(self.tenants);
        settings.pools = values(self.pools);
        settings.rate_limits = values(self.rate_limits);
        settings.replay_rules = values(self.replay_rules);
        settings.certificates = values(self.certificates);
        for (id, weight) in self.weights {
            settings.tenants.entry(id).or_default().weight = Some(weight.value);
        }
    }
}

fn values<Name: Ord, T>(located: BTreeMap<Name, Located<T>>) -> BTreeMap<Name, T> {
    located.into_iter().map(|(name, located)| (name, located.value)).collect()
}

fn add_rows<Name: Deref<Target = str>, T>(
    rows: &mut Vec<Row>,
    table: &str,
    entries: &BTreeMap<Name, Located<T>>,
    help: &'static str,
) {
    rows.extend(entries.iter().map(|(name, entry)| Row {
        key: format!("{table}.{}", quote_key(name)),
        value: entry.text.clone(),
        origin: entry.origin.clone(),
        default: "",
        help,
    }));
}
