//! Batch numbers are consecutive; a store rejects gaps and repetitions.

use rota_model::{Millis, Seq};

use super::Fixture;
use super::driver::Driver;
use super::sample::{everything, insert};
use crate::{ApplyError, Batch, Loaded};

pub fn the_position_of_a_batch_is_stored<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    for number in 1..=3 {
        let batch = Batch {
            number,
            now: Millis(1000 * number as i64),
            next_seq: Seq(10 * number),
            event_count: 7 * number,
            mutations: Vec::new(),
        };
        driver.try_commit(&batch).expect("an empty batch commits");
    }
    let id_key = driver.last.id_key;
    let (now, next_seq) = (Millis(3000), Seq(30));
    let expected = Loaded { number: 3, now, next_seq, event_count: 21, id_key };
    assert_eq!(driver.load().loaded, expected);
    let mut driver = driver.close_and_reopen();
    assert_eq!(driver.load().loaded, expected);
}

pub fn a_batch_out_of_sequence_is_rejected<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1)]);
    driver.commit(vec![insert(2)]);
    let before = driver.load();
    for number in [0, 1, 2, 4, u64::MAX] {
        let batch = Batch { number, ..driver.next_batch(vec![insert(3)]) };
        let result = driver.try_commit(&batch);
        assert!(matches!(result, Err(ApplyError::Fatal(_))), "batch {number}: {result:?}");
        assert_eq!(driver.load(), before);
        assert_eq!(driver.list_all(&everything()), [1, 2]);
    }
    driver.commit(vec![insert(3)]);
    assert_eq!(driver.list_all(&everything()), [1, 2, 3]);
}
