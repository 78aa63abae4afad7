//! Files that are truncated while they are open, after their pages were read and verified.

use crate::shared::FileExt;
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    iter,
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use teak::{
    Database, DetachedCursor, Direction, Durability, Error, Options, Result, SeekOp, Table,
    Transaction, Verification,
    codec::{Bytes, Str},
};

const PAGE: u64 = 4096;
const COUNT: u32 = 20_000;
/// The remaining pages: they include the root, and not all leaves.
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
            table.insert(&mut txn, key(number), [7; 100]).unwrap();
        }
        table.insert(&mut txn, b"large", [9; 100_000]).unwrap();
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

    /// Removes all pages except the first ones.
    fn cut(&self) {
        self.cut_to(KEPT * PAGE);
    }

    fn cut_to(&self, len: u64) {
        self.file().set_len(len).unwrap();
    }

    /// Restores them.
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
        other => panic!("unexpected error: {other}"),
    }
}

fn first_error<T>(records: impl Iterator<Item = Result<T>>) -> Result<()> {
    records
        .map(|record| record.map(drop))
        .find(Result::is_err)
        .expect("an error")
}

fn all_reads(verification: Verification) {
    let cut = Cut::new(verification);
    let table = &cut.table;
    let txn = cut.database.begin_read().unwrap();
    let mut cursor = table.cursor(&txn).unwrap();
    let mut detached = DetachedCursor::new(table);
    let keys: Vec<_> = (0..COUNT).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let lost = |number: &u32| table.get(&txn, key(*number)).is_err();

    cut.cut();
    assert!((0..COUNT).any(|number| lost(&number)));
    let wanted = (0..COUNT).find(lost).unwrap();
    refused(table.get(&txn, key(wanted)));
    refused(table.get_owned(&txn, key(wanted)));
    refused(table.get_many(&txn, &keys));
    refused(table.contains_key(&txn, key(wanted)));
    refused(first_error(table.iter(&txn).unwrap()));
    refused(first_error(table.iter(&txn).unwrap().rev()));
    let mut records = table.iter(&txn).unwrap();
    let lent = iter::from_fn(|| records.lend().map(|lent| lent.map(drop)).transpose());
    refused(first_error(lent));
    refused(first_error(table.range(..).owned(&txn).unwrap()));
    refused(first_error(table.range(..).owned(&txn).unwrap().rev()));
    refused(table.range(&key(0)[..]..).count(&txn));
    refused(table.range(&key(wanted)[..]..).estimate(&txn));
    refused(cursor.skip(i64::from(COUNT)));
    refused(cursor.seek(SeekOp::GreaterOrEqual, &key(wanted)));
    assert!(!cursor.is_on_record() && cursor.key().is_empty());
    refused(detached.seek(&txn, SeekOp::GreaterOrEqual, &key(wanted)));
    assert!(!detached.is_on_record(&txn).unwrap() && detached.key().is_empty());
    refused(
        (0..)
            .map(|_| cursor.first().and_then(|_| cursor.last()))
            .find(Result::is_err)
            .unwrap(),
    );
    // The remaining pages can be read.
    assert!((0..COUNT).filter(|number| !lost(number)).count() > 100);

    cut.mend();
    for number in 0..COUNT {
        assert_eq!(table.get(&txn, key(number)).unwrap(), Some(&[7; 100][..]));
    }
    assert_eq!(
        table.iter(&txn).unwrap().filter(Result::is_ok).count(),
        COUNT as usize + 1
    );
    assert!(cursor.seek(SeekOp::Equal, &key(wanted)).unwrap());
    assert!(detached.seek(&txn, SeekOp::Equal, &key(wanted)).unwrap());
}

#[test]
fn a_missing_verified_page_is_an_error() {
    all_reads(Verification::FirstTouch);
}

#[test]
fn without_verification_too() {
    all_reads(Verification::Off);
}

