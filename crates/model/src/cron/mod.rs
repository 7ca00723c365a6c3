//! Cron schedules: expressions that match local times, and the time zones of those times.
//!
//! Nothing here reads a clock; callers pass the current time.

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
pub use schedule::{Occurrence, Schedule};
pub use zone::Zone;
