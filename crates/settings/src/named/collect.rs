use std::collections::BTreeMap;
use std::ops::Deref;

use rota_model::{
    LimitKey, LimitNumbers, PoolConfig, PoolName, Starvation, TenantConfig, TenantId, Weight,
};

use super::document::Table;
use super::entries::{self, Placed};
use super::fairness;
use crate::declared::Settings;
use crate::error::Problem;
use crate::file::segment;
use crate::given::{Found, Given};
use crate::table::Row;

/// The entries of all sources so far; one that comes later takes the place of its namesake.
#[derive(Default)]
pub(crate) struct Collected {
    tenants: BTreeMap<TenantId, Placed<TenantConfig>>,
    pools: BTreeMap<PoolName, Placed<PoolConfig>>,
    rate_limits: BTreeMap<LimitKey, Placed<LimitNumbers>>,
    weights: BTreeMap<TenantId, Placed<Weight>>,
}

impl Collected {
    /// Gives back the values of settings. Those that stand in `tenant_fairness` come first: the
    /// same source may say otherwise under the setting's own name.
    pub(crate) fn add(&mut self, found: Found, problems: &mut Vec<Problem>) -> Vec<Given> {
        let mut given = Vec::new();
        for document in &found.documents {
            match document.table {
                Table::Tenants => self.tenants.extend(entries::read(document, problems)),
                Table::Pools => self.pools.extend(entries::read(document, problems)),
                Table::RateLimits => self.rate_limits.extend(entries::read(document, problems)),
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

    /// Pools without a rule of their own that have too many queues for the server's ratio.
    pub(crate) fn overpromised(&self, rule: &Starvation) -> Vec<Problem> {
        let too_many = |pool: &PoolConfig| {
            pool.starvation.is_none() && rule.promises_too_much(pool.queues.len())
        };
        let pools = self.pools.iter().filter(|(_, placed)| too_many(&placed.thing));
        let problem = |(name, placed): (&PoolName, &Placed<PoolConfig>)| {
            Problem::Entry {
            origin: placed.origin.clone(),
            message: format!(
                "pools.{} has {n} queues, and {n} times starvation.min_dispatch_ratio is more than 1",
                segment(name),
                n = placed.thing.queues.len(),
            ),
            hint: Some(
                "Lower starvation.min_dispatch_ratio or give the pool its own starvation_prevention"
                    .to_owned(),
            ),
        }
        };
        pools.map(problem).collect()
    }

    /// A weight of `tenant_fairness` is for a tenant that has none of its own.
    pub(crate) fn put_into(mut self, settings: &mut Settings) {
        let tenants = &self.tenants;
        let has_own = |id: &TenantId| tenants.get(id).is_some_and(|it| it.thing.weight.is_some());
        self.weights.retain(|id, _| !has_own(id));

        let rows = &mut settings.rows;
        add_rows(rows, "tenants", &self.tenants, "What this tenant may use, and its share.");
        add_rows(rows, "pools", &self.pools, "A group of workers, and how its queues are served.");
        add_rows(rows, "rate_limits", &self.rate_limits, "How often jobs of this key may start.");
        let key = "tenant_fairness.weights";
        add_rows(rows, key, &self.weights, "Weight of a tenant that has none of its own.");

        settings.tenants = things(self.tenants);
        settings.pools = things(self.pools);
        settings.rate_limits = things(self.rate_limits);
        for (id, weight) in self.weights {
            settings.tenants.entry(id).or_default().weight = Some(weight.thing);
        }
    }
}

fn things<Name: Ord, T>(placed: BTreeMap<Name, Placed<T>>) -> BTreeMap<Name, T> {
    placed.into_iter().map(|(name, placed)| (name, placed.thing)).collect()
}

fn add_rows<Name: Deref<Target = str>, T>(
    rows: &mut Vec<Row>,
    table: &str,
    entries: &BTreeMap<Name, Placed<T>>,
    help: &'static str,
) {
    rows.extend(entries.iter().map(|(name, placed)| Row {
        key: format!("{table}.{}", segment(name)),
        value: placed.written.clone(),
        origin: placed.origin.clone(),
        default: "",
        help,
    }));
}