#[test]
fn a_cursor_in_the_middle_of_a_leaf_notices() {
    let cut = Cut::new(Verification::Off);
    let txn = cut.database.begin_read().unwrap();
    let mut cursor = cut.table.cursor(&txn).unwrap();
    assert!(
        cursor
            .seek(SeekOp::GreaterOrEqual, &key(COUNT / 2))
            .unwrap()
    );
    let mut steps = (0..).map(|_| cursor.next());
    assert!(steps.next().unwrap().unwrap());
    cut.cut();
    refused(steps.find(Result::is_err).unwrap());
}

#[test]
fn bytes_read_later_are_zeros_and_counted() {
    let cut = Cut::new(Verification::FirstTouch);
    let txn = cut.database.begin_read().unwrap();
    let value = cut.table.get_owned(&txn, b"large").unwrap().unwrap();
    let txn = value.transaction();
    let before = txn.read_faults();
    assert!(value.iter().all(|byte| *byte == 9));
    assert_eq!(txn.read_faults(), before);
    cut.cut();
    for _ in 0..2 {
        let before = txn.read_faults();
        assert!(value.contains(&0));
        assert_ne!(txn.read_faults(), before);
    }
    cut.mend();
    let before = txn.read_faults();
    assert!(value.iter().all(|byte| *byte == 9));
    assert_eq!(txn.read_faults(), before);
}

#[test]
fn a_value_is_used_only_if_it_is_still_there() {
    let cut = Cut::new(Verification::Off);
    let text = cut.table.cast::<Bytes, Str>();
    let mut txn = cut.database.begin_write().unwrap();
    text.insert(&mut txn, b"text", "x".repeat(3_000_000))
        .unwrap();
    txn.commit().unwrap();
    let txn = cut.database.begin_read().unwrap();
    let bytes = fs::read(&cut.path).unwrap();
    assert_eq!(
        text.get(&txn, b"text").unwrap().map(str::len),
        Some(3_000_000)
    );
    let is_of_it = |page: &[u8]| page.iter().all(|byte| *byte == b'x');
    let last = bytes.chunks(PAGE as usize).rposition(is_of_it).unwrap();
    cut.cut_to(last as u64 * PAGE);
    refused(text.get(&txn, b"text"));
    refused(text.get_many(&txn, &[b"text"]));
    refused(text.last(&txn));
    cut.file().write_all_at(&bytes, 0).unwrap();
    assert_eq!(
        text.get(&txn, b"text").unwrap().map(str::len),
        Some(3_000_000)
    );
}

#[test]
fn a_scan_returns_all_records_before_the_missing_part() {
    let cut = Cut::new(Verification::Off);
    let txn = cut.database.begin_read().unwrap();
    cut.cut();
    let lost = |number: &u32| cut.table.get(&txn, key(*number)).is_err();
    let before = (0..COUNT).find(lost).unwrap();
    let mut range = cut.table.iter(&txn).unwrap();
    let seen = range.by_ref().take_while(Result::is_ok).count();
    assert_eq!(seen, before as usize);
    let mut cursor = cut.table.cursor(&txn).unwrap();
    let steps =
        std::iter::from_fn(|| Some(cursor.next())).take_while(|step| matches!(step, Ok(true)));
    assert_eq!(steps.count(), before as usize);
    let mut cursor = DetachedCursor::new(&cut.table);
    let steps =
        std::iter::from_fn(|| Some(cursor.next(&txn))).take_while(|step| matches!(step, Ok(true)));
    assert_eq!(steps.count(), before as usize);
    for max in [1, 4, 1000] {
        let (mut cursor, mut seen) = (DetachedCursor::new(&cut.table), 0);
        let batches = std::iter::from_fn(|| Some(cursor.read_batch(&txn, max, |_, _| seen += 1)));
        refused(batches.take(COUNT as usize).find(Result::is_err).unwrap());
        assert_eq!(seen, before, "{max} at a time");
        let (mut cursor, mut seen) = (cut.table.cursor(&txn).unwrap(), 0);
        let batches = std::iter::from_fn(|| Some(cursor.read_batch(max, |_, _| seen += 1)));
        refused(batches.take(COUNT as usize).find(Result::is_err).unwrap());
        assert_eq!(seen, before, "{max} at a time");
    }
    let (mut cursor, mut seen) = (DetachedCursor::new(&cut.table), 0);
    refused(cursor.scan(&txn, Direction::Forward, |_, _| {
        seen += 1;
        ControlFlow::Continue(())
    }));
    assert!(seen == before && cursor.is_unset());
}

