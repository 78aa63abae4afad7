//! Operations on single pairs and ranges of pairs, and with handles that own the transaction, in
//! tables in which a key has several values.

use crate::{detached_cursors::WITHOUT_CASE, shared::temporary_path};
use fastrand::Rng;
use std::{
    cmp::Ordering,
    collections::BTreeSet,
    ops::{Bound, ControlFlow},
};
use teak::{
    Action, BulkOptions, BulkProgress, Database, DetachedCursor, Difference, Error, KeyOrder,
    KeyStep, MultiTable, MultiTableDef, Options, Result, SeekOp, SeekTarget, TableOptions,
    ValueSize, WriteTxn, codec::Str,
};

type Raw = MultiTable<Vec<u8>, Vec<u8>>;
type Pair = (Vec<u8>, Vec<u8>);

fn open() -> (tempfile::TempDir, Database) {
    let (directory, path) = temporary_path();
    let options = Options::new().page_size(4096).comparison(&WITHOUT_CASE);
    (directory, options.open(path).unwrap())
}

fn all(table: &Raw, txn: &WriteTxn) -> Vec<Pair> {
    let pairs = table.iter(txn).unwrap();
    pairs.collect::<Result<_>>().unwrap()
}

/// Keys with one value, with a set, and with a nested tree.
fn some_pairs(seed: u64) -> BTreeSet<Pair> {
    let mut random = Rng::with_seed(seed);
    (0..12_000)
        .map(|_| {
            let key = random.u32(..200).pow(2) / 200;
            let value = random.u32(..5000);
            (key.to_be_bytes().to_vec(), value.to_be_bytes().to_vec())
        })
        .collect()
}

fn slices(pairs: &BTreeSet<Pair>) -> Vec<(&[u8], &[u8])> {
    pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect()
}

#[test]
fn ranges_of_pairs_are_copied_and_moved() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let from: Raw = txn.create_multi_table("from")?;
    let pairs = some_pairs(1);
    from.insert_many(&mut txn, &slices(&pairs))?;
    // More than is in memory at the same time.
    let long: Vec<_> = (0..2000_u32)
        .map(|n| [&n.to_be_bytes()[..], &[7; 1000]].concat())
        .collect();
    let long: Vec<_> = long.iter().map(Vec::as_slice).collect();
    from.insert_values(&mut txn, b"zz", &long)?;
    let before = all(&from, &txn);
    let options = TableOptions::new().value_order(KeyOrder::ReverseBytes);
    let copy: Raw = MultiTableDef::new("copy")
        .options(options)
        .create(&mut txn)?;
    assert_eq!(
        from.range(..).copy_to(&mut txn, &copy)?,
        before.len() as u64
    );
    assert_eq!(copy.len(&txn)?, before.len() as u64);
    let again = from.range(&b"z"[..]..).copy_to(&mut txn, &copy)?;
    assert_eq!((again, copy.len(&txn)?), (2000, before.len() as u64));

    let moved: Raw = txn.create_multi_table("moved")?;
    let (low, high) = (&50_u32.to_be_bytes()[..], &b"zz"[..]);
    let count = from
        .range((Bound::Excluded(low), Bound::Included(high)))
        .move_to(&mut txn, &moved)?;
    let (gone, left): (Vec<_>, Vec<_>) = before
        .into_iter()
        .partition(|(key, _)| &key[..] > low && &key[..] <= high);
    assert_eq!(count, gone.len() as u64);
    assert_eq!(all(&moved, &txn), gone);
    assert_eq!(all(&from, &txn), left);
    txn.commit()?;
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{report:?}");
    Ok(())
}

#[test]
fn a_refused_copy_changes_nothing() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let from: MultiTable<Str, Str> = txn.create_multi_table("from")?;
    from.insert_many(&mut txn, &[("a", "four"), ("b", "three")])?;
    let refused = from.range(..).copy_to(&mut txn, &from);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    let options = TableOptions::new().value_size(ValueSize::Bytes(4));
    let fixed: MultiTable<Str, Str> = MultiTableDef::new("fixed")
        .options(options)
        .create(&mut txn)?;
    let refused = from.range(..).move_to(&mut txn, &fixed);
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    assert_eq!((from.len(&txn)?, fixed.len(&txn)?), (2, 0));
    // A table that was dropped and recreated has another kind.
    txn.drop_table("fixed")?;
    txn.create_table::<Str, Str>("fixed")?;
    for range in ["".."z", "x".."z"] {
        let refused = from.range(range).copy_to(&mut txn, &fixed);
        assert!(matches!(refused, Err(Error::TableMismatch { .. })));
    }
    let refused = fixed.range(..).copy_to(&mut txn, &from);
    assert!(matches!(refused, Err(Error::TableMismatch { .. })));
    Ok(())
}

