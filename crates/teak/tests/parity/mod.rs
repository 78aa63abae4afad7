//! Features of LMDB and libmdbx, row by row: a test for each row shows the corresponding feature
//! here. `rows.txt` has all rows.

mod cursors;
mod cursors_of_values;
mod diagnostics;
mod environment;
mod housekeeping;
mod points;
mod ranges;
mod readers;
mod returns;
mod rows;
mod space;
mod tables;
mod transactions;
mod values;

use std::path::PathBuf;
use teak::{Database, Table, WriteTxn};
use tempfile::TempDir;

type Raw = Table<Vec<u8>, Vec<u8>>;

/// A database in a directory of its own.
struct Fixture {
    _directory: TempDir,
    path: PathBuf,
    database: Database,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.teak");
    Fixture {
        database: Database::open(&path).unwrap(),
        path,
        _directory: directory,
    }
}

/// A table with these keys, whose values are their numbers.
fn table(txn: &mut WriteTxn, keys: &[&str]) -> Raw {
    let table = txn.create_table::<Vec<u8>, Vec<u8>>("words").unwrap();
    for (number, key) in keys.iter().enumerate() {
        table.insert(txn, key.as_bytes(), [number as u8]).unwrap();
    }
    table
}

const TREES: [&str; 5] = ["ash", "elm", "fir", "oak", "yew"];