#[test]
fn a_detached_cursor_in_the_middle_of_a_leaf_keeps_its_position() {
    let cut = Cut::new(Verification::Off);
    let txn = cut.database.begin_read().unwrap();
    cut.cut();
    let lost = |number: &u32| cut.table.get(&txn, key(*number)).is_err();
    let first = (0..COUNT).find(lost).unwrap();
    cut.mend();
    let mut cursor = DetachedCursor::new(&cut.table);
    assert!(
        cursor
            .seek(&txn, SeekOp::GreaterOrEqual, &key(first + 2))
            .unwrap()
    );
    assert!(cursor.next(&txn).unwrap());
    cut.cut();
    for _ in 0..2 {
        refused(cursor.next(&txn));
        refused(cursor.prev(&txn));
        refused(cursor.value(&txn));
        assert_eq!(cursor.key(), key(first + 3));
    }
    cut.mend();
    assert!(cursor.next(&txn).unwrap());
    assert_eq!(cursor.key(), key(first + 4));
    assert_eq!(*cursor.value(&txn).unwrap(), [7; 100]);
}

/// The pairs that a cursor returns, starting at one pair, are correct up to an error; the last one
/// before it may be wrong.
fn expect_pairs(result: Result<bool>, mut seen: Pairs, expected: &[(Vec<u8>, Vec<u8>)]) -> bool {
    match result {
        Ok(is_there) => assert_eq!((seen.len() < expected.len(), &seen[..]), {
            let len = seen.len().min(expected.len());
            (is_there, &expected[..len])
        }),
        Err(_) => drop(seen.pop()),
    }
    assert!(expected.starts_with(&seen));
    seen.len() < expected.len()
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

#[test]
fn detached_cursors_return_nothing_of_a_partly_lost_leaf() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("parts.teak");
    let options = Options::new();
    let options = options.page_size(65536).verification(Verification::Off);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let plain: Raw = txn.create_table("plain").unwrap();
    let multi = txn.create_multi_table::<Bytes, Bytes>("multi").unwrap();
    let (mut records, mut pairs) = (Pairs::new(), Pairs::new());
    for number in 0..1500 {
        let value = key(number).repeat(10);
        plain.insert(&mut txn, key(number), &value).unwrap();
        records.push((key(number), value.clone()));
        // One value, four values of each key, and finally so many that they have a nested tree.
        let of = match number {
            0..500 => number,
            500..1000 => number / 4 * 4,
            _ => 1000,
        };
        multi.insert(&mut txn, key(of), &value).unwrap();
        pairs.push((key(of), value));
    }
    txn.commit().unwrap();
    let bytes = fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let page_count = database.stat().unwrap().page_count;
    let txn = database.begin_read().unwrap();
    let cursors = [
        (DetachedCursor::new(&plain), &records),
        (DetachedCursor::new(&multi), &pairs),
    ];
    for (mut cursor, pairs) in cursors {
        let (mut at, mut lost) = (0, [0; 6]);
        assert!(cursor.first(&txn).unwrap());
        while at + 40 < pairs.len() {
            for _ in 0..37 {
                assert!(cursor.next(&txn).unwrap());
                at += 1;
            }
            for page in 4..page_count {
                // The middle of the page and everything after it is missing.
                file.set_len(page * 65536 + 32768).unwrap();
                let mut other = cursor.clone();
                let next = other.next(&txn);
                assert_eq!(other.key(), pairs[at + usize::from(next.is_ok())].0);
                let mut other = cursor.clone();
                let prev = other.prev(&txn);
                assert_eq!(other.key(), pairs[at - usize::from(prev.is_ok())].0);
                let before = txn.read_faults();
                let value = cursor.value(&txn);
                if let Ok(value) = &value
                    && **value != pairs[at].1
                {
                    assert_ne!(txn.read_faults(), before, "the borrowed bytes are lost");
                }
                lost[0] += u32::from(next.is_err());
                lost[1] += u32::from(prev.is_err());
                lost[2] += u32::from(value.is_err());
                let (mut other, mut seen) = (cursor.clone(), Pairs::new());
                let scanned = other.scan(&txn, Direction::Forward, |key, value| {
                    seen.push((key.to_vec(), value.to_vec()));
                    ControlFlow::Continue(())
                });
                lost[3] += u32::from(expect_pairs(scanned, seen, &pairs[at..]));
                let (mut other, mut seen) = (cursor.clone(), Pairs::new());
                let scanned = other.scan(&txn, Direction::Backward, |key, value| {
                    seen.push((key.to_vec(), value.to_vec()));
                    ControlFlow::Continue(())
                });
                let back: Pairs = pairs[..=at].iter().rev().cloned().collect();
                lost[4] += u32::from(expect_pairs(scanned, seen, &back));
                let (mut other, mut seen) = (cursor.clone(), Pairs::new());
                let read = other.read_batch(&txn, 30, |key, value| {
                    seen.push((key.to_vec(), value.to_vec()));
                });
                let is_lost = read.is_err();
                expect_pairs(read, seen, &pairs[at..]);
                lost[5] += u32::from(is_lost);
                file.write_all_at(&bytes, 0).unwrap();
            }
        }
        assert!(lost.iter().all(|count| *count > 0), "{lost:?}");
    }
}

