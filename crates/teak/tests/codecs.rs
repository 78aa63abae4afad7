//! Types of keys and values: what can be given for them, and tables whose order does not fit.

use crate::shared::temporary_path;
use std::{borrow::Cow, cmp::Ordering, sync::Arc};
use teak::{
    Comparison, Database, Error, KeyOrder, MultiTable, MultiTableDef, Options, Result, Table,
    TableDef, TableOptions, TableTypes, Transaction, WriteTxn,
    codec::{Codec, CodecOrder, EncodeAs, NativeI32, NativeU64, Raw, Str},
};

#[test]
fn keys_and_values_are_given_by_value_or_borrowed() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let words = txn.create_table::<&str, Vec<u8>>("words")?;
    let (key, value) = ("oak".to_owned(), vec![1, 2]);
    words.insert(&mut txn, &key, &value)?;
    words.insert(&mut txn, &key[..], &value[..])?;
    words.insert(&mut txn, key.clone(), value.clone())?;
    words.insert(&mut txn, Cow::Borrowed("ash"), b"text")?;
    words.insert(&mut txn, Arc::<str>::from("elm"), [7])?;
    words.insert(&mut txn, "fir", "text")?;
    let guard = words.get(&txn, &key)?.map(<[u8]>::to_vec);
    assert_eq!(guard, Some(value));
    assert_eq!(
        words.get_many(&txn, &["ash", "yew"])?,
        [Some(&b"text"[..]), None]
    );

    let numbers = txn.create_table::<u64, Option<(String, i32)>>("numbers")?;
    let number = 7;
    numbers.insert(&mut txn, number, None::<(&str, i32)>)?;
    numbers.insert(&mut txn, 8, Some((&key, -1)))?;
    assert_eq!(numbers.get(&txn, 7)?, Some(None));
    assert_eq!(numbers.get(&txn, 8)?, Some(Some(("oak".into(), -1))));
    Ok(())
}

/// A codec that refuses odd numbers.
struct Even;

impl Codec for Even {
    type Item<'a> = u8;
    type Owned = u8;
    const ORDER: CodecOrder = CodecOrder::Bytes;

    fn name() -> Cow<'static, str> {
        "tests.even".into()
    }

    fn decode(bytes: &[u8]) -> Result<u8> {
        u8::decode(bytes)
    }

    fn to_owned(item: u8) -> u8 {
        item
    }
}

impl EncodeAs<Even> for u8 {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        match self % 2 {
            0 => Ok([*self]),
            _ => Err(Error::Encode {
                expected: Even::name(),
                detail: format!("{self} is odd"),
            }),
        }
    }
}

fn is_encode<T: std::fmt::Debug>(result: Result<T>) -> bool {
    matches!(&result, Err(Error::Encode { detail, .. }) if detail == "3 is odd")
}

#[test]
fn an_item_that_cannot_be_encoded_is_an_error_everywhere() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<Even, Even>("even")?;
    table.insert(&mut txn, 2, 4)?;
    assert!(is_encode(table.insert(&mut txn, 3, 4)));
    assert!(is_encode(table.insert(&mut txn, 2, 3)));
    assert!(is_encode(table.insert_many(&mut txn, &[(2, 4), (4, 3)])));
    assert!(is_encode(table.get(&txn, 3)));
    assert!(is_encode(table.get_many(&txn, &[2, 3, 2])));
    assert!(is_encode(table.contains_key(&txn, 3)));
    assert!(is_encode(table.remove_many(&mut txn, &[2, 3])));
    assert!(is_encode(table.entry(&mut txn, 3)));
    assert!(is_encode(table.entry(&mut txn, 2)?.insert(3)));
    assert!(is_encode(table.entry(&mut txn, 2)?.and_modify(|_| 3)));
    assert!(is_encode(table.entry(&mut txn, 6)?.or_insert(3)));
    assert!(is_encode(table.compare_and_swap(
        &mut txn,
        2,
        Some(3),
        Some(4)
    )));
    for range in [table.range(3..), table.range(..3), table.range(2..=3)] {
        assert!(is_encode(range.iter(&txn).map(drop)));
        assert!(is_encode(range.clone().count(&txn)));
        assert!(is_encode(range.remove(&mut txn)));
        assert!(is_encode(range.split(&txn, 2).map(drop)));
    }
    let unsorted = table.bulk_load_unsorted(&mut txn, [(6, 3)], Default::default(), &mut |_| ());
    assert!(is_encode(unsorted));
    assert_eq!(table.iter(&txn)?.collect::<Result<Vec<_>>>()?, [(2, 4)]);
    let pairs = txn.create_multi_table::<Even, Even>("pairs")?;
    pairs.insert(&mut txn, 2, 4)?;
    assert!(is_encode(pairs.insert_values(&mut txn, 2, &[2, 3])));
    assert!(is_encode(pairs.range_pairs((2, 3)..).count(&txn)));
    let put = pairs.modify(&mut txn, 2, 4, |_| Ok((teak::Action::put(3), ())));
    assert!(is_encode(put));
    assert_eq!(pairs.len(&txn)?, 1);
    txn.commit()?;
    let mut txn = database.begin_write()?;
    assert!(is_encode(table.bulk_load(&mut txn, [(6, 8), (8, 3)])));
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    Ok(())
}

