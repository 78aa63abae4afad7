//! What the engine promises to programs: all of it in one binary, since each binary is linked anew.

mod backups;
mod cancelled;
mod counting;
mod differences;
mod elsewhere;
mod faults;
mod free_cursors;
mod free_cursors_of_values;
mod holes;
mod multi;
mod multi_regressions;
mod orders;
mod parity;
mod point;
mod processes;
mod ranges;
mod regressions;
mod salvage;
mod shared;
mod snapshots;
mod space;
mod stored_file;
mod threads;
mod transactions;
mod transactions_model;
mod verification;