#[test]
fn no_damage_is_reported_after_a_repair() {
    let cut = Cut::new(Verification::FirstTouch);
    cut.cut();
    let txn = cut.database.begin_read().unwrap();
    assert!((0..COUNT).any(|number| cut.table.get(&txn, key(number)).is_err()));
    assert!(
        !cut.database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .damages
            .is_empty()
    );
    cut.mend();
    assert!(
        cut.database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .damages
            .is_empty()
    );
    assert_eq!(txn.tables().unwrap().len(), 1);
}

#[test]
fn a_partly_lost_catalog_is_not_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.teak");
    let database = Options::new()
        .page_size(65536)
        .verification(Verification::Off)
        .open(&path)
        .unwrap();
    let mut txn = database.begin_write().unwrap();
    for number in 0..300 {
        let table: Raw = txn.create_table(key(number)).unwrap();
        table.insert(&mut txn, b"key", b"value").unwrap();
    }
    txn.commit().unwrap();
    let bytes = fs::read(&path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let page_count = database.stat().unwrap().page_count;
    for page in 5..page_count {
        for name in [&b"aaa"[..], b"zzz"] {
            let mut txn = database.begin_write().unwrap();
            // The middle of the page and everything after it is missing.
            file.set_len(page * 65536 + 32768).unwrap();
            let created = txn.create_table::<Bytes, Bytes>(name).map(drop);
            assert!(
                created.and_then(|()| txn.commit().map(drop)).is_err(),
                "page {page}"
            );
            file.write_all_at(&bytes, 0).unwrap();
        }
    }
    assert_eq!(database.begin_read().unwrap().tables().unwrap().len(), 300);
}

