//! Measures how the cost of starting a job grows with lanes, queues, limits and waiting fetches.
//!
//! The engine is driven without HTTP or disk, whose noise would hide the growth.

mod finished_classes;
mod keys;
mod load;
mod pool;
mod waiting_fetches;

use crate::{BenchError, Line, Options, Progress};
use load::Bench;

/// What a start costs. `lanes` is the number of job types, lanes and queues in the loads that have many of them. The other
/// sizes follow from it: a tenth as many waiting fetches, sets of numbers and queues of a pool, and a
/// hundred times as many finished classes.
pub fn scheduler(
    options: &Options,
    lanes: u64,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let lanes = lanes as usize;
    let (tenth, classes) = (lanes / 10, lanes * 100);
    let bench = Bench::new(options, progress);
    let mut lines = vec![
        keys::types_at_one_key(&bench, lanes)?,
        keys::lanes_at_a_second_limit(&bench, lanes)?,
        waiting_fetches::enqueue_beside_them(&bench, tenth)?,
        keys::queues_at_one_key(&bench, lanes)?,
        keys::sets_of_numbers(&bench, tenth)?,
    ];
    lines.extend(finished_classes::of_one_tenant(&bench, classes)?);
    lines.extend(pool::backlogged_queues(&bench, tenth)?);
    Ok(lines)
}
