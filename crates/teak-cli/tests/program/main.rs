//! Runs the program as users do, on databases in directories of their own. The tests use shells,
//! pipes and permissions of Unix. `cargo xtask ports windows` runs the program for Windows.
#![cfg(unix)]

mod access;
mod change;
mod compression;
mod damage;
mod diff;
mod encryption;
mod hidden;
mod import;
mod increments;
mod inspect;
mod interrupted;
mod leveldb;
mod lmdb_tools;
mod load_and_dump;
mod loading;
mod messages;
mod outputs;
mod prepared;
mod read;
mod several_values;
mod snapshot;
mod space;
mod support;
mod waiting;
