//! The names of a table's types: recorded when it is created, compared when it is opened.

use crate::shared::temporary_path;
use std::{borrow::Cow, fs::File, ops::ControlFlow, path::Path};
use teak::{
    CompactOptions, Database, Error, KeyOrder, MultiTableDef, ReadTxn, Result, Table, TableDef,
    TableOptions, TableTypes, Transaction,
    codec::{Codec, CodecOrder, EncodeAs, Raw, Str},
};

const AGES: TableDef<&str, u64> = TableDef::new("ages");
const NAMES: MultiTableDef<u64, &str> =
    MultiTableDef::new("names").options(TableOptions::new().counted(true));

fn is_refused<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::TableTypeMismatch { .. }))
}

fn types(txn: &impl Transaction) -> Vec<String> {
    let tables = txn.tables().unwrap();
    tables.iter().map(|info| info.types.to_string()).collect()
}

/// A database with tables of both kinds.
fn database(path: &Path) -> Database {
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let ages = AGES.create(&mut txn).unwrap();
    ages.insert(&mut txn, "Ada", 36).unwrap();
    let names = NAMES.create(&mut txn).unwrap();
    names.insert(&mut txn, 36, "Ada").unwrap();
    txn.commit().unwrap();
    database
}

/// The types of both tables are unchanged, and others are refused.
fn assert_typed(txn: &ReadTxn) {
    assert_eq!(types(txn), ["str -> u64", "u64 -> str"]);
    assert_eq!(AGES.open(txn).unwrap().get(txn, "Ada").unwrap(), Some(36));
    assert!(NAMES.open(txn).unwrap().contains(txn, 36, "Ada").unwrap());
    assert!(is_refused(txn.open_table::<u64, u64>("ages")));
    assert!(is_refused(txn.open_multi_table::<u64, u64>("names")));
}

#[test]
fn other_types_are_refused() {
    let (_directory, path) = temporary_path();
    let database = database(&path);
    let mut txn = database.begin_write().unwrap();
    assert!(is_refused(txn.create_table::<&str, &str>("ages")));
    assert!(is_refused(txn.create_table::<u64, u64>("ages")));
    let counted = TableOptions::new().counted(true);
    let other = MultiTableDef::<&str, &str>::new("names").options(counted);
    assert!(is_refused(other.create(&mut txn)));
    assert!(is_refused(txn.open_table::<&str, i64>("ages")));
    drop(txn);
    let txn = database.begin_read().unwrap();
    assert_typed(&txn);
    let Err(error) = txn.open_table::<(u64, &str), u64>("ages") else {
        panic!("other types were accepted");
    };
    let text = error.to_string();
    assert!(
        text.contains("the types str -> u64, not (u64,str) -> u64;"),
        "{text}"
    );
    // The kind is compared before the types.
    let other_kind = txn.open_multi_table::<u64, u64>("ages");
    assert!(matches!(other_kind, Err(Error::TableMismatch { .. })));
}

#[test]
fn raw_bytes_and_casts_avoid_the_check() {
    let (_directory, path) = temporary_path();
    let database = database(&path);
    let txn = database.begin_read().unwrap();
    let raw = txn.open_table::<Raw, Raw>("ages").unwrap();
    let stored = 36_u64.to_be_bytes();
    assert_eq!(raw.get(&txn, b"Ada").unwrap(), Some(&stored[..]));
    // One of both may be raw.
    txn.open_table::<Raw, u64>("ages").unwrap();
    assert!(is_refused(txn.open_table::<Raw, &str>("ages")));
    let cast: Table<Str, i64> = AGES.open(&txn).unwrap().cast();
    assert_eq!(cast.get(&txn, "Ada").unwrap(), Some(i64::MIN + 36));
    let cast = cast.cast::<Str, u32>();
    assert!(matches!(cast.get(&txn, "Ada"), Err(Error::Decode { .. })));
}

