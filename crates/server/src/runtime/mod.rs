//! The threads around the engine.
//!
//! Requests reach the engine thread through one bounded mailbox. What they need from the view is read by the thread of
//! the prefetch stage. The engine thread applies them and collects the effects into batches. The thread of the log commits a batch while the engine works on the next. Answers are
//! released when their batch is committed, all of a batch at once. The thread of the view applies what was
//! committed, and the reader threads read it.

mod archive;
mod ask;
mod batches;
mod body_cache;
mod clock;
mod commit_loop;
mod dead_letter;
mod engine_loop;
mod events;
mod facts;
mod fair_queue;
mod handle;
mod isolation_mismatch;
mod lookups;
mod mailbox;
mod pacing;
mod prefetch;
mod prepare;
mod queue;
mod reader;
mod release;
mod resolve;
mod retention;
mod source;
mod start;
#[cfg(test)]
mod test_runtime;
mod view_loop;
mod view_position;
mod view_queue;

pub use archive::Archive;
pub use ask::{Answer, Ask, CallerScope, Delivery, Unavailable};
pub use clock::Clock;
pub use events::{
    About, CHUNK, Change, Chunk, EventFilter, EventIds, EventPage, Events, JobEnd, Look, NAMES,
    Name, Names, StreamTurn, StreamTurns, Subject, TypeFilter, Waiting, ends_job, time_of,
};
pub use handle::Handle;
pub use lookups::LookupCounts;
pub use reader::ReadError;
pub use source::Source;
pub use start::{Health, Options, Runtime, StartError};
pub use view_position::ViewLag;