#[test]
fn pairs_are_loaded_in_any_order() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let table: Raw = txn.create_multi_table("some")?;
    let mut random = Rng::with_seed(3);
    let (first, second) = (some_pairs(2), some_pairs(3));
    let mut shuffled: Vec<_> = first.iter().chain(&first).cloned().collect();
    random.shuffle(&mut shuffled);
    // So little memory that files are merged.
    let options = || BulkOptions::new().memory_bytes(1 << 16);
    let mut has_built = false;
    let count = table.bulk_load_unsorted(&mut txn, shuffled, options(), &mut |progress| {
        has_built |= matches!(progress, BulkProgress::Building { .. });
    })?;
    assert!(has_built);
    assert_eq!(count, first.len() as u64);
    assert_eq!(all(&table, &txn), first.iter().cloned().collect::<Vec<_>>());
    let mut shuffled: Vec<_> = second.iter().cloned().collect();
    random.shuffle(&mut shuffled);
    let count = table.bulk_load_unsorted(&mut txn, shuffled, options(), &mut |_| ())?;
    assert_eq!(count, second.len() as u64);
    let both: BTreeSet<_> = first.union(&second).cloned().collect();
    assert_eq!(all(&table, &txn), both.into_iter().collect::<Vec<_>>());
    let long = [(&b"k"[..], vec![0; 5000])];
    let refused = table.bulk_load_unsorted(&mut txn, long, options(), &mut |_| ());
    assert!(matches!(refused, Err(Error::ValueTooLong { .. })));
    txn.commit()?;
    let report = database.check(&mut |_| ControlFlow::Continue(()))?;
    assert!(report.is_clean(), "{report:?}");
    Ok(())
}

#[test]
fn pairs_are_modified_and_swapped() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let table: MultiTable<Str, u32> = txn.create_multi_table("lines")?;
    let values = |txn: &WriteTxn| -> Vec<u32> {
        let values = table.values(txn, "teak").unwrap();
        values.collect::<Result<_>>().unwrap()
    };
    let double = |line: Option<u32>| Ok((Action::put(line.unwrap_or(1) * 2), line));
    assert_eq!(table.modify(&mut txn, "teak", 3, double)?, None);
    assert_eq!(table.modify(&mut txn, "teak", 2, double)?, Some(2));
    assert_eq!(values(&txn), [4]);
    table.insert(&mut txn, "teak", 2)?;
    assert_eq!(table.modify(&mut txn, "teak", 2, double)?, Some(2));
    assert_eq!(values(&txn), [4], "it has the new one already");
    table.modify(&mut txn, "teak", 4, |_| Ok((Action::leave(), ())))?;
    let refused = table.modify(&mut txn, "teak", 4, |_| {
        Err::<(Action<u32>, ()), _>(Error::TransactionBroken)
    });
    assert!(refused.is_err());
    assert_eq!(values(&txn), [4], "and the transaction continues");
    table.modify(&mut txn, "teak", 4, |_| Ok((Action::remove(), ())))?;
    table.modify(&mut txn, "teak", 4, |_| Ok((Action::remove(), ())))?;
    assert!(table.is_empty(&txn)?);

    assert!(table.compare_and_swap(&mut txn, "teak", None, Some(1))?);
    assert!(!table.compare_and_swap(&mut txn, "teak", None, Some(1))?);
    assert!(table.compare_and_swap(&mut txn, "teak", None, Some(5))?);
    assert!(!table.compare_and_swap(&mut txn, "teak", Some(1), Some(5))?);
    assert!(!table.compare_and_swap(&mut txn, "teak", Some(2), Some(3))?);
    assert!(table.compare_and_swap(&mut txn, "teak", Some(1), Some(2))?);
    assert!(table.compare_and_swap(&mut txn, "teak", Some(2), None)?);
    assert!(table.compare_and_swap(&mut txn, "teak", None::<u32>, None)?);
    assert_eq!(values(&txn), [5]);
    let next = |key, value| table.get_or_next(&txn, key, value);
    let teak = |exactness| Some((exactness, "teak".into(), 5));
    assert_eq!(next("teak", 5)?, teak(Ordering::Equal));
    assert_eq!(next("oak", 9)?, teak(Ordering::Greater));
    assert_eq!(next("teak", 6)?, None);
    Ok(())
}

