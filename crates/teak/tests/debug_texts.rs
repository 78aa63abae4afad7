//! The debug text of a handle is one short line, whatever the database holds.

use crate::shared::temporary_path;
use std::fmt::Debug;
use teak::{
    CompactOptions, Database, DetachedCursor, Options, SeekOp, TableOptions, WriteOptions,
    codec::{Str, U64},
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
    let ages = txn.create_table::<Str, U64>("ages").unwrap();
    let words = txn.create_multi_table::<Str, Str>("words").unwrap();
    for number in 0..1000 {
        ages.insert(&mut txn, &format!("{number:04}"), number)
            .unwrap();
        words
            .insert(&mut txn, "ash", &format!("{number:04}"))
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
    drop((cursor, feed));
    let parked = txn.park().unwrap();
    assert_short(&parked);
    assert_short(&parked.resume().unwrap().reset());

    assert_short(&WriteOptions::new().at(&database.begin_read().unwrap()));
    assert_short(&CompactOptions::new());
    assert_short(&TableOptions::new());
    assert_short(&Options::new().open(&path).unwrap());
}
