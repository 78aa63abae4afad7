//! Any bytes as a database: opening, checking, reading everything and changing something may fail, and
//! must do nothing worse.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{fs, path::Path};
use teak::{Database, Options, Transaction, codec::Bytes};

fuzz_target!(|bytes: &[u8]| {
    let directory = scratch();
    let path = directory.path().join("fuzz.teak");
    fs::write(&path, bytes).expect("the scratch directory can be written to");
    // Errors are what is expected here.
    let _ = read(&path);
    let _ = change(&path);
});

/// A directory in memory where there is one.
fn scratch() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory
        .or_else(|_| tempfile::tempdir())
        .expect("there is a place for temporary files")
}

fn read(path: &Path) -> teak::Result<()> {
    let database = Options::new().create(false).read_only(true).open(path)?;
    database.check(&mut |_| ())?;
    database.stat()?;
    let txn = database.begin_read()?;
    for info in txn.tables()? {
        let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
        let mut keys = Vec::new();
        // A broken table may end in an error; the others are read all the same.
        for record in table.iter(&txn)? {
            let Ok((key, _)) = record else { break };
            keys.push(key);
        }
        for key in &keys {
            let _ = table.get(&txn, key);
        }
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let _ = table.get_many(&txn, &slices);
        let _ = table
            .range(&txn, ..)?
            .rev()
            .take_while(Result::is_ok)
            .count();
    }
    Ok(())
}

fn change(path: &Path) -> teak::Result<()> {
    let database: Database = Options::new().create(false).open(path)?;
    let mut txn = database.begin_write()?;
    for info in txn.tables()? {
        let table = txn.open_table::<Bytes, Bytes>(&info.name)?;
        table.insert(&mut txn, b"key", b"value")?;
        table.remove_range(&mut txn, ..)?;
    }
    let table = txn.create_table::<Bytes, Bytes>("new")?;
    table.insert(&mut txn, b"key", b"value")?;
    txn.commit()?;
    database.close()
}
