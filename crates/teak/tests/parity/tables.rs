//! Operations on whole tables.

use super::{fixture, table};
use std::cmp::Ordering;
use teak::{
    Comparison, Database, Error, KeyOrder, MultiTableDef, Options, Table, TableDef, TableOptions,
    Transaction, ValueSize,
    codec::{Bytes, NativeU32, Str},
};

static BY_LENGTH: Comparison = Comparison::new("length, then bytes", &by_length);

fn by_length(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then(a.cmp(b))
}

#[test]
fn open_and_create() {
    let fixture = fixture();
    let txn = fixture.database.begin_read().unwrap();
    let missing = txn.open_table::<Str, Str>("words");
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
    let mut txn = fixture.database.begin_write().unwrap();
    // Names are bytes.
    let name = [0, 0xff, b'x'];
    let table = txn.create_table::<Str, Str>(name).unwrap();
    let other = TableOptions::new().counted(true);
    let refused = TableDef::<Str, Str>::from_bytes(&name)
        .options(other)
        .create(&mut txn);
    assert!(matches!(refused, Err(Error::TableMismatch { .. })));
    txn.commit().unwrap();
    // A handle belongs to the database, and serves all transactions from then on.
    let txn = fixture.database.begin_read().unwrap();
    assert_eq!(table.len(&txn).unwrap(), 0);
    assert_eq!(txn.tables().unwrap()[0].name, name);
}

/// The number of tables needs no limit.
#[test]
fn any_number_of_tables() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    for number in 0..2_000 {
        txn.create_table::<Str, Str>(format!("{number:04}"))
            .unwrap();
    }
    txn.commit().unwrap();
    let txn = fixture.database.begin_read().unwrap();
    assert_eq!(txn.tables().unwrap().len(), 2_000);
}

#[test]
fn custom_comparators() {
    let fixture = fixture();
    fixture.database.close().unwrap();
    let options = Options::new().comparison(&BY_LENGTH);
    let database = options.open(&fixture.path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let order = TableOptions::new().order(KeyOrder::Custom(&BY_LENGTH));
    let table = TableDef::<Str, Str>::new("words")
        .options(order)
        .create(&mut txn)
        .unwrap();
    for key in ["bb", "a", "ccc", "b"] {
        table.insert(&mut txn, key, "").unwrap();
    }
    let keys: Vec<_> = table
        .iter(&txn)
        .unwrap()
        .map(|record| record.unwrap().0)
        .collect();
    assert_eq!(keys, ["a", "b", "bb", "ccc"]);
    txn.commit().unwrap();
    database.close().unwrap();
    // Without the comparison, the table cannot be opened.
    let txn = Database::open(&fixture.path).unwrap().begin_read().unwrap();
    let missing = txn.open_table::<Str, Str>("words");
    assert!(matches!(missing, Err(Error::ComparisonMissing { .. })));
}

/// REVERSEKEY, INTEGERKEY and those for several values are options, checked when the table is
/// opened.
#[test]
fn key_and_value_flags() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let reverse = TableOptions::new().order(KeyOrder::ReverseBytes);
    let table = TableDef::<Str, Str>::new("reverse")
        .options(reverse)
        .create(&mut txn)
        .unwrap();
    for key in ["ab", "ba"] {
        table.insert(&mut txn, key, "").unwrap();
    }
    assert_eq!(table.first(&txn).unwrap().unwrap().0, "ba");
    let integer = TableOptions::new().order(KeyOrder::Integer);
    let table: Table<Bytes, Str> = TableDef::new("integers")
        .options(integer)
        .create(&mut txn)
        .unwrap();
    // The first key decides the length.
    table.insert(&mut txn, 7_u32.to_ne_bytes(), "").unwrap();
    let refused = table.insert(&mut txn, 7_u64.to_ne_bytes(), "");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let refused = table.insert(&mut txn, b"abc", "");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    table
        .cast::<NativeU32, Str>()
        .insert(&mut txn, 256, "")
        .unwrap();
    let first = table.cast::<NativeU32, Str>().first(&txn).unwrap();
    assert_eq!(first, Some((7, "")));
    // Contradictory options are refused.
    let values = TableOptions::new().value_size(ValueSize::Bytes(8));
    let refused = TableDef::<Str, Str>::new("plain")
        .options(values)
        .create(&mut txn);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let odd = values
        .value_order(KeyOrder::Integer)
        .value_size(ValueSize::Bytes(3));
    let refused = MultiTableDef::<Str, Bytes>::new("odd")
        .options(odd)
        .create(&mut txn);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
}

