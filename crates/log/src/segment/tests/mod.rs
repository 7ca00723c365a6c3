//! Power cuts, failing calls and rotten bits, on a simulated disk.
//!
//! A random test prints its seed when it fails. The last module plants bugs and shows that the others
//! find them.

mod archive;
mod archived;
mod bit_flips;
mod damage_kinds;
mod every_call_fails;
mod found_records;
mod full_disk;
mod history;
mod places;
mod planted_bugs;
mod power_cuts;
mod real_files;
mod repair;
mod unsynced;
mod versions;
mod world;