/// An empty table whose first value decides the size of all accepts the result of `modify`,
/// whatever the requested size.
#[test]
fn the_first_value_decides_the_size() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let options = TableOptions::new().value_size(ValueSize::AsFirst);
    let table: Raw = MultiTableDef::new("some")
        .options(options)
        .create(&mut txn)?;
    table.modify(&mut txn, b"k", b"abc", |_| {
        Ok((Action::<Vec<u8>>::put(b"five!"), ()))
    })?;
    let refused = table.modify(&mut txn, b"k", b"five!", |_| {
        Ok((Action::<Vec<u8>>::put(b"four"), ()))
    });
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    assert!(!table.compare_and_swap(&mut txn, b"k", Some(&b"abc"[..]), Some(b"fives"))?);
    assert_eq!(all(&table, &txn), [(b"k".to_vec(), b"five!".to_vec())]);
    Ok(())
}

#[test]
fn owning_and_borrowing_handles_see_equal_records() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let table: Raw = txn.create_multi_table("some")?;
    let pairs = some_pairs(4);
    table.insert_many(&mut txn, &slices(&pairs))?;
    txn.commit()?;
    let reader = database.begin_read()?;
    let mut random = Rng::with_seed(5);
    for _ in 0..40 {
        let mut bound = || {
            let (key, value) = random.choice(&pairs).unwrap();
            let pair = (&key[..], &value[..]);
            match random.u32(..5) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(pair),
                _ => Bound::Excluded(pair),
            }
        };
        let range = (bound(), bound());
        let mut borrowed = table.range_pairs(range).iter(&reader)?;
        let mut owned = table.range_pairs(range).owned(&reader)?;
        loop {
            let (one, other) = match random.bool() {
                true => (borrowed.next(), owned.next()),
                false => (borrowed.next_back(), owned.next_back()),
            };
            assert_eq!(
                one.as_ref().map(|pair| pair.as_ref().unwrap()),
                other.as_ref().map(|pair| pair.as_ref().unwrap())
            );
            if one.is_none() {
                break;
            }
        }
        let (key, _) = random.choice(&pairs).unwrap();
        let expected: Vec<_> = table.values(&reader, key)?.collect::<Result<_>>()?;
        let owned = table.range(key..=key).owned(&reader)?;
        let mut owned = owned.map(|pair| pair.map(|(_, value)| value));
        let last = owned.next_back().transpose()?;
        assert_eq!(last.as_ref(), expected.last());
        let rest: Vec<_> = owned.by_ref().collect::<Result<_>>()?;
        assert_eq!(rest, expected[..expected.len() - 1]);
        assert!(owned.next_back().is_none());
    }
    let by_keys = table.range(&100_u32.to_be_bytes()[..]..).owned(&reader)?;
    let expected = table.range(&100_u32.to_be_bytes()[..]..).iter(&reader)?;
    assert!(by_keys.map(Result::unwrap).eq(expected.map(Result::unwrap)));
    same_walk(&table, &reader, &pairs, &mut random)
}

const OPS: [SeekOp; 5] = [
    SeekOp::Equal,
    SeekOp::GreaterOrEqual,
    SeekOp::Greater,
    SeekOp::LessOrEqual,
    SeekOp::Less,
];

/// A detached cursor moves like one that borrows the transaction.
fn same_walk(
    table: &Raw,
    reader: &teak::ReadTxn,
    pairs: &BTreeSet<Pair>,
    random: &mut Rng,
) -> Result<()> {
    let (mut one, mut other) = (table.cursor(reader)?, DetachedCursor::new(table));
    for _ in 0..5000 {
        let (key, mut value) = random.choice(pairs).unwrap().clone();
        value[3] ^= random.u8(..2);
        let kind = random.u32(..20);
        let moved = match kind {
            0 => (one.first()?, other.first(reader)?),
            1 => (one.last()?, other.last(reader)?),
            2..6 => (one.next()?, other.next(reader)?),
            6..9 => (one.prev()?, other.prev(reader)?),
            9 => (
                one.step(KeyStep::NextKey)?,
                other.step(reader, KeyStep::NextKey)?,
            ),
            10 => (
                one.step(KeyStep::PrevKey)?,
                other.step(reader, KeyStep::PrevKey)?,
            ),
            11 => (
                one.step(KeyStep::NextValue)?,
                other.step(reader, KeyStep::NextValue)?,
            ),
            12 => (
                one.step(KeyStep::PrevValue)?,
                other.step(reader, KeyStep::PrevValue)?,
            ),
            13 => (
                one.step(KeyStep::FirstValue)?,
                other.step(reader, KeyStep::FirstValue)?,
            ),
            14 => (
                one.step(KeyStep::LastValue)?,
                other.step(reader, KeyStep::LastValue)?,
            ),
            _ => {
                let target = match kind {
                    15 | 16 => SeekTarget::Key(&key),
                    17 | 18 => SeekTarget::Pair(&key, &value),
                    _ => SeekTarget::Value(&key, &value),
                };
                let op = random.choice(OPS).unwrap();
                let moved = (one.seek(op, target)?, other.seek(reader, op, target)?);
                if matches!(target, SeekTarget::Value(..)) && !moved.0 {
                    // One is on no record, and the other has not moved.
                    assert!(!one.is_on_record());
                    (one.first()?, other.first(reader)?)
                } else {
                    moved
                }
            }
        };
        assert_eq!(moved.0, moved.1);
        assert_eq!(one.is_on_record(), other.is_on_record(reader)?);
        let value = other.value(reader)?;
        assert_eq!((one.key(), one.value()?), (other.key(), &*value));
        assert_eq!(one.count(), other.count(reader)?);
    }
    Ok(())
}

