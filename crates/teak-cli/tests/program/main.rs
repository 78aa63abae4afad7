//! Runs the program as its users do, on databases of their own directories.

mod access;
mod change;
mod damage;
mod diff;
mod hidden;
mod import;
mod increments;
mod inspect;
mod interrupted;
mod lmdb_tools;
mod load_and_dump;
mod loading;
mod messages;
mod outputs;
mod read;
mod several_values;
mod snapshot;
mod space;
mod support;
mod waiting;
