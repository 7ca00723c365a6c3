use super::*;

const ENQUEUE: Permission = Permission::Enqueue;

fn source(tenant: &str, subject: &str) -> RequestSource {
    RequestSource { tenant: TenantId::parse(tenant).ok(), subject: Some(subject.into()) }
}

fn rate(per_minute: u32, burst: u32) -> RequestRate {
    RequestRate { per_minute, burst }
}

/// How many requests are granted at this moment.
fn granted(
    limiter: &mut RequestLimiter,
    who: &RequestSource,
    rate: RequestRate,
    now: u64,
) -> usize {
    (0..1_000).filter(|_| limiter.take(ENQUEUE, who, rate, now).is_ok()).count()
}

#[test]
fn a_burst_is_granted_and_then_the_rate() {
    let (mut limiter, who, rate) = (RequestLimiter::default(), source("a", "x"), rate(600, 20));
    assert_eq!(limiter.take(ENQUEUE, &who, rate, 5), Ok(Granted { remaining: 19 }));
    assert_eq!(granted(&mut limiter, &who, rate, 5), 19);
    assert_eq!(limiter.take(ENQUEUE, &who, rate, 5), Err(Exceeded { retry_ms: 100 }));
    assert_eq!(limiter.take(ENQUEUE, &who, rate, 104), Err(Exceeded { retry_ms: 1 }));
    assert_eq!(limiter.take(ENQUEUE, &who, rate, 105), Ok(Granted { remaining: 0 }));
    assert_eq!(granted(&mut limiter, &who, rate, 1_105), 10);
    assert_eq!(granted(&mut limiter, &who, rate, 1_000_000), 20, "no more than the burst is saved");
}

/// Whoever asks all the time gets the burst and what the rate adds: no more, and no less.
#[test]
fn over_minutes_the_rate_is_exact() {
    for (per_minute, burst) in [(1, 2), (7, 3), (61, 2), (999, 50), (59_999, 7)] {
        let (mut limiter, who) = (RequestLimiter::default(), source("a", "x"));
        let rate = rate(per_minute, burst);
        let mut count = 0;
        for now in 0..=180_000 {
            while limiter.take(ENQUEUE, &who, rate, now).is_ok() {
                count += 1;
            }
        }
        assert_eq!(count, burst + 3 * per_minute, "{per_minute}/{burst}");
    }
}

#[test]
fn a_promised_time_is_kept() {
    let (mut limiter, who, rate) = (RequestLimiter::default(), source("a", "x"), rate(7, 1));
    let mut now = 0;
    for _ in 0..100 {
        assert!(limiter.take(ENQUEUE, &who, rate, now).is_ok());
        let Err(Exceeded { retry_ms }) = limiter.take(ENQUEUE, &who, rate, now) else { panic!() };
        assert!(limiter.take(ENQUEUE, &who, rate, now + retry_ms - 1).is_err());
        now += retry_ms;
    }
}

#[test]
fn permissions_subjects_and_tenants_are_counted_apart() {
    let mut limiter = RequestLimiter::default();
    let rate = rate(60, 2);
    for who in [source("a", "x"), source("a", "y"), source("b", "x")] {
        assert_eq!(granted(&mut limiter, &who, rate, 0), 2);
    }
    assert!(limiter.take(Permission::Dequeue, &source("a", "x"), rate, 0).is_ok());
}

#[test]
fn a_new_limit_applies_to_the_next_request() {
    let (mut limiter, who) = (RequestLimiter::default(), source("a", "x"));
    assert_eq!(granted(&mut limiter, &who, rate(60, 100), 0), 100);
    assert_eq!(granted(&mut limiter, &who, rate(60, 100), 60_000), 60);
    // What was saved is cut down to the smaller burst.
    assert_eq!(granted(&mut limiter, &who, rate(60, 5), 120_000), 5);
    // A larger burst is not there at once.
    assert_eq!(granted(&mut limiter, &who, rate(600, 1_000), 120_000), 0);
    assert_eq!(granted(&mut limiter, &who, rate(600, 1_000), 121_000), 10);
}

#[test]
fn a_bucket_is_forgotten_when_it_is_full_and_not_before() {
    let mut limiter = RequestLimiter::default();
    let rate = rate(60, 10);
    for n in 0..500 {
        for _ in 0..10 {
            limiter.take(ENQUEUE, &source("a", &n.to_string()), rate, 0).unwrap();
        }
    }
    assert_eq!(limiter.len(), 500);
    // Nothing is full before ten seconds have passed, however often it is looked at.
    for _ in 0..2_000 {
        let _ = limiter.take(ENQUEUE, &source("b", "x"), rate, 9_999);
    }
    assert_eq!(limiter.len(), 501);
    for _ in 0..1_000 {
        let _ = limiter.take(ENQUEUE, &source("b", "x"), rate, 10_000);
    }
    assert_eq!(limiter.len(), 1, "only the one in use is left");
    assert_eq!(limiter.per_tenant.len(), 1);
    assert_eq!(limiter.index.len(), 1);
}

#[test]
fn a_tenant_with_many_subjects_uses_a_bounded_number_of_buckets() {
    let mut limiter = RequestLimiter::default();
    let rate = rate(60, 2);
    let all = MAX_PER_TENANT + 500;
    let granted_to_all: usize = (0..all)
        .map(|n| {
            let who = source("a", &n.to_string());
            (0..5).filter(|_| limiter.take(ENQUEUE, &who, rate, 0).is_ok()).count()
        })
        .sum();
    assert_eq!(limiter.len(), MAX_PER_TENANT + 1);
    assert_eq!(granted_to_all, 2 * (MAX_PER_TENANT + 1), "the others share one");
    assert_eq!(granted(&mut limiter, &source("b", "x"), rate, 0), 2, "others have their own");
}

#[test]
fn the_number_of_buckets_is_bounded() {
    let mut limiter = RequestLimiter::default();
    let rate = rate(1, 1);
    for n in 0..MAX_BUCKETS + 10_000 {
        let _ = limiter.take(ENQUEUE, &source(&format!("t{n}"), "x"), rate, 0);
    }
    assert!(limiter.len() <= MAX_BUCKETS + 1);
}