/// Functions with a key or a pair refuse integers that the table cannot have, as documented.
#[test]
fn integers_of_another_width_are_refused_everywhere() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let options = TableOptions::new()
        .order(KeyOrder::Integer)
        .value_order(KeyOrder::Integer)
        .value_size(ValueSize::Bytes(8));
    let table: Raw = MultiTableDef::new("numbers")
        .options(options)
        .create(&mut txn)?;
    let (key, value) = (4_u32.to_le_bytes(), 8_u64.to_le_bytes());
    table.insert(&mut txn, key, value)?;
    let refused = [
        table.count(&txn, value).map(drop),
        table.contains_key(&txn, value).map(drop),
        table.contains(&txn, value, value).map(drop),
        table.contains(&txn, key, key).map(drop),
        table.value_stat(&txn, value).map(drop),
        table.get_or_next(&txn, key, key).map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    assert!(table.contains(&txn, key, value)?);
    Ok(())
}

/// Setting the existing values of a key is no change, even for a nested tree.
#[test]
fn setting_equal_values_writes_nothing() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let table: MultiTable<Str, u32> = txn.create_multi_table("lines")?;
    let many: Vec<u32> = (0..20_000).collect();
    table.set_values(&mut txn, "teak", &many)?;
    txn.commit()?;
    let mut txn = database.begin_write()?;
    assert_eq!(table.set_values(&mut txn, "teak", &many)?, 20_000);
    assert_eq!(txn.info().taken_pages, 0);
    let mut other = many.clone();
    other[19_999] += 1;
    assert_eq!(table.set_values(&mut txn, "teak", &other)?, 20_000);
    assert!(txn.info().taken_pages > 0);
    assert_eq!(table.last_value(&txn, "teak")?, Some(20_000));
    Ok(())
}

/// A value whose bytes have changed, but which compares as equal, is a difference, in any storage
/// form.
#[test]
fn different_bytes_of_an_equal_value_are_a_difference_in_nested_trees() -> Result<()> {
    let (_directory, database) = open();
    let mut txn = database.begin_write()?;
    let options = TableOptions::new().value_order(KeyOrder::Custom(&WITHOUT_CASE));
    let table: MultiTable<Str, Str> = MultiTableDef::new("words")
        .options(options)
        .create(&mut txn)?;
    let many: Vec<_> = (0..3000).map(|n| format!("w{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    table.insert_values(&mut txn, "many", &many)?;
    table.insert_values(&mut txn, "few", &["a", "b", "c"])?;
    txn.commit()?;
    let older = database.begin_read()?;
    let mut txn = database.begin_write()?;
    assert!(table.replace(&mut txn, "many", "w1500", "W1500")?);
    assert!(table.replace(&mut txn, "few", "b", "B")?);
    assert!(table.remove(&mut txn, "many", "w2000")?);
    txn.commit()?;
    let newer = database.begin_read()?;
    let expected = [
        ("few", "b", false),
        ("few", "B", true),
        ("many", "w1500", false),
        ("many", "W1500", true),
        ("many", "w2000", false),
    ];
    let expected = expected.map(|(key, value, is_new)| {
        let (key, value) = (key.into(), value.into());
        match is_new {
            true => Difference::Inserted { key, value },
            false => Difference::Removed { key, value },
        }
    });
    let found: Vec<_> = table.differences(&older, &newer)?.collect::<Result<_>>()?;
    assert_eq!(found, expected);
    Ok(())
}