/// An error of an application.
#[derive(Debug)]
enum AppError {
    Teak,
    Source(u8),
}

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self::Teak
    }
}

#[test]
fn a_source_of_a_bulk_load_fails_with_its_own_error() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u8, &str>("t").unwrap();
    let records = || {
        [
            Ok((1, "a")),
            Ok((2, "b")),
            Err(AppError::Source(9)),
            Ok((3, "c")),
        ]
    };
    let unsorted = table.bulk_load_unsorted(&mut txn, records(), Default::default(), &mut |_| ());
    assert!(matches!(unsorted, Err(AppError::Source(9))));
    assert!(table.is_empty(&txn).unwrap());
    let loaded = table.bulk_load(&mut txn, records());
    assert!(matches!(loaded, Err(AppError::Source(9))), "{loaded:?}");
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    let not_sorted = [Ok((1, "a")), Ok((1, "b"))];
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u8, &str>("t").unwrap();
    let loaded: Result<u64, AppError> = table.bulk_load(&mut txn, not_sorted);
    assert!(matches!(loaded, Err(AppError::Teak)));
}

fn is_wrong_order<T: std::fmt::Debug>(result: Result<T>, advice: &str) {
    match &result {
        Err(Error::InvalidArgument(text)) if text.contains(advice) => {}
        _ => panic!("{result:?}"),
    }
}

#[test]
fn a_codec_that_does_not_sort_in_the_order_of_the_table_is_refused() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let integers = || TableOptions::new().order(KeyOrder::Integer);
    // A range of such a table would be wrong: 256 sorts before 1.
    let advice = "create the table in the order Integer";
    is_wrong_order(txn.create_table::<NativeU64, Str>("t"), advice);
    is_wrong_order(txn.create_multi_table::<NativeU64, Str>("t"), advice);
    is_wrong_order(txn.create_multi_table::<Str, NativeI32>("t"), advice);
    assert!(txn.tables()?.is_empty(), "nothing was created");
    let advice = "create the table in the order Bytes";
    is_wrong_order(
        TableDef::<u64, Str>::new("t")
            .options(integers())
            .create(&mut txn),
        advice,
    );
    is_wrong_order(
        TableDef::<(u8, Str), Str>::new("t")
            .options(integers())
            .create(&mut txn),
        advice,
    );
    let reverse = TableOptions::new().value_order(KeyOrder::ReverseBytes);
    is_wrong_order(
        MultiTableDef::<u64, u64>::new("t")
            .options(reverse)
            .create(&mut txn),
        advice,
    );

    let native: Table<NativeU64, NativeU64> = TableDef::new("native")
        .options(integers())
        .create(&mut txn)?;
    for number in [256, 1, 2] {
        native.insert(&mut txn, number, number)?;
    }
    assert_eq!(native.range(0..10).count(&txn)?, 2);
    txn.create_table::<u64, NativeU64>("plain")?;
    MultiTableDef::<u64, NativeU64>::new("multi")
        .options(TableOptions::new().value_order(KeyOrder::Integer))
        .create(&mut txn)?;
    txn.commit()?;

    let txn = database.begin_read()?;
    is_wrong_order(
        txn.open_table::<NativeU64, Raw>("plain"),
        "in the order Integer",
    );
    is_wrong_order(txn.open_table::<u64, Raw>("native"), "such as NativeU64");
    is_wrong_order(
        txn.open_multi_table::<u64, u64>("multi"),
        "the values of table \"multi\"",
    );
    is_wrong_order(
        MultiTableDef::<u64, u64>::new("multi").open_without_order_check(&txn),
        "values",
    );
    txn.open_multi_table::<u64, NativeU64>("multi")?;
    // Raw bytes and text have the order of the table.
    txn.open_table::<Raw, Raw>("native")?;
    txn.open_table::<NativeU64, Raw>("native")?;
    Ok(())
}