#[test]
fn a_lost_page_of_a_transaction_is_an_error() {
    if !crate::can("files mapped for writing", |abilities| {
        abilities.mapped_writes
    }) {
        return;
    }
    let cut = Cut::new(Verification::Off);
    let mut txn = cut.database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let table: Raw = txn.create_table("new").unwrap();
    for number in 0..3000 {
        table.insert(&mut txn, key(number), [1; 500]).unwrap();
    }
    cut.cut();
    let found = |number: u32| {
        table
            .get(&txn, key(number))
            .map(|value| value.map(<[u8]>::to_vec))
    };
    for value in (0..3000).filter_map(|number| found(number).ok()) {
        assert_eq!(value, Some(vec![1; 500]));
    }
    assert!((0..3000).any(|number| found(number).is_err()));
    assert!(txn.commit().is_err());
}

#[test]
fn a_commit_into_a_truncated_file_fails() {
    let cut = Cut::new(Verification::FirstTouch);
    cut.cut();
    assert!(matches!(cut.database.begin_write(), Err(Error::Io { .. })));
    cut.mend();
    let mut txn = cut.database.begin_write().unwrap();
    cut.table.insert(&mut txn, b"a", b"1").unwrap();
    cut.cut();
    match txn.commit().unwrap_err() {
        Error::Io { cause, .. } => assert!(cause.to_string().contains("truncated the file")),
        other => panic!("unexpected error: {other}"),
    }
    cut.mend();
    let mut txn = cut.database.begin_write().unwrap();
    cut.table.insert(&mut txn, b"a", b"2").unwrap();
    txn.commit().unwrap();
    assert!(
        cut.database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .damages
            .is_empty()
    );
}

#[test]
fn a_change_of_a_lost_page_breaks_the_transaction() {
    for durability in [Durability::Durable, Durability::Lazy] {
        let cut = Cut::new(Verification::Off);
        let mut txn = cut.database.begin_write().unwrap();
        txn.set_durability(durability);
        cut.cut();
        let put = |txn: &mut _, number| cut.table.insert(txn, key(number), b"new");
        let failed = (0..COUNT)
            .map(|number| put(&mut txn, number))
            .find(Result::is_err);
        // The file may have grown again meanwhile, with zeros in it.
        assert!(matches!(
            failed,
            Some(Err(Error::Corrupted { .. } | Error::Io { .. }))
        ));
        assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
        cut.mend();
        let txn = cut.database.begin_read().unwrap();
        for number in 0..COUNT {
            assert_eq!(
                cut.table.get(&txn, key(number)).unwrap(),
                Some(&[7; 100][..])
            );
        }
    }
}

#[test]
fn pages_built_in_lost_memory_are_not_committed() {
    let cut = Cut::new(Verification::Off);
    let mut txn = cut.database.begin_write().unwrap();
    txn.set_durability(Durability::Lazy);
    let table: Raw = txn.create_table("new").unwrap();
    let put = |txn: &mut _, number| table.insert(txn, key(number), [1; 500]);
    for number in 0..1000 {
        put(&mut txn, number).unwrap();
    }
    cut.cut();
    let put_all = (1000..5000).try_for_each(|number| put(&mut txn, number));
    let failed = put_all.and_then(|()| txn.commit().map(drop));
    assert!(failed.is_err());
    cut.mend();
    let txn = cut.database.begin_read().unwrap();
    assert!(txn.open_table::<Bytes, Bytes>("new").is_err());
    assert!(cut.table.get(&txn, b"large").unwrap().is_some());
}

#[test]
fn threads_that_read_elsewhere_continue() {
    let cut = Cut::new(Verification::FirstTouch);
    let txn = cut.database.begin_read().unwrap();
    let is_lost = |number: &u32| cut.table.get(&txn, key(*number)).is_err();
    cut.cut();
    let kept: Vec<_> = (0..COUNT).filter(|number| !is_lost(number)).collect();
    let lost: Vec<_> = (0..COUNT).filter(is_lost).take(100).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in lost.iter().cycle().take(2000) {
                refused(cut.table.get(&txn, key(*number)));
            }
        });
        let mut read = 0;
        for number in kept.iter().cycle().take(20_000) {
            // A fault elsewhere during a lookup is an error of this one too, and never a wrong
            // value.
            if let Ok(value) = cut.table.get(&txn, key(*number)) {
                assert_eq!(value, Some(&[7; 100][..]));
                read += 1;
            }
        }
        assert!(read > 0);
    });
}

