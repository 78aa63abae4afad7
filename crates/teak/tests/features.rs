//! Optional features: types of other crates as keys and values, spans, streams.
#![allow(missing_docs)]

#[path = "features/streams.rs"]
mod streams;
#[path = "features/tracing.rs"]
mod tracing;

use std::{collections::BTreeMap, fmt::Debug};
use teak::{
    Database, Error, Result, Table,
    codec::{Codec, EncodeAs, Json, KeyPart, Postcard, Raw, Str},
};

fn database() -> (tempfile::TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("x.teak")).unwrap();
    (directory, database)
}

/// Inserts keys in the reverse of their order, alone and before text in a tuple, and expects them
/// back in order.
fn assert_sorted<K>(keys: &[K])
where
    K: for<'a> KeyPart<Item<'a> = K, Part<'a> = K, Owned = K> + EncodeAs<K> + Copy + Ord + Debug,
{
    assert!(keys.is_sorted());
    let (_directory, database) = database();
    let mut txn = database.begin_write().unwrap();
    let alone: Table<K, ()> = txn.create_table("alone").unwrap();
    let first: Table<(K, Str), K> = txn.create_table("first").unwrap();
    for key in keys.iter().rev() {
        alone.insert(&mut txn, key, ()).unwrap();
        first.insert(&mut txn, (key, "x"), *key).unwrap();
    }
    let found: Result<Vec<K>> = alone.range(..).keys(&txn).unwrap().collect();
    assert_eq!(found.unwrap(), keys);
    let found: Result<Vec<K>> = first.range(..).values(&txn).unwrap().collect();
    assert_eq!(found.unwrap(), keys);
    for byte in 0..=255 {
        // Any bytes are decoded or refused.
        let _ = K::decode(&[byte; 12][..K::LEN.unwrap().min(12)]);
    }
    assert!(matches!(K::decode(&[255; 40]), Err(Error::Decode { .. })));
}

#[test]
fn uuids_sort_by_their_bytes() {
    assert_sorted(&[0, 1, 256, 1 << 120, u128::MAX].map(uuid::Uuid::from_u128));
}

#[test]
fn instants_of_jiff_sort_by_time() {
    use jiff::{Timestamp, civil};
    let instants = [
        i128::from(i64::MIN),
        -1_000_000_001,
        -1_000_000_000,
        -1,
        0,
        1,
        1 << 60,
    ];
    let instants = instants.map(|instant| Timestamp::from_nanosecond(instant).unwrap());
    assert_sorted(&[&[Timestamp::MIN][..], &instants, &[Timestamp::MAX]].concat());
    let dates = [
        civil::Date::MIN,
        civil::date(-1, 12, 31),
        civil::date(2024, 2, 29),
    ];
    assert_sorted(&[&dates[..], &[civil::Date::MAX]].concat());
    assert_sorted(&[
        civil::Time::MIN,
        civil::time(11, 59, 59, 999_999_999),
        civil::Time::MAX,
    ]);
    let instants = dates.map(|date| date.to_datetime(civil::time(1, 2, 3, 4)));
    assert_sorted(
        &[
            &[civil::DateTime::MIN][..],
            &instants,
            &[civil::DateTime::MAX],
        ]
        .concat(),
    );
}

#[test]
fn instants_of_chrono_sort_by_time() {
    use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _, Utc};
    let instant = |seconds, nanoseconds| DateTime::from_timestamp(seconds, nanoseconds).unwrap();
    let instants = [
        instant(-2, 999_999_999),
        instant(-1, 0),
        instant(0, 1),
        instant(59, 1_500_000_000),
    ];
    let ends = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    assert_sorted(&[&[ends.0][..], &instants, &[ends.1]].concat());
    let instants = instants.map(|instant| instant.naive_utc());
    assert_sorted(&[&[NaiveDateTime::MIN][..], &instants, &[NaiveDateTime::MAX]].concat());
    let date = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    assert_sorted(&[NaiveDate::MIN, date, NaiveDate::MAX]);
    let time = NaiveTime::from_hms_opt(23, 59, 59).unwrap();
    assert_sorted(&[NaiveTime::MIN, time]);

    // Such a time can be made and not be restored, so it is not stored either.
    let database = Database::in_memory().unwrap();
    let mut txn = database.begin_write().unwrap();
    let times = txn.create_table::<NaiveTime, ()>("times").unwrap();
    let odd = |second| {
        let time = NaiveTime::from_hms_opt(12, 0, second).unwrap();
        time.with_nanosecond(1_500_000_000).unwrap()
    };
    let refused = times.insert(&mut txn, odd(30), ());
    assert!(matches!(refused, Err(Error::Encode { .. })));
    times.insert(&mut txn, odd(59), ()).unwrap();
    assert_eq!(times.first(&txn).unwrap(), Some((odd(59), ())));
}

#[test]
fn shared_bytes_are_bytes() -> Result<()> {
    let (_directory, database) = database();
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<bytes::Bytes, bytes::Bytes>("t")?;
    let bytes = bytes::Bytes::from_static(b"abc");
    table.insert(&mut txn, &bytes, b"value")?;
    let (key, value) = table.first(&txn)?.unwrap();
    assert_eq!((key, value), (bytes.clone(), &b"value"[..]));
    let raw = table.cast::<Raw, Vec<u8>>();
    raw.insert(&mut txn, &bytes, bytes.clone())?;
    assert_eq!(bytes::Bytes::name(), Vec::<u8>::name());
    Ok(())
}

#[test]
fn values_have_formats_of_serde() -> Result<()> {
    let (_directory, database) = database();
    let mut txn = database.begin_write()?;
    let value = BTreeMap::from([("a".to_owned(), vec![1u8, 2]), ("b".to_owned(), vec![])]);
    let json = txn.create_table::<u8, Json<BTreeMap<String, Vec<u8>>>>("json")?;
    json.insert(&mut txn, 1, Json(&value))?;
    let owned = Json(value.clone());
    json.insert(&mut txn, 2, &owned)?;
    assert_eq!(json.get(&txn, 2)?, json.get(&txn, 1)?);
    let raw = json.cast::<u8, Raw>();
    assert_eq!(raw.get(&txn, 1)?, Some(&br#"{"a":[1,2],"b":[]}"#[..]));
    raw.insert(&mut txn, 1, b"{")?;
    assert!(matches!(json.get(&txn, 1), Err(Error::Decode { expected, .. }) if expected == "json"));

    let postcard = txn.create_table::<u8, Postcard<BTreeMap<String, Vec<u8>>>>("postcard")?;
    postcard.insert(&mut txn, 1, Postcard(&value))?;
    assert_eq!(postcard.get(&txn, 1)?, Some(Postcard(value)));
    let raw = postcard.cast::<u8, Raw>();
    raw.insert(&mut txn, 1, [200])?;
    assert!(matches!(postcard.get(&txn, 1), Err(Error::Decode { .. })));
    let keys = txn.create_table::<Json<u8>, ()>("keys");
    assert!(matches!(keys, Err(Error::InvalidArgument(_))));
    Ok(())
}

#[test]
fn a_value_that_serde_refuses_is_an_error() -> Result<()> {
    let (_directory, database) = database();
    let mut txn = database.begin_write()?;
    let table = txn.create_table::<u8, Json<BTreeMap<(u8, u8), u8>>>("t")?;
    let inserted = table.insert(&mut txn, 1, Json(BTreeMap::from([((1, 2), 3)])));
    assert!(
        matches!(inserted, Err(Error::Encode { .. })),
        "{inserted:?}"
    );
    Ok(())
}