static DESCENDING: Comparison = Comparison::new("tests.descending", &|a, b| b.cmp(a));

/// A codec whose encodings do not sort as its items.
struct Scrambled;

impl Codec for Scrambled {
    type Item<'a> = u64;
    type Owned = u64;
    const ORDER: CodecOrder = CodecOrder::Unordered;

    fn name() -> Cow<'static, str> {
        "tests.scrambled".into()
    }

    fn decode(bytes: &[u8]) -> Result<u64> {
        u64::decode(bytes).map(u64::swap_bytes)
    }

    fn to_owned(item: u64) -> u64 {
        item
    }
}

impl EncodeAs<Scrambled> for u64 {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.to_le_bytes())
    }
}

#[test]
fn a_codec_without_an_order_is_for_values_and_comparisons_of_the_application() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Options::new().comparison(&DESCENDING).open(path)?;
    let mut txn = database.begin_write()?;
    let advice = "tables in which a key has one value";
    is_wrong_order(txn.create_table::<Scrambled, Str>("keys"), advice);
    is_wrong_order(txn.create_table::<(u8, Scrambled), Str>("keys"), advice);
    is_wrong_order(txn.create_multi_table::<Str, Scrambled>("pairs"), advice);
    let values = txn.create_table::<u8, Scrambled>("values")?;
    values.insert(&mut txn, 1, 700)?;
    assert_eq!(values.get(&txn, 1)?, Some(700));
    let custom = TableOptions::new().order(KeyOrder::Custom(&DESCENDING));
    let keys = TableDef::<NativeU64, Scrambled>::new("custom")
        .options(custom)
        .create(&mut txn)?;
    keys.insert(&mut txn, 1, 2)?;
    assert_eq!(keys.compare_keys(&txn, 1, 2)?, Ordering::Greater);
    let other = txn.open_table::<Scrambled, Scrambled>("custom");
    assert!(matches!(other, Err(Error::TableTypeMismatch { .. })));
    txn.set_table_types("custom", &TableTypes::default())?;
    txn.open_table::<Scrambled, Scrambled>("custom").map(drop)
}

/// Kinds of tables in generic code.
fn copy_all<K: Codec, V: Codec>(
    txn: &mut WriteTxn,
    from: &Table<K, V>,
    to: &MultiTable<K, V>,
) -> Result<()> {
    let keys: Vec<K::Owned> = from.range(..).keys(txn)?.collect::<Result<_>>()?;
    for key in keys {
        let value = from.get(txn, &key)?.map(V::to_owned);
        to.insert(txn, key, value.unwrap())?;
    }
    Ok(())
}

#[test]
fn generic_code_writes_the_items_that_it_reads() -> Result<()> {
    let (_directory, path) = temporary_path();
    let database = Database::open(path)?;
    let mut txn = database.begin_write()?;
    let from = txn.create_table::<(&str, u8), Option<Str>>("from")?;
    from.insert_many(&mut txn, &[(("a", 1), None), (("b\0", 2), Some("x"))])?;
    let to = txn.create_multi_table("to")?;
    copy_all(&mut txn, &from, &to)?;
    assert_eq!(to.first_value(&txn, ("b\0", 2))?, Some(Some("x".into())));
    Ok(())
}
