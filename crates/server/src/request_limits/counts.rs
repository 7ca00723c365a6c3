//! How many requests were within a limit and how many over it, by tenant.

use std::collections::BTreeMap;

use rota_model::TenantId;

/// Requests to which a limit applied, since the start of the process.
#[derive(Debug, Clone, Default)]
pub struct RequestCounts {
    /// How many tenants have counts of their own: the first that were counted.
    labels: usize,
    by_tenant: BTreeMap<TenantId, RequestCount>,
    others: RequestCount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCount {
    pub allowed: u64,
    pub refused: u64,
}

impl RequestCounts {
    pub fn new(labels: usize) -> Self {
        Self { labels, ..Self::default() }
    }

    pub fn count(&mut self, tenant: &TenantId, is_allowed: bool) {
        let has_room = self.by_tenant.len() < self.labels;
        let count = match self.by_tenant.get_mut(tenant) {
            Some(count) => count,
            None if has_room => self.by_tenant.entry(tenant.clone()).or_default(),
            None => &mut self.others,
        };
        match is_allowed {
            true => count.allowed += 1,
            false => count.refused += 1,
        }
    }

    /// The counts of each tenant, and of all others (`None`) if there are any.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&TenantId>, RequestCount)> {
        let others = (self.others != RequestCount::default()).then_some((None, self.others));
        self.by_tenant.iter().map(|(tenant, count)| (Some(tenant), *count)).chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_beyond_the_labels_are_counted_together() {
        let mut counts = RequestCounts::new(1);
        let [a, b, c] = ["a", "b", "c"].map(|id| TenantId::parse(id).unwrap());
        for (tenant, is_allowed) in [(&a, true), (&b, true), (&c, false), (&a, false)] {
            counts.count(tenant, is_allowed);
        }
        let count = RequestCount { allowed: 1, refused: 1 };
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(Some(&a), count), (None, count)]);
    }
}
