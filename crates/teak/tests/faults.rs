//! Files that are cut short while they are open, after their pages were read and verified.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};
use teak::{Database, Durability, Error, Options, Result, Table, Verification, codec::Bytes};

const PAGE: u64 = 4096;
const COUNT: u32 = 20_000;
/// Pages that are left: the root is among them, and not all leaves are.
const KEPT: u64 = 500;

type Raw = Table<Bytes, Bytes>;

fn key(number: u32) -> Vec<u8> {
    format!("key-{number:05}").into_bytes()
}

/// A database of many pages whose pages were all read once, and its bytes.
struct Cut {
    _directory: tempfile::TempDir,
    path: PathBuf,
    database: Database,
    table: Raw,
    bytes: Vec<u8>,
}

impl Cut {
    fn new(verification: Verification) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cut.teak");
        let options = Options::new().verification(verification);
        let database = options.open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let table: Raw = txn.create_table("records").unwrap();
        for number in 0..COUNT {
            table.insert(&mut txn, &key(number), &[7; 100]).unwrap();
        }
        table.insert(&mut txn, b"large", &[9; 100_000]).unwrap();
        txn.commit().unwrap();
        let txn = database.begin_read().unwrap();
        assert_eq!(table.iter(&txn).unwrap().count(), COUNT as usize + 1);
        drop(txn);
        let bytes = fs::read(&path).unwrap();
        Self {
            _directory: directory,
            path,
            database,
            table,
            bytes,
        }
    }

    fn file(&self) -> File {
        OpenOptions::new().write(true).open(&self.path).unwrap()
    }

    /// Takes all but the first pages away.
    fn cut(&self) {
        self.file().set_len(KEPT * PAGE).unwrap();
    }

    /// Gives them back.
    fn mend(&self) {
        self.file().write_all_at(&self.bytes, 0).unwrap();
    }
}

fn refused<T>(result: Result<T>) {
    match result.map(drop).unwrap_err() {
        Error::Corrupted { page, detail, .. } => {
            assert!(u64::from(page.0) >= KEPT, "{page}: {detail}");
            assert!(detail.contains("cannot be read from the file"), "{detail}");
        }
        other => panic!("another error: {other}"),
    }
}

fn first_error<T>(records: impl Iterator<Item = Result<T>>) -> Result<()> {
    records
        .map(|record| record.map(drop))
        .find(Result::is_err)
        .expect("an error")
}

fn every_way_to_read(verification: Verification) {
    let cut = Cut::new(verification);
    let table = &cut.table;
    let txn = cut.database.begin_read().unwrap();
    let mut cursor = table.cursor(&txn).unwrap();
    let mut owned = table.cursor_owned(&txn).unwrap();
    let keys: Vec<_> = (0..COUNT).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let lost = |number: &u32| table.get(&txn, &key(*number)).is_err();

    cut.cut();
    assert!((0..COUNT).any(|number| lost(&number)));
    let wanted = (0..COUNT).find(lost).unwrap();
    refused(table.get(&txn, &key(wanted)));
    refused(table.get_owned(&txn, &key(wanted)));
    refused(table.get_many(&txn, &keys));
    refused(table.contains(&txn, &key(wanted)));
    refused(first_error(table.iter(&txn).unwrap()));
    refused(first_error(table.iter(&txn).unwrap().rev()));
    refused(first_error(table.range_owned(&txn, ..).unwrap()));
    refused(first_error(table.range_owned(&txn, ..).unwrap().rev()));
    refused(cursor.seek(&key(wanted)));
    assert!(!cursor.is_on_record() && cursor.key().is_empty());
    refused(owned.seek(&key(wanted)));
    assert!(!owned.is_on_record() && owned.key().is_empty());
    refused(
        (0..)
            .map(|_| cursor.first().and_then(|_| cursor.last()))
            .find(Result::is_err)
            .unwrap(),
    );
    // What is still there can be read.
    assert!((0..COUNT).filter(|number| !lost(number)).count() > 100);

    cut.mend();
    for number in 0..COUNT {
        assert_eq!(table.get(&txn, &key(number)).unwrap(), Some(&[7; 100][..]));
    }
    assert_eq!(
        table.iter(&txn).unwrap().filter(Result::is_ok).count(),
        COUNT as usize + 1
    );
    assert!(cursor.seek(&key(wanted)).unwrap() && owned.seek(&key(wanted)).unwrap());
}

