//! Errors of reads from files that another program has changed.

use std::{fs, ops::ControlFlow, path::Path};
use teak::{
    Database, DetachedCursor, Error, KeyRange, Options, PageNumber, Result, SeekOp, Table,
    Transaction, Verification, codec::Bytes,
};

const PAGE: usize = 4096;
const COUNT: u32 = 2000;

type Raw = Table<Bytes, Bytes>;

fn key(number: u32) -> Vec<u8> {
    format!("key-{number:05}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("value-{number:05}").repeat(9).into_bytes()
}

/// A closed database with a table of many records and one with a large value.
fn create(path: &Path) -> Result<()> {
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table: Raw = txn.create_table("records")?;
    for number in 0..COUNT {
        table.insert(&mut txn, key(number), value(number))?;
    }
    let large: Raw = txn.create_table("large")?;
    large.insert(&mut txn, b"big", [b'b'; 3 * PAGE])?;
    large.insert(&mut txn, b"small", b"s")?;
    txn.commit()?;
    database.close()
}

fn open(path: &Path, verification: Verification) -> Result<Database> {
    Options::new().verification(verification).open(path)
}

/// Flips a bit at every occurrence of these bytes.
fn flip(path: &Path, needle: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    let offsets: Vec<_> = (0..=bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(needle))
        .collect();
    assert!(!offsets.is_empty(), "these bytes are in the file");
    offsets.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(path, bytes).unwrap();
}

fn process_slot_of(error: &Error) -> (PageNumber, Option<&str>, Option<&KeyRange>) {
    match error {
        Error::Corrupted {
            page, table, keys, ..
        } => (*page, table.as_deref(), keys.as_deref()),
        other => panic!("unexpected error: {other}"),
    }
}

/// The results of every kind of read of one damaged position.
fn errors_of(database: &Database, name: &str, wanted: &[u8]) -> Vec<Error> {
    fn first<T>(records: impl Iterator<Item = Result<T>>) -> Error {
        let mut errors = records.filter_map(Result::err);
        errors.next().expect("an iterator finds the damage")
    }
    let txn = database.begin_read().unwrap();
    let table: Raw = txn.open_table(name).unwrap();
    let mut cursor = table.cursor(&txn).unwrap();
    let mut detached = DetachedCursor::new(&table);
    let in_cursor = cursor
        .seek(SeekOp::GreaterOrEqual, wanted)
        .and_then(|_| cursor.value().map(drop));
    let in_detached = detached
        .seek(&txn, SeekOp::GreaterOrEqual, wanted)
        .and_then(|_| detached.value(&txn).map(drop));
    vec![
        table.get(&txn, wanted).unwrap_err(),
        table.get_owned(&txn, wanted).unwrap_err(),
        table.get_many(&txn, &[b"\xff", wanted]).unwrap_err(),
        first(table.iter(&txn).unwrap()),
        first(table.iter(&txn).unwrap().rev()),
        first(table.range(..).owned(&txn).unwrap()),
        first(table.range(..).owned(&txn).unwrap().rev()),
        in_cursor.unwrap_err(),
        in_detached.unwrap_err(),
    ]
}

#[test]
fn a_damaged_leaf_is_named_with_its_table_and_keys() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.teak");
    create(&path)?;
    flip(&path, b"value-01000");
    for verification in [Verification::FirstTouch, Verification::Always] {
        let database = open(&path, verification)?;
        let mut errors = errors_of(&database, "records", &key(1000));
        let mut txn = database.begin_write()?;
        let table: Raw = txn.open_table("records")?;
        errors.push(table.insert(&mut txn, key(1000), b"new").unwrap_err());
        txn.abort();
        let mut txn = database.begin_write()?;
        errors.push(table.range(&key(900)[..]..).remove(&mut txn).unwrap_err());
        let (page, ..) = process_slot_of(&errors[0]);
        for error in &errors {
            let (named, table, keys) = process_slot_of(error);
            assert_eq!((named, table), (page, Some("records")), "{error}");
            let keys = keys.expect("keys are known");
            let (low, high) = (keys.low.clone().unwrap(), keys.high.clone().unwrap());
            assert!(low <= key(1000) && key(1000) < high, "{error}");
            assert!(key(900) < low && high < key(1100), "{error}");
            let text = error.to_string();
            assert!(
                text.contains("in table \"records\", keys from \"key-"),
                "{text}"
            );
            assert!(
                text.contains("teak check") && text.contains("teak salvage"),
                "{text}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_damaged_large_value_is_named_with_its_key_and_can_be_replaced() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.teak");
    create(&path)?;
    flip(&path, &[b'b'; 3 * PAGE]);
    let database = open(&path, Verification::default())?;
    for error in errors_of(&database, "large", b"big") {
        let (_, table, keys) = process_slot_of(&error);
        assert_eq!(table, Some("large"), "{error}");
        let keys = keys.map(|keys| [keys.low.as_deref(), keys.high.as_deref()]);
        assert_eq!(keys, Some([Some(&b"big"[..]); 2]), "{error}");
    }
    let mut txn = database.begin_write()?;
    let table: Raw = txn.open_table("large")?;
    table.insert(&mut txn, b"big", [b'n'; 3 * PAGE])?;
    txn.commit()?;
    let txn = database.begin_read()?;
    assert_eq!(table.get(&txn, b"big")?, Some(&[b'n'; 3 * PAGE][..]));
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    Ok(())
}

#[test]
fn only_without_verification_damage_of_values_goes_unnoticed() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.teak");
    create(&path)?;
    flip(&path, b"value-01000");
    let count = |verification| -> Result<usize> {
        let database = open(&path, verification)?;
        let txn = database.begin_read()?;
        let table: Raw = txn.open_table("records")?;
        Ok(table.iter(&txn)?.filter(Result::is_ok).count())
    };
    assert_eq!(count(Verification::Off)?, COUNT as usize);
    assert!(count(Verification::FirstTouch)? < COUNT as usize);
    assert!(count(Verification::Always)? < COUNT as usize);
    Ok(())
}

/// Without a check, a page after the end of the file would cause a signal.
#[test]
fn truncating_an_open_file_gives_errors() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    for verification in [Verification::FirstTouch, Verification::Always] {
        let path = directory.path().join(format!("{verification:?}.teak"));
        create(&path)?;
        let database = open(&path, verification)?;
        let txn = database.begin_read()?;
        let table: Raw = txn.open_table("records")?;
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(8 * PAGE as u64).unwrap();
        let found = (0..COUNT).map(|number| table.get(&txn, key(number)).map(drop));
        let errors: Vec<_> = found.filter_map(Result::err).collect();
        assert!(!errors.is_empty());
        for error in errors {
            let text = error.to_string();
            assert!(text.contains("cannot be read from the file"), "{text}");
        }
    }
    Ok(())
}

/// The bit that marks a page as verified must not outlive the page.
#[test]
fn reused_pages_are_verified_again() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    for verification in [Verification::FirstTouch, Verification::Always] {
        let path = directory.path().join(format!("{verification:?}.teak"));
        let database = open(&path, verification)?;
        for round in 0..30u32 {
            let mut txn = database.begin_write()?;
            let table: Raw = txn.create_table("records")?;
            let value = round.to_be_bytes().repeat(20 + 300 * (round as usize % 4));
            for number in (0..300).filter(|number| number % 7 != round % 7) {
                table.insert(&mut txn, key(number), &value)?;
                if number % 50 == 0 {
                    assert_eq!(table.get(&txn, key(number))?, Some(&value[..]));
                }
            }
            txn.commit()?;
            let txn = database.begin_read()?;
            for number in (0..300).filter(|number| number % 7 != round % 7) {
                assert_eq!(table.get(&txn, key(number))?, Some(&value[..]));
            }
        }
    }
    Ok(())
}
