//! Classes and their counts of finished jobs.

use rota_model::{Class, ClassId};

use super::Fixture;
use super::driver::Driver;
use super::sample::class;
use crate::{Counts, Mutation};

pub fn classes_and_counts_are_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    let many = Counts([u64::MAX, 2, 3, 4, 5]);
    driver.commit(vec![
        Mutation::Class(ClassId(2), class("second", 5)),
        Mutation::Class(ClassId(1), class("first", 3)),
        Mutation::Class(ClassId(u32::MAX), class("last", u32::MAX)),
        Mutation::Counts(ClassId(2), Counts([1; 5])),
    ]);
    driver.commit(vec![Mutation::Counts(ClassId(2), many)]);
    let expected = [
        (ClassId(1), Class::clone(&class("first", 3)), Counts::default()),
        (ClassId(2), Class::clone(&class("second", 5)), many),
        (ClassId(u32::MAX), Class::clone(&class("last", u32::MAX)), Counts::default()),
    ];
    assert_eq!(driver.load().classes, expected);
    assert_eq!(driver.crash_and_reopen().load().classes, expected);
}

pub fn dropping_a_class_deletes_its_counts<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![
        Mutation::Class(ClassId(1), class("first", 3)),
        Mutation::Class(ClassId(2), class("second", 3)),
        Mutation::Counts(ClassId(1), Counts([7; 5])),
        Mutation::Counts(ClassId(2), Counts([8; 5])),
    ]);
    driver.commit(vec![Mutation::DropClass(ClassId(1))]);
    let second = (ClassId(2), Class::clone(&class("second", 3)), Counts([8; 5]));
    assert_eq!(driver.load().classes, std::slice::from_ref(&second));
    driver.commit(vec![Mutation::Class(ClassId(1), class("other", 3))]);
    let other = (ClassId(1), Class::clone(&class("other", 3)), Counts::default());
    assert_eq!(driver.load().classes, [other, second]);
}
