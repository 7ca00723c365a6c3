//! A running median over one number per tenant.

use std::collections::{BTreeMap, BTreeSet};

use crate::tenant::TenantIx;

/// Tenants with a nonzero number, split into two halves of equal size; the lower one may have one
/// more.
#[derive(Default)]
pub(crate) struct Median {
    numbers: BTreeMap<TenantIx, u64>,
    low: BTreeSet<(u64, TenantIx)>,
    high: BTreeSet<(u64, TenantIx)>,
}

impl Median {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Sets a tenant's number; zero removes the tenant.
    pub fn set(&mut self, tenant: TenantIx, number: u64) {
        let old = match number {
            0 => self.numbers.remove(&tenant),
            _ => self.numbers.insert(tenant, number),
        };
        if let Some(old) = old {
            let _ = self.low.remove(&(old, tenant)) || self.high.remove(&(old, tenant));
        }
        if number > 0 {
            let entry = (number, tenant);
            let upper = self.high.first().is_some_and(|first| entry > *first);
            if upper {
                self.high.insert(entry)
            } else {
                self.low.insert(entry)
            };
        }
        while self.low.len() > self.high.len() + 1 {
            self.high.extend(self.low.pop_last());
        }
        while self.high.len() > self.low.len() {
            self.low.extend(self.high.pop_first());
        }
    }

    /// The median: for an even count, the mean of the two in the middle; for exactly two, the
    /// smaller, because no number is several times its mean with one other; zero if there are none.
    pub fn value(&self) -> f64 {
        let Some((low, _)) = self.low.last() else { return 0.0 };
        let even = self.high.len() == self.low.len() && self.len() > 2;
        match self.high.first().filter(|_| even) {
            Some((high, _)) => (low + high) as f64 / 2.0,
            _ => *low as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_middle_of_the_sorted_numbers_after_any_change() {
        let (mut median, mut plain) = (Median::default(), BTreeMap::new());
        let mut random = 1u64;
        for _ in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (tenant, number) =
                ((random >> 33) as u32 % 60, (random >> 40) % 50 * (random >> 63));
            median.set(TenantIx(tenant), number);
            plain.insert(tenant, number);
            let mut sorted: Vec<u64> = plain.values().copied().filter(|n| *n > 0).collect();
            sorted.sort_unstable();
            let n = sorted.len();
            let middle = match n {
                0 => 0.0,
                2 => sorted[0] as f64,
                n if n % 2 == 1 => sorted[n / 2] as f64,
                n => (sorted[n / 2 - 1] + sorted[n / 2]) as f64 / 2.0,
            };
            assert_eq!((median.value(), median.len()), (middle, n));
        }
    }
}
