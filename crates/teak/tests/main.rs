//! The engine's promises to programs, in one binary, because each binary is linked separately.

#![cfg_attr(not(unix), allow(unused_imports))] // Of tests that only a Unix can run.

mod access;
mod asynchronous;
mod backups;
mod cancelled;
mod codecs;
mod compacting;
mod compression;
mod counting;
mod debug_texts;
mod deleting;
mod detached_cursors;
mod detached_cursors_of_values;
mod differences;
mod dropping;
mod elsewhere;
mod encryption;
mod ephemeral;
mod equal_bytes;
mod events;
mod expiry;
mod expiry_model;
#[cfg(unix)] // The tests truncate files that are mapped, which not every system allows.
mod faults;
#[cfg(unix)] // Elsewhere no blocks are given back.
mod holes;
mod lending;
mod limits;
mod locks;
mod memory;
mod multi;
mod multi_points;
mod multi_regressions;
mod names;
mod orders;
mod panics;
mod parity;
mod point;
mod prepared;
mod processes;
mod range_values;
mod ranges;
mod regressions;
mod salvage;
mod shared;
mod snapshots;
mod sources;
mod space;
mod stored_file;
mod threads;
mod transactions;
mod transactions_model;
mod types;
mod verification;

/// Whether a test can run that needs a speciality of the system, which `name` is. Says so if not.
fn can(name: &str, ability: impl Fn(&teak::testing::Abilities) -> bool) -> bool {
    let abilities = teak::testing::Abilities::of(&std::env::temp_dir());
    let is_possible = ability(&abilities.expect("a temporary file"));
    if !is_possible {
        eprintln!("not run: the system has no {name}");
    }
    is_possible
}
