//! The threads that the engine lives among.
//!
//! Requests come through one bounded channel to the engine thread, which applies them and gathers
//! what follows into batches. The store thread commits a batch while the engine works on the next.
//! Answers leave when their batch is committed, all of a batch in one go.

mod ask;
mod body_cache;
mod clock;
mod engine_loop;
mod events;
mod handle;
mod mailbox;
mod misplaced;
mod pacing;
mod prepare;
mod queue;
mod reader;
mod release;
mod resolve;
mod retention;
mod start;
mod store_loop;

pub use ask::{Answer, Ask, Delivery, Unavailable};
pub use clock::Clock;
pub use events::{
    About, Chunk, EventFilter, EventPage, Events, Look, Name, Names, Place, Subject, ends_job,
    time_of,
};
pub use handle::Handle;
pub use reader::ReadError;
pub use start::{Health, Options, Runtime, StartError};
