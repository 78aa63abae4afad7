//! The functions of the library, called as a C program calls them. The tests use files and users of
//! Unix. On Windows only the programs in C are run, by `cargo xtask ports windows`.
#![cfg(unix)]

mod cursors;
mod databases;
mod encryption;
mod environments;
mod header;
mod kit;
mod messages;
mod programs;
mod records;
mod several;
mod transactions;