#[test]
fn what_was_verified_and_is_gone_is_an_error() {
    every_way_to_read(Verification::FirstTouch);
}

#[test]
fn without_verification_too() {
    every_way_to_read(Verification::Off);
}

#[test]
fn a_cursor_in_the_middle_of_a_leaf_notices() {
    let cut = Cut::new(Verification::Off);
    let txn = cut.database.begin_read().unwrap();
    let mut cursor = cut.table.cursor(&txn).unwrap();
    assert!(cursor.seek(&key(COUNT / 2)).unwrap());
    let mut steps = (0..).map(|_| cursor.next());
    assert!(steps.next().unwrap().unwrap());
    cut.cut();
    refused(steps.find(Result::is_err).unwrap());
}

#[test]
fn bytes_that_are_looked_at_later_are_zeros_and_counted() {
    let cut = Cut::new(Verification::FirstTouch);
    let txn = cut.database.begin_read().unwrap();
    let value = cut.table.get(&txn, b"large").unwrap().unwrap();
    let before = txn.read_faults();
    assert!(value.iter().all(|byte| *byte == 9));
    assert_eq!(txn.read_faults(), before);
    cut.cut();
    assert!(value.contains(&0));
    assert!(txn.read_faults() > before);
}

#[test]
fn a_change_of_what_is_gone_fails_and_the_transaction_with_it() {
    for durability in [Durability::Durable, Durability::Lazy] {
        let cut = Cut::new(Verification::Off);
        cut.cut();
        let mut txn = cut.database.begin_write().unwrap();
        txn.set_durability(durability);
        let put = |txn: &mut _, number| cut.table.insert(txn, &key(number), b"new");
        let failed = (0..COUNT)
            .map(|number| put(&mut txn, number))
            .find(Result::is_err);
        // The file may have grown again meanwhile, with zeros in it.
        assert!(matches!(failed, Some(Err(Error::Corrupted { .. }))));
        assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
        cut.mend();
        let txn = cut.database.begin_read().unwrap();
        for number in 0..COUNT {
            assert_eq!(
                cut.table.get(&txn, &key(number)).unwrap(),
                Some(&[7; 100][..])
            );
        }
    }
}

#[test]
fn pages_that_were_built_in_what_is_gone_are_not_committed() {
    let cut = Cut::new(Verification::Off);
    let mut txn = cut.database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let table: Raw = txn.create_table("new").unwrap();
    let put = |txn: &mut _, number| table.insert(txn, &key(number), &[1; 500]);
    for number in 0..1000 {
        put(&mut txn, number).unwrap();
    }
    cut.cut();
    let put_all = (1000..5000).try_for_each(|number| put(&mut txn, number));
    let failed = put_all.and_then(|()| txn.commit().map(drop));
    assert!(failed.is_err());
    cut.mend();
    let txn = cut.database.begin_read().unwrap();
    assert!(teak::Transaction::open_table::<Bytes, Bytes>(&txn, "new").is_err());
    assert!(cut.table.get(&txn, b"large").unwrap().is_some());
}

#[test]
fn threads_that_read_elsewhere_go_on() {
    let cut = Cut::new(Verification::FirstTouch);
    let txn = cut.database.begin_read().unwrap();
    let is_lost = |number: &u32| cut.table.get(&txn, &key(*number)).is_err();
    cut.cut();
    let kept: Vec<_> = (0..COUNT).filter(|number| !is_lost(number)).collect();
    let lost: Vec<_> = (0..COUNT).filter(is_lost).take(100).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in lost.iter().cycle().take(2000) {
                refused(cut.table.get(&txn, &key(*number)));
            }
        });
        let mut read = 0;
        for number in kept.iter().cycle().take(20_000) {
            // A fault elsewhere in the middle of a lookup is an error of this one too, and never a wrong value.
            if let Ok(value) = cut.table.get(&txn, &key(*number)) {
                assert_eq!(value, Some(&[7; 100][..]));
                read += 1;
            }
        }
        assert!(read > 0);
    });
}

#[test]
fn a_file_that_was_cut_short_before_it_is_opened_again_is_refused() {
    let cut = Cut::new(Verification::FirstTouch);
    let path: &Path = &cut.path;
    let copy = path.with_extension("copy");
    File::create(&copy)
        .unwrap()
        .write_all(&cut.bytes[..(KEPT * PAGE) as usize])
        .unwrap();
    assert!(Database::open(&copy).is_err());
}
