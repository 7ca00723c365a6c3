//! Cron schedules: the expression says which local times match, the zone says when those are.
//!
//! Nothing here reads a clock; every question about "next" takes the instant to start from.

mod bits;
mod calendar;
mod days;
mod error;
mod expression;
mod field;
mod schedule;
#[cfg(test)]
mod tests;
mod zone;

pub use error::CronError;
pub use expression::Expression;
pub use field::Field;
pub use schedule::{MAX_DST_SKIPS, Occurrence, Schedule};
pub use zone::Zone;