#[test]
fn a_table_without_names_accepts_any_types() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.create_table::<Raw, Raw>("raw").unwrap();
    txn.create_table::<Raw, u64>("half").unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    assert_eq!(types(&txn), ["_ -> u64", "_ -> _"]);
    txn.open_table::<&str, (u64, &str)>("raw").unwrap();
    txn.open_table::<&str, u64>("half").unwrap();
    assert!(is_refused(txn.open_table::<&str, &str>("half")));
}

#[test]
fn names_stay_when_records_change() {
    let (_directory, path) = temporary_path();
    let database = database(&path);
    for number in 0..200_u64 {
        let mut txn = database.begin_write().unwrap();
        let (ages, names) = (AGES.open(&txn).unwrap(), NAMES.open(&txn).unwrap());
        ages.insert(&mut txn, number.to_string(), number).unwrap();
        names.insert(&mut txn, 36, number.to_string()).unwrap();
        ages.draw_sequence(&mut txn, 1).unwrap();
        if number == 100 {
            ages.clear(&mut txn).unwrap();
            ages.insert(&mut txn, "Ada", 36).unwrap();
        }
        txn.commit().unwrap();
    }
    assert_typed(&database.begin_read().unwrap());
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
    database.close().unwrap();
    assert_typed(&Database::open(&path).unwrap().begin_read().unwrap());
}

#[test]
fn names_are_part_of_the_state_of_a_table() {
    let (_directory, path) = temporary_path();
    let database = database(&path);
    database.create_snapshot("before").unwrap();
    let mut txn = database.begin_write().unwrap();
    txn.rename_table("ages", "renamed").unwrap();
    assert!(is_refused(txn.open_table::<u64, u64>("renamed")));
    let savepoint = txn.savepoint().unwrap();
    txn.set_table_types("renamed", &TableTypes::new("u64", ""))
        .unwrap();
    assert_eq!(types(&txn), ["u64 -> str", "u64 -> _"]);
    txn.open_table::<u64, u64>("renamed").unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(types(&txn), ["u64 -> str", "str -> u64"]);
    // A table that is created in place of a dropped one has its own names.
    txn.drop_table("names").unwrap();
    txn.create_table::<i64, bool>("names").unwrap();
    txn.commit().unwrap();
    let after = database.begin_read().unwrap();
    assert_eq!(types(&after), ["i64 -> bool", "str -> u64"]);
    assert_typed(&database.open_snapshot("before").unwrap());
    let mut txn = database.begin_write().unwrap();
    txn.roll_back_to_snapshot("before").unwrap();
    txn.commit().unwrap();
    assert_typed(&database.begin_read().unwrap());
}

#[test]
fn names_can_be_recorded_and_removed_later() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let raw = txn.create_table::<Raw, Raw>("raw").unwrap();
    raw.insert(&mut txn, b"a", b"b").unwrap();
    txn.set_table_types("raw", &TableTypes::new("str", "bytes"))
        .unwrap();
    raw.insert(&mut txn, b"c", b"d").unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    assert!(is_refused(txn.open_table::<u64, u64>("raw")));
    assert_eq!(raw.len(&txn).unwrap(), 2);
    txn.set_table_types("raw", &TableTypes::default()).unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    txn.open_table::<u64, u64>("raw").unwrap();
    assert_eq!(types(&txn), ["_ -> _"]);
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
    let mut txn = database.begin_write().unwrap();
    let missing = txn.set_table_types("missing", &TableTypes::default());
    assert!(matches!(missing, Err(Error::TableNotFound(_))));
}

