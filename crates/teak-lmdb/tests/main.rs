//! The functions of the library, called as a C program calls them.

mod cursors;
mod databases;
mod environments;
mod header;
mod kit;
mod messages;
mod programs;
mod records;
mod several;
mod transactions;
