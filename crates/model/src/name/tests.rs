//! Which names are valid, and whose they are.

use super::*;

#[test]
fn queue_names() {
    for good in ["default", "email", "a", "0", "bulk-2.fast", &"q".repeat(128)] {
        assert!(QueueName::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "Default", "my_queue!", "-invalid", ".x", "my queue", "ü", &"q".repeat(129)] {
        assert!(QueueName::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn job_types() {
    for good in ["email.send", "a", "data.etl.transform", "dlq.test.list-first", "x_1.y2"] {
        assert!(JobType::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "Email.Send", "email send", "1email.send", "email@send!", "a..b", ".a", "a."] {
        assert!(JobType::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn tenants_and_limit_keys() {
    for good in ["_default", "acme", "0", "tenant:acme-corp", "A.b_c", &"t".repeat(128)] {
        assert!(TenantId::parse(good).is_ok(), "{good}");
    }
    for bad in ["", "_x", "-a", ":a", "a b", "a/b", "ü", &"t".repeat(129)] {
        assert!(TenantId::parse(bad).is_err(), "{bad}");
    }
    assert!(LimitKey::parse("tenant:acme:api:stripe").is_ok());
    assert!(LimitKey::parse("_default").is_err());
}

#[test]
fn clients_cannot_name_a_queue_with_its_namespace() {
    let queue = QueueName::parse("email").unwrap();
    let own = queue.in_namespace(&TenantId::parse("acme").unwrap());
    assert_eq!((own.local(), own.namespace()), ("email", Some("acme")));
    assert_eq!(QueueName::stored(&own), Ok(own.clone()));
    assert!(QueueName::parse(&own).is_err());
    assert_eq!((queue.local(), queue.namespace()), ("email", None));
}

#[test]
fn schedules_and_workers_of_two_tenants_are_different() {
    let acme = TenantId::parse("acme").unwrap();
    let nightly = CronName::parse("nightly").unwrap();
    let own = nightly.of_tenant(&acme);
    assert_ne!(own, nightly);
    assert_eq!((own.local(), CronName::stored(&own)), ("nightly", Ok(own.clone())));
    assert!(CronName::parse(&own).is_err());
    assert_eq!(nightly.of_tenant(&TenantId::default_tenant()), nightly);
    let worker = WorkerId::parse("host/1").unwrap();
    let own = worker.in_namespace(&acme);
    assert_eq!((own.local(), own.namespace()), ("host/1", Some("acme")));
    assert_eq!((worker.local(), worker.namespace()), ("host/1", None));
    assert_eq!(WorkerId::stored(&own), Ok(own.clone()));
    assert!(WorkerId::parse(&own).is_err());
}

#[test]
fn pools_of_two_tenants_are_different() {
    let mail = PoolName::parse("mail").unwrap();
    let acme = TenantId::parse("acme").unwrap();
    let own = mail.of_tenant(&acme);
    assert_eq!((own.local(), own.owner()), ("mail", Some(acme)));
    assert_eq!((mail.local(), mail.owner()), ("mail", None));
    assert_eq!(PoolName::stored(&own), Ok(own.clone()));
    assert!(PoolName::parse(&own).is_err());
}

#[test]
fn worker_ids() {
    assert!(WorkerId::parse("worker_019539a4-b68c-7def").is_ok());
    for bad in ["", "two words", "line\nbreak", "ü"] {
        assert!(WorkerId::parse(bad).is_err(), "{bad}");
    }
}