#[test]
fn a_file_truncated_before_it_is_reopened_is_refused() {
    if !crate::can("id of a boot", |abilities| abilities.boot_id) {
        return;
    }
    let cut = Cut::new(Verification::FirstTouch);
    let path: &Path = &cut.path;
    let copy = path.with_extension("copy");
    File::create(&copy)
        .unwrap()
        .write_all(&cut.bytes[..(KEPT * PAGE) as usize])
        .unwrap();
    assert!(Database::open(&copy).is_err());
}

/// A cut leaves zeros up to the end of a system page, which has several pages if it is large. Each
/// lookup and each scan returns what was stored, or an error.
#[test]
fn no_cut_between_pages_changes_an_answer() {
    const CUTS: u64 = 22;
    let cut = Cut::new(Verification::FirstTouch);
    let value = [9; 100_000];
    let large = cut.bytes.windows(16).position(|bytes| bytes == [9; 16]);
    // Among leaves, and in the pages of a large value, which ends with the last cut.
    let large = large.unwrap() as u64 / PAGE;
    for kept in (KEPT..KEPT + CUTS).chain(large..large + CUTS) {
        cut.cut_to(kept * PAGE);
        let (mut errors, mut wrong) = (0, 0);
        let mut count = |read: Result<bool>| match read {
            Ok(is_right) => wrong += u32::from(!is_right),
            Err(_) => errors += 1,
        };
        let txn = cut.database.begin_read().unwrap();
        for number in (0..COUNT).step_by(7) {
            let read = cut.table.get(&txn, key(number));
            count(read.map(|found| found == Some(&[7; 100][..])));
        }
        let read = cut.table.get(&txn, b"large");
        count(read.map(|found| found == Some(&value[..])));
        let scan = cut.table.iter(&txn).and_then(|records| {
            let mut number = 0;
            for record in records {
                let (found, stored) = record?;
                let is_large = number == COUNT;
                let is_right = match is_large {
                    true => found == b"large" && stored == value,
                    false => found == key(number) && stored == [7; 100],
                };
                if !is_right {
                    return Ok(false);
                }
                number += 1;
            }
            Ok(number == COUNT + 1)
        });
        count(scan);
        assert_eq!(wrong, 0, "cut to {kept} pages");
        assert!(errors > 0, "cut to {kept} pages");
        drop(txn);
        cut.mend();
    }
}

/// Up to the end of a system page, zeros replaced the truncated bytes, and were returned from
/// verified pages.
#[test]
fn a_large_value_with_a_truncated_end_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.teak");
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Raw = txn.create_table("records").unwrap();
    for number in 0..3 {
        table.insert(&mut txn, key(number), [7; 20_000]).unwrap();
    }
    table.insert(&mut txn, b"zeros", [0; 20_000]).unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let all = |txn: &_| {
        (0..3)
            .map(|number| table.get(txn, key(number)).map(drop))
            .collect::<Result<Vec<_>>>()
    };
    all(&txn).unwrap();
    assert_eq!(table.get(&txn, b"zeros").unwrap(), Some(&[0; 20_000][..]));
    let bytes = fs::read(&path).unwrap();
    let run = bytes
        .windows(16)
        .rposition(|window| window == [7; 16])
        .unwrap() as u64;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for lost in [1, 100, 3000] {
        file.set_len(run + 16 - lost).unwrap();
        let error = all(&txn).unwrap_err();
        assert!(error.to_string().contains("cut short"), "{error}");
        file.write_all_at(&bytes, 0).unwrap();
        all(&txn).unwrap();
    }
}