#[test]
fn copies_have_the_names() {
    let (directory, path) = temporary_path();
    let database = database(&path);
    let at = |name: &str| directory.path().join(name);
    let go_on = &mut |_: teak::BackupProgress| ControlFlow::Continue(());
    database.backup(at("exact"), None, go_on).unwrap();
    let dense = &mut |_: teak::DenseProgress| ControlFlow::Continue(());
    database
        .begin_read()
        .unwrap()
        .copy_dense(at("dense"), dense)
        .unwrap();
    let restoring = &mut |_: teak::RestoreProgress| ControlFlow::Continue(());
    let mut exact = File::open(at("exact")).unwrap();
    teak::restore(&mut exact, &mut [], &[], at("restored"), restoring).unwrap();
    let (options, keep_on) = (CompactOptions::new(), &mut |_: teak::CompactProgress| {
        ControlFlow::Continue(())
    });
    database.compact(&options, keep_on).unwrap();
    assert_typed(&database.begin_read().unwrap());
    database.close().unwrap();
    teak::salvage(&path, at("saved"), &[], &mut |_| ControlFlow::Continue(())).unwrap();
    for name in ["dense", "restored", "saved"] {
        let copy = Database::open(at(name)).unwrap();
        assert_typed(&copy.begin_read().unwrap());
    }
}

/// A codec with a name of 256 bytes.
struct LongName;

impl Codec for LongName {
    type Item<'a> = u8;
    type Owned = u8;
    const ORDER: CodecOrder = CodecOrder::Bytes;

    fn name() -> Cow<'static, str> {
        "n".repeat(256).into()
    }

    fn decode(bytes: &[u8]) -> Result<u8> {
        u8::decode(bytes)
    }

    fn to_owned(item: u8) -> u8 {
        item
    }
}

impl EncodeAs<LongName> for u8 {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok([*self])
    }
}

#[test]
fn names_that_are_too_long_are_refused() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let is_invalid = |error| matches!(error, Err(Error::InvalidArgument(_)));
    assert!(is_invalid(txn.create_table::<LongName, u8>("t").map(drop)));
    let longest = "n".repeat(255);
    txn.create_table::<Raw, Raw>("t").unwrap();
    let types = TableTypes::new(&longest, &longest);
    txn.set_table_types("t", &types).unwrap();
    assert_eq!(txn.tables().unwrap()[0].types, types);
    let types = TableTypes::new("", "n".repeat(256));
    assert!(is_invalid(txn.set_table_types("t", &types)));
    // The name of the table takes the room.
    let longest = "t".repeat(database.info().max_key_len);
    assert!(is_invalid(txn.rename_table("t", &longest)));
    assert!(is_invalid(txn.create_table::<u8, u8>(&longest).map(drop)));
    txn.create_table::<Raw, Raw>(&longest).unwrap();
    assert!(is_invalid(
        txn.set_table_types(&longest, &TableTypes::new("u8", ""))
    ));
    txn.commit().unwrap();
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_clean(), "{report:#?}");
}

#[test]
fn a_definition_has_the_options_of_its_table() {
    let (_directory, path) = temporary_path();
    let database = database(&path);
    let mut txn = database.begin_write().unwrap();
    let counted = NAMES.open(&txn).unwrap().options(&txn).unwrap();
    assert!(counted.counted && counted.is_multi());
    let other = TableOptions::new()
        .order(KeyOrder::ReverseBytes)
        .value_align(8);
    let Err(error) = AGES.options(other).create(&mut txn).map(drop) else {
        panic!("other options were accepted");
    };
    let text = error.to_string();
    // `u64` is not the order here: the options are compared after the codecs.
    assert!(text.contains("ReverseBytes"), "{text}");
    let values = TableOptions::new().value_order(KeyOrder::Bytes);
    let refused = AGES.options(values).create(&mut txn).map(drop);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let raw = TableDef::<Raw, Raw>::from_bytes(b"\xff").options(other);
    raw.create(&mut txn).unwrap();
    let Err(error) = raw.options(TableOptions::new()).create(&mut txn).map(drop) else {
        panic!("other options were accepted");
    };
    let text = error.to_string();
    let expected = "keys in the order ReverseBytes, values aligned to 8 bytes, not keys in the \
                    order Bytes, values aligned to 1 bytes;";
    assert!(text.contains(expected), "{text}");
}
