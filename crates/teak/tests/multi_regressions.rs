//! Past bugs of tables in which a key has several values.

use crate::shared::temporary_path;
use std::ops::ControlFlow;
use std::{fs::OpenOptions, ops::Bound};
use teak::{
    Comparison, Database, Direction, Durability, Error, KeyOrder, KeyStep, MultiTable,
    MultiTableDef, Options, SeekOp, SeekTarget, TableOptions, Transaction, ValueSize,
};

type Raw = MultiTable<Vec<u8>, Vec<u8>>;

/// Keys are equal regardless of trailing spaces.
static TRIMMED: Comparison = Comparison::new("without spaces at the end", &|a, b| {
    a.trim_ascii_end().cmp(b.trim_ascii_end())
});
static UP: Comparison = Comparison::new("some order", &|a, b| a.cmp(b));
static DOWN: Comparison = Comparison::new("some order", &|a, b| b.cmp(a));

/// The stored key decides how much fits next to it, not the one that was searched for.
#[test]
fn equal_keys_of_other_lengths() {
    for (key_len, value_len) in [(3000, 100), (3800, 1500), (3800, 40)] {
        let (_directory, path) = temporary_path();
        let database = Options::new().comparison(&TRIMMED).open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let order = TableOptions::new().order(KeyOrder::Custom(&TRIMMED));
        let table: Raw = MultiTableDef::new("words")
            .options(order)
            .create(&mut txn)
            .unwrap();
        let mut long = b"k".to_vec();
        long.resize(key_len, b' ');
        table.insert(&mut txn, &long, b"first").unwrap();
        let value = |number: u32| {
            let mut value = vec![b'v'; value_len];
            value[..4].copy_from_slice(&number.to_be_bytes());
            value
        };
        for number in 0..100 {
            assert!(table.insert(&mut txn, b"k", value(number)).unwrap());
        }
        let many: Vec<_> = (100..200).map(value).collect();
        let many: Vec<_> = many.iter().map(Vec::as_slice).collect();
        assert_eq!(table.insert_values(&mut txn, b"k ", &many).unwrap(), 100);
        for number in (0..200).rev() {
            assert!(table.remove(&mut txn, b"k", value(number)).unwrap());
        }
        let (key, count) = table.range(..).keys(&txn).unwrap().next().unwrap().unwrap();
        assert_eq!((key, count), (long, 1));
        txn.commit().unwrap();
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
    }
}

#[test]
fn replacing_a_value_keeps_the_bytes_of_the_key() {
    let (_directory, path) = temporary_path();
    let database = Options::new().comparison(&TRIMMED).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let order = TableOptions::new().order(KeyOrder::Custom(&TRIMMED));
    let table: Raw = MultiTableDef::new("words")
        .options(order)
        .create(&mut txn)
        .unwrap();
    table.insert(&mut txn, b"k  ", b"1").unwrap();
    assert!(table.replace(&mut txn, b"k", b"1", b"2").unwrap());
    let (key, _) = table.range(..).keys(&txn).unwrap().next().unwrap().unwrap();
    assert_eq!(key, b"k  ");
}

#[test]
fn bounds_that_are_integers_of_another_length_are_refused() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let order = TableOptions::new().value_order(KeyOrder::Integer);
    let table: Raw = MultiTableDef::new("numbers")
        .options(order)
        .create(&mut txn)
        .unwrap();
    for number in 0..5000_u64 {
        table.insert(&mut txn, b"k", number.to_ne_bytes()).unwrap();
    }
    let low = 2_u32.to_ne_bytes();
    let range = (Bound::Included((&b"k"[..], &low[..])), Bound::Unbounded);
    let is_refused = |error: &Error| matches!(error, Error::InvalidArgument(_));
    assert!(
        table
            .range_pairs(range)
            .iter(&txn)
            .is_err_and(|error| is_refused(&error))
    );
    let removed = table.range_pairs(range).remove(&mut txn);
    assert!(removed.is_err_and(|error| is_refused(&error)));
    let mut cursor = table.cursor(&txn).unwrap();
    let sought = [
        cursor.seek(SeekOp::GreaterOrEqual, (b"k", &low)),
        cursor.seek(SeekOp::Equal, (b"k", &low)),
        cursor.seek(SeekOp::GreaterOrEqual, SeekTarget::Value(b"k", &low)),
    ];
    assert!(
        sought
            .into_iter()
            .all(|found| found.is_err_and(|error| is_refused(&error)))
    );
    assert_eq!(table.len(&txn).unwrap(), 5000);
}

