//! Twins of the functions that a program needs every day, with scalar arguments only. Foreign
//! function interfaces that pass no structures by value call these. A handle is its number; a slice
//! is an address and a length; a bound is a kind, an address and a length. Everything else is as in
//! the function of the same name, whose description applies.

mod arguments;
mod copies;
mod cursors;
mod databases;
mod differences;
mod records;
mod tables;

pub use copies::*;
pub use cursors::*;
pub use databases::*;
pub use differences::*;
pub use records::*;
pub use tables::*;