/// Codecs keep the order of numbers.
#[test]
fn value_to_key_helpers() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let signed = txn.create_table::<i64, u64>("signed").unwrap();
    for key in [3, -5, 0, i64::MIN] {
        signed.insert(&mut txn, key, 0).unwrap();
    }
    let keys: Vec<_> = signed
        .iter(&txn)
        .unwrap()
        .map(|record| record.unwrap().0)
        .collect();
    assert_eq!(keys, [i64::MIN, -5, 0, 3]);
    let floats = txn.create_table::<f64, u64>("floats").unwrap();
    for key in [1.5, -0.25, f64::NEG_INFINITY, 1e300] {
        floats.insert(&mut txn, key, 0).unwrap();
    }
    let keys: Vec<_> = floats
        .iter(&txn)
        .unwrap()
        .map(|record| record.unwrap().0)
        .collect();
    assert_eq!(keys, [f64::NEG_INFINITY, -0.25, 1.5, 1e300]);
}

#[test]
fn rename() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    table(&mut txn, &["a"]);
    txn.create_table::<Str, Str>("other").unwrap();
    let taken = txn.rename_table("words", "other");
    assert!(matches!(taken, Err(Error::TableExists(_))));
    txn.rename_table("words", "new").unwrap();
    let missing = txn.rename_table("words", "newer");
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
    assert_eq!(
        txn.open_table::<Bytes, Bytes>("new")
            .unwrap()
            .len(&txn)
            .unwrap(),
        1
    );
}

#[test]
fn drop_and_empty_tables() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a"]);
    table.clear(&mut txn).unwrap();
    assert!(table.is_empty(&txn).unwrap());
    assert!(txn.drop_table("words").unwrap());
    assert!(!txn.drop_table("words").unwrap());
    assert!(matches!(table.len(&txn), Err(Error::TableNotFound(_))));
}

#[test]
fn stat() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &["a", "b"]);
    table.insert(&mut txn, b"large", [0; 50_000]).unwrap();
    let id = txn.commit().unwrap();
    let txn = fixture.database.begin_read().unwrap();
    let stat = table.stat(&txn).unwrap();
    assert_eq!((stat.records, stat.depth, stat.leaf_pages), (3, 1, 1));
    assert_eq!(
        stat.value_pages,
        50_000_u64.div_ceil(fixture.database.info().page_size as u64)
    );
    assert_eq!(stat.changed, id, "the transaction of the last change");
}

#[test]
fn enumerate_tables() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    table(&mut txn, &["a", "b"]);
    txn.create_multi_table::<Str, Str>("sets").unwrap();
    let tables = txn.tables().unwrap();
    let seen: Vec<_> = (tables.iter())
        .map(|info| (&info.name[..], info.options.is_multi(), info.stat.records))
        .collect();
    assert_eq!(seen, [(&b"sets"[..], true, 0), (b"words", false, 2)]);
}

#[test]
fn sequence() {
    let fixture = fixture();
    let mut txn = fixture.database.begin_write().unwrap();
    let table = table(&mut txn, &[]);
    assert_eq!(
        table.draw_sequence(&mut txn, 5).unwrap(),
        0,
        "the first of them"
    );
    assert_eq!(table.stat(&txn).unwrap().sequence, 5);
    let refused = table.draw_sequence(&mut txn, u64::MAX);
    assert!(matches!(refused, Err(Error::SequenceExhausted { .. })));
    assert_eq!(
        table.draw_sequence(&mut txn, 0).unwrap(),
        5,
        "nothing was drawn"
    );
    let sets = txn.create_multi_table::<Str, Str>("sets").unwrap();
    assert_eq!(sets.draw_sequence(&mut txn, 1).unwrap(), 0);
}