/// A different comparison of the same name would insert values twice.
#[test]
fn another_comparison_of_values_is_refused() {
    for count in [3_u32, 1000] {
        let (_directory, path) = temporary_path();
        let database = Options::new().comparison(&UP).open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let order = TableOptions::new().value_order(KeyOrder::Custom(&UP));
        let table: Raw = MultiTableDef::new("values")
            .options(order)
            .create(&mut txn)
            .unwrap();
        for value in 0..count {
            table.insert(&mut txn, b"k", value.to_be_bytes()).unwrap();
        }
        txn.commit().unwrap();
        database.close().unwrap();
        let database = Options::new().comparison(&DOWN).open(&path).unwrap();
        let txn = database.begin_read().unwrap();
        let opened = txn.open_multi_table::<Vec<u8>, Vec<u8>>("values").map(drop);
        assert!(
            matches!(&opened, Err(Error::ComparisonMismatch { comparison, .. }) if comparison == "some order"),
            "{opened:?}"
        );
    }
}

/// Values of a set on a missing part of a page: an error, and no zeros.
#[test]
fn an_unreadable_set_is_an_error() {
    for size in [ValueSize::Bytes(8), ValueSize::Any] {
        let (_directory, path) = temporary_path();
        let database = Options::new().page_size(65536).open(&path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let options = TableOptions::new().value_size(size);
        let table: Raw = MultiTableDef::new("sets")
            .options(options)
            .create(&mut txn)
            .unwrap();
        let value =
            |key: u8, number: u64| (u64::from(key) << 32 | number << 8 | 0xab).to_be_bytes();
        const COUNT: u64 = 150;
        for key in 1..=20 {
            for number in 1..=COUNT {
                table.insert(&mut txn, [key], value(key, number)).unwrap();
            }
        }
        txn.commit().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // A key whose values are on both sides of the end of a system page.
        let process_slot_of = |key, number| {
            let wanted = value(key, number);
            bytes.windows(8).rposition(|bytes| bytes == wanted).unwrap()
        };
        let (key, cut) = (1..=20)
            .map(|key| (key, process_slot_of(key, COUNT) / 4096 * 4096))
            .find(|&(key, cut)| process_slot_of(key, 3) < cut)
            .unwrap();
        let txn = database.begin_read().unwrap();
        let mut cursor = table.cursor(&txn).unwrap();
        assert!(cursor.seek(SeekOp::GreaterOrEqual, &[key]).unwrap());
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(cut as u64).unwrap();
        let error = (2..=COUNT).find_map(|number| match cursor.step(KeyStep::NextValue) {
            Ok(is_there) => {
                assert!(is_there);
                assert_eq!(cursor.value().unwrap(), value(key, number));
                None
            }
            Err(error) => Some(error),
        });
        assert!(matches!(error, Some(Error::Corrupted { .. })), "{error:?}");
        assert!(!cursor.is_on_record());
        // The rest of the file is not closed as if it were complete.
        std::mem::forget((txn, database));
    }
}

/// A commit that shrinks the file moves few pages, even if a leaf refers to many nested trees.
#[test]
fn a_small_commit_moves_few_nested_trees() {
    let (_directory, path) = temporary_path();
    let options = Options::new().durability(Durability::Lazy);
    let database = options.open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let fill = txn.create_table::<Vec<u8>, Vec<u8>>("fill").unwrap();
    for number in 0..4000_u32 {
        fill.insert(&mut txn, number.to_be_bytes(), [7; 3000])
            .unwrap();
    }
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    let table: Raw = txn.create_multi_table("sets").unwrap();
    for key in 0..200_u32 {
        let values: Vec<_> = (0..3_u8).map(|value| vec![value; 900]).collect();
        let values: Vec<_> = values.iter().map(Vec::as_slice).collect();
        table
            .insert_values(&mut txn, key.to_be_bytes(), &values)
            .unwrap();
    }
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    fill.clear(&mut txn).unwrap();
    txn.commit().unwrap();
    let tiny = |number: u32| {
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table::<Vec<u8>, Vec<u8>>("tiny").unwrap();
        table
            .insert(&mut txn, b"key", number.to_be_bytes())
            .unwrap();
        txn.commit().unwrap();
    };
    let mut taken = database.metrics().taken_pages;
    for number in 0..100 {
        tiny(number);
        let after = database.metrics().taken_pages;
        assert!(
            after - taken < 40,
            "{} pages in commit {number}",
            after - taken
        );
        taken = after;
    }
    assert_eq!(table.len(&database.begin_read().unwrap()).unwrap(), 600);
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}

/// Steps within a leaf, which use an index, on a missing part of the page: an error, and no zeros.
#[test]
fn steps_to_unreadable_records_are_errors() {
    let pair = |kind: u8, number: u64| {
        let number = (u64::from(kind) << 32 | (number + 1) << 8 | 0xab).to_be_bytes();
        match kind {
            // Keys with one value each, and a key with a nested tree.
            1 => (number, number),
            _ => ([kind; 8], number),
        }
    };
    for (kind, count, size) in [
        (1, 400, ValueSize::Bytes(8)),
        (1, 400, ValueSize::Any),
        (2, 1200, ValueSize::Bytes(8)),
        (2, 600, ValueSize::Any),
    ] {
        for is_back in [false, true] {
            let (_directory, path) = temporary_path();
            let database = Options::new().page_size(16384).open(&path).unwrap();
            let mut txn = database.begin_write().unwrap();
            let options = TableOptions::new().value_size(size).share_prefixes(false);
            let table: Raw = MultiTableDef::new("pairs")
                .options(options)
                .create(&mut txn)
                .unwrap();
            for number in 0..count {
                // In the heap of a page, records inserted later are at lower offsets.
                let number = if is_back { number } else { count - 1 - number };
                let (key, value) = pair(kind, number);
                table.insert(&mut txn, key, value).unwrap();
            }
            txn.commit().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let process_slot_of = |number| {
                let (_, wanted) = pair(kind, number);
                bytes.windows(8).rposition(|bytes| bytes == wanted).unwrap()
            };
            let (first, last) = (process_slot_of(0), process_slot_of(count - 1));
            let goes_up = first < last;
            if goes_up == is_back {
                continue;
            }
            let cut = (first.max(last) / 4096 * 4096) as u64;
            assert!((first.min(last) as u64) < cut, "{kind} {size:?}");
            let txn = database.begin_read().unwrap();
            let mut cursor = table.cursor(&txn).unwrap();
            assert!(match is_back {
                false => cursor.first().unwrap(),
                true => cursor.last().unwrap(),
            });
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(cut).unwrap();
            let error = (1..count).find_map(|step| {
                let (moved, number) = match is_back {
                    false => (cursor.next(), step),
                    true => (cursor.prev(), count - 1 - step),
                };
                match moved {
                    Ok(is_there) => {
                        assert!(is_there);
                        let (key, value) = pair(kind, number);
                        assert_eq!(
                            (cursor.key(), cursor.value().unwrap()),
                            (&key[..], &value[..]),
                            "kind {kind} {size:?} {number}"
                        );
                        None
                    }
                    Err(error) => Some(error),
                }
            });
            assert!(
                matches!(error, Some(Error::Corrupted { .. })),
                "kind {kind} {size:?} {error:?}"
            );
            assert_eq!(cursor.value().unwrap(), b"");
            // The rest of the file is not closed as if it were complete.
            std::mem::forget((txn, database));
        }
    }
}

/// Packed values of a page, a part of which is missing: an error, and no zeros.
#[test]
fn unreadable_packed_values_are_an_error() {
    let (_directory, path) = temporary_path();
    let database = Options::new().page_size(16384).open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().value_size(ValueSize::Bytes(8));
    let table: Raw = MultiTableDef::new("pairs")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let value = |number: u64| (0xabcd_0000_0000 + number).to_be_bytes();
    for number in 0..1200 {
        table.insert(&mut txn, b"key", value(number)).unwrap();
    }
    txn.commit().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let last = bytes
        .windows(8)
        .rposition(|bytes| bytes == value(1199))
        .unwrap();
    let txn = database.begin_read().unwrap();
    let mut cursor = table.cursor(&txn).unwrap();
    assert!(cursor.first().unwrap());
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len((last / 4096 * 4096) as u64).unwrap();
    let packed = cursor.read_packed(Direction::Forward);
    assert!(matches!(packed, Err(Error::Corrupted { .. })), "{packed:?}");
    // The rest of the file is not closed as if it were complete.
    std::mem::forget((txn, database));
}
