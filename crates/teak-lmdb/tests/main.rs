//! The functions of the library, called as a C program calls them.

mod beside;
mod cursors;
mod databases;
mod environments;
mod header;
mod kit;
mod messages;
mod records;
mod several;
mod transactions;
