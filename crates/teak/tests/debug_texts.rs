//! The debug text of a handle is one short line, whatever the database holds.

use crate::shared::temporary_path;
use std::fmt::Debug;
use teak::{
    CachedLookup, CompactOptions, Database, DetachedCursor, Options, SeekOp, TableOptions,
    WriteOptions,
    codec::{Bytes, Str},
};

fn assert_short(handle: &dyn Debug) {
    let text = format!("{handle:?}");
    assert!(text.len() < 300 && !text.contains('\n'), "{text}");
}

#[test]
fn handles_are_one_short_line() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let ages = txn.create_table::<Str, u64>("ages").unwrap();
    let words = txn.create_multi_table::<Str, Str>("words").unwrap();
    for number in 0..1000 {
        ages.insert(&mut txn, format!("{number:04}"), number)
            .unwrap();
        words
            .insert(&mut txn, "ash", format!("{number:04}"))
            .unwrap();
    }
    let savepoint = txn.savepoint().unwrap();
    assert_short(&savepoint);
    assert_short(&txn);
    assert_short(&txn.commit_async().unwrap());
    assert_short(&database);
    assert_short(&(&ages, &words));

    let txn = database.begin_read().unwrap();
    assert_short(&txn);
    assert_short(&ages.cursor(&txn).unwrap());
    assert_short(&words.cursor(&txn).unwrap());
    assert_short(&ages.range("0100".."0200").iter(&txn).unwrap());
    assert_short(&words.iter(&txn).unwrap());
    assert_short(&words.values(&txn, "ash").unwrap());
    let mut cursor = DetachedCursor::new(&ages);
    assert!(cursor.seek(&txn, SeekOp::GreaterOrEqual, b"0500").unwrap());
    assert_short(&cursor);
    let feed = database.follow(txn.clone()).unwrap();
    assert_short(&feed);
    let (mut lookup, longest) = (
        CachedLookup::default(),
        "\u{1}".repeat(database.info().max_key_len),
    );
    ages.get_cached(&txn, &longest, &mut lookup).unwrap();
    assert_short(&lookup);
    drop((cursor, feed));
    let parked = txn.park().unwrap();
    assert_short(&parked);
    assert_short(&parked.resume().unwrap().reset());

    assert_short(&WriteOptions::new().at(&database.begin_read().unwrap()));
    assert_short(&CompactOptions::new());
    assert_short(&TableOptions::new());
    assert_short(&Options::new().open(&path).unwrap());
}

#[test]
fn handles_of_the_longest_keys_and_values_are_short() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let longest = vec![1; database.info().max_key_len];
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("plain").unwrap();
    let multi = txn.create_multi_table::<Bytes, Bytes>("multi").unwrap();
    table.insert(&mut txn, &longest, [2; 100_000]).unwrap();
    multi.insert(&mut txn, &longest, &longest).unwrap();
    txn.commit().unwrap();

    let txn = database.begin_read().unwrap();
    let mut cursor = DetachedCursor::new(&table);
    assert!(cursor.first(&txn).unwrap());
    assert_short(&cursor);
    let mut pairs = DetachedCursor::new(&multi);
    assert!(pairs.first(&txn).unwrap());
    let text = format!("{pairs:?}");
    assert!(text.contains("position: ") && text.contains(&format!("{} bytes", longest.len())));
    assert_short(&pairs);
    let guard = table.get_owned(&txn, &longest).unwrap().unwrap();
    assert_short(&guard);
    assert!(format!("{guard:?}").starts_with("100000 bytes"));
}
