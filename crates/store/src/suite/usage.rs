//! Usage of tenants by hour and day.

use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{Millis, TenantId};

use super::Fixture;
use super::driver::Driver;
use crate::Mutation;

const HOUR: i64 = 3_600_000;

fn add(tenant: &str, hour: i64, enqueued: u64) -> Mutation {
    let tenant = TenantId::parse(tenant).expect("a tenant's id");
    Mutation::AddUsage(UsageRow { tenant, at: Millis(hour * HOUR), usage: usage(enqueued) })
}

fn usage(n: u64) -> Usage {
    Usage {
        enqueued: n,
        bytes: 2 * n,
        started: 3 * n as i64,
        completed: 4 * n,
        failed: 5 * n,
        run_ms: 6 * n,
        discarded: 7 * n,
    }
}

pub fn usage_adds_up_by_hour_and_day<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![add("a", 1, 1), add("a", 23, 10), add("a", 24, 100), add("b", 1, 5)]);
    driver.commit(vec![add("a", 1, 1_000)]);
    let mut driver = driver.crash_and_reopen();
    let hours = driver.usage(UsagePer::Hour, "a", 0, 1_000 * HOUR);
    assert_eq!(hours, [(HOUR, usage(1_001)), (23 * HOUR, usage(10)), (24 * HOUR, usage(100))]);
    assert_eq!(driver.usage(UsagePer::Hour, "a", 2 * HOUR, 24 * HOUR), hours[1..2]);
    let days = driver.usage(UsagePer::Day, "a", 0, 1_000 * HOUR);
    assert_eq!(days, [(0, usage(1_011)), (24 * HOUR, usage(100))]);
    assert_eq!(driver.usage(UsagePer::Day, "b", 0, HOUR), [(0, usage(5))]);
    assert_eq!(driver.usage(UsagePer::Day, "c", 0, HOUR), []);
}

pub fn old_usage_is_deleted_in_slices_and_a_tenants_at_once<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit((0..10).flat_map(|hour| [add("a", hour, 1), add("b", hour, 1)]).collect());
    let before = Millis(8 * HOUR);
    let forget = Mutation::ForgetUsage { per: UsagePer::Hour, before, most: 6 };
    let left = |driver: &mut Driver<'_, F>| {
        driver.commit(vec![forget.clone()]);
        let hours = |tenant| driver.usage(UsagePer::Hour, tenant, 0, 100 * HOUR).len();
        ["a", "b"].map(hours).iter().sum::<usize>()
    };
    assert_eq!([left(&mut driver), left(&mut driver), left(&mut driver)], [14, 8, 4]);
    let first = driver.usage(UsagePer::Hour, "a", 0, 100 * HOUR)[0].0;
    assert_eq!(first, 8 * HOUR, "the oldest go first");
    assert_eq!(driver.usage(UsagePer::Day, "a", 0, HOUR).len(), 1);
    let tenant = TenantId::parse("a").expect("a tenant's id");
    driver.commit(vec![Mutation::ForgetTenantUsage(tenant)]);
    for per in UsagePer::ALL {
        assert_eq!(driver.usage(per, "a", 0, 100 * HOUR), []);
        assert!(!driver.usage(per, "b", 0, 100 * HOUR).is_empty());
    }
}
