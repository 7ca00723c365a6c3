//! What fuzzing checks, apart from the fuzzer.

pub mod envelope;
