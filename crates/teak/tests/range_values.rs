//! Ranges as values: types of bounds, both kinds of tables, one range in several transactions.

use crate::shared::temporary_path;
use std::{
    borrow::Cow,
    ops::Bound::{self, Excluded, Included, Unbounded},
};
use teak::{
    Database, Difference, Error, KeyOrder, Kind, MultiTableDef, Range, ReadTxn, Result, Table,
    TableDef, TableOptions, Transaction,
    codec::{Bytes, Codec, CodecOrder, EncodeAs, Small, Str},
};

/// The keys of a range, as bytes.
fn keys<K: Codec, V: Codec>(range: &Range<'_, K, V>, txn: &impl Transaction) -> Vec<K::Owned> {
    range.keys(txn).unwrap().map(Result::unwrap).collect()
}

#[test]
fn bounds_have_any_type_that_the_codec_encodes() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let words: Table<Str, ()> = txn.create_table("words").unwrap();
    for word in ["ash", "elm", "oak"] {
        words.insert(&mut txn, word, ()).unwrap();
    }
    let elm = "elm".to_owned();
    assert_eq!(keys(&words.range("b".."f"), &txn), ["elm"]);
    assert_eq!(keys(&words.range("elm".to_owned()..), &txn), ["elm", "oak"]);
    assert_eq!(keys(&words.range(..&elm), &txn), ["ash"]);
    assert_eq!(keys(&words.range(..=&&elm[..]), &txn), ["ash", "elm"]);
    assert_eq!(
        keys(&words.range((Excluded("ash"), Unbounded)), &txn),
        ["elm", "oak"]
    );
    assert_eq!(keys(&words.range(..), &txn).len(), 3);
    assert_eq!(keys(&words.prefix(b"e"), &txn), ["elm"]);

    let blobs: Table<Bytes, ()> = txn.create_table("blobs").unwrap();
    for key in [b"a", b"b", b"c"] {
        blobs.insert(&mut txn, key, ()).unwrap();
    }
    assert_eq!(keys(&blobs.range(b"a"..b"c"), &txn), [b"a", b"b"]);
    assert_eq!(keys(&blobs.range(vec![b'b']..), &txn), [b"b", b"c"]);
    assert_eq!(keys(&blobs.range([b'b']..), &txn), [b"b", b"c"]);
    assert_eq!(keys(&blobs.range(..&b"ab"[..]), &txn), [b"a"]);

    let numbers: Table<u64, ()> = txn.create_table("numbers").unwrap();
    for number in 0..10 {
        numbers.insert(&mut txn, number, ()).unwrap();
    }
    let seven = 7;
    assert_eq!(keys(&numbers.range(5..=seven), &txn), [5, 6, 7]);
    assert_eq!(keys(&numbers.range(&8..), &txn), [8, 9]);

    let points: Table<(u32, Str), ()> = txn.create_table("points").unwrap();
    points.insert(&mut txn, (1, "b"), ()).unwrap();
    points.insert(&mut txn, (2, "a"), ()).unwrap();
    assert_eq!(points.range((1, "c")..).count(&txn).unwrap(), 1);
    assert_eq!(
        points
            .range((1, String::new())..=(2, elm))
            .count(&txn)
            .unwrap(),
        2
    );

    let triples: Table<(u8, i32, [u8; 2]), f64> = txn.create_table("triples").unwrap();
    triples.insert(&mut txn, (1, -3, [0, 1]), 0.5).unwrap();
    assert_eq!(triples.range((1, -4, [9, 9])..).count(&txn).unwrap(), 1);
    let floats: Table<f64, ((), u16)> = txn.create_table("floats").unwrap();
    floats.insert(&mut txn, -0.5, ((), 7)).unwrap();
    assert_eq!(floats.range(-1.0..0.0).count(&txn).unwrap(), 1);
}

/// Years that are encoded as two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Year(u16);

struct YearCodec;

impl Codec for YearCodec {
    type Item<'a> = Year;
    type Owned = Year;
    const ORDER: CodecOrder = u16::ORDER;

    fn name() -> Cow<'static, str> {
        "tests.year".into()
    }

    fn decode(bytes: &[u8]) -> Result<Year> {
        u16::decode(bytes).map(Year)
    }

    fn to_owned(item: Year) -> Year {
        item
    }
}

impl EncodeAs<YearCodec> for Year {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok(self.0.to_be_bytes())
    }
}

#[test]
fn keys_of_a_codec_of_the_application_bound_ranges() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let years = txn
        .create_multi_table::<YearCodec, YearCodec>("years")
        .unwrap();
    years
        .insert_many(
            &mut txn,
            &[(Year(1), Year(2)), (Year(1), Year(9)), (Year(4), Year(5))],
        )
        .unwrap();
    assert_eq!(years.range(Year(2)..).count(&txn).unwrap(), 1);
    assert_eq!(years.range(&Year(0)..=&Year(1)).count(&txn).unwrap(), 2);
    let range = years.range_pairs((Year(1), Year(3))..(Year(4), Year(5)));
    assert_eq!(range.count(&txn).unwrap(), 1);
}

/// The first and the last key of a table of any kind.
fn ends<M: Kind>(table: &Table<Str, u32, M>, txn: &ReadTxn) -> [Option<Small<str>>; 2] {
    let (first, last) = (table.first(txn).unwrap(), table.last(txn).unwrap());
    [first.map(|record| record.0), last.map(|record| record.0)]
}

#[test]
fn both_kinds_have_the_same_operations() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let counts = txn.create_table::<Str, u32>("counts").unwrap();
    let lines = txn.create_multi_table::<Str, u32>("lines").unwrap();
    txn.commit().unwrap();
    let mut feed = database.follow(database.begin_read().unwrap()).unwrap();
    let mut txn = database.begin_write().unwrap();
    let records = [("elder", 2), ("elm", 3), ("elm", 1), ("oak", 7)];
    assert_eq!(counts.insert_many(&mut txn, &records).unwrap(), 3);
    assert_eq!(lines.insert_many(&mut txn, &records).unwrap(), 4);
    txn.commit().unwrap();

    let changes = feed
        .next(Some(std::time::Duration::ZERO))
        .unwrap()
        .expect("there was a commit");
    let new = |value: u32, key: &str| Difference::Inserted {
        key: key.into(),
        value,
    };
    let of_counts: Vec<_> = changes.of(&counts).unwrap().map(Result::unwrap).collect();
    assert_eq!(of_counts, [new(2, "elder"), new(1, "elm"), new(7, "oak")]);
    let of_lines: Vec<_> = changes.of(&lines).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        of_lines,
        [new(2, "elder"), new(1, "elm"), new(3, "elm"), new(7, "oak")]
    );

    let txn = database.begin_read().unwrap();
    let expected = [Some("elder".into()), Some("oak".into())];
    assert_eq!(
        (ends(&counts, &txn), ends(&lines, &txn)),
        (expected.clone(), expected)
    );
    assert!(counts.contains_key(&txn, "elm").unwrap() && !lines.contains_key(&txn, "el").unwrap());
    assert_eq!(counts.prefix(b"el").count(&txn).unwrap(), 2);
    assert_eq!(lines.prefix(b"el").count(&txn).unwrap(), 3);
    let reversed: Vec<_> = lines
        .prefix(b"el")
        .rev(&txn)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let reversed: Vec<_> = reversed
        .iter()
        .map(|(key, value)| (&key[..], *value))
        .collect();
    assert_eq!(reversed, [("elm", 3), ("elm", 1), ("elder", 2)]);
    let values = |range: Range<'_, Str, u32, _>| -> Vec<u32> {
        range
            .values(&txn)
            .unwrap()
            .rev()
            .map(Result::unwrap)
            .collect()
    };
    assert_eq!(values(lines.range("elm"..)), [7, 3, 1]);
    let of_counts: Result<Vec<_>> = counts.range("elm"..).values(&txn).unwrap().collect();
    assert_eq!(of_counts.unwrap(), [1, 7]);
    assert_eq!(counts.range(..).owned(&txn).unwrap().rev().count(), 3);
    let owned: Vec<_> = lines
        .range(..="elm")
        .owned(&txn)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(owned.last(), Some(&("elm".into(), 3)));
    let plain = txn.open_table::<Str, u32>("lines").unwrap_err();
    assert!(matches!(plain, Error::TableMismatch { .. }));
}

#[test]
fn keys_of_pairs_come_with_the_number_of_their_values_from_both_ends() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let lines = txn.create_multi_table::<u32, u32>("lines").unwrap();
    for key in 0..100 {
        let values: Vec<_> = (0..1 + key % 3 * 400).collect();
        lines.insert_values(&mut txn, key, &values).unwrap();
    }
    let count = |key: u32| (key, u64::from(1 + key % 3 * 400));
    let range = lines.range(10..90);
    let keys: Vec<_> = range.keys(&txn).unwrap().map(Result::unwrap).collect();
    assert!(keys.iter().copied().eq((10..90).map(count)));
    let mut both = range.keys(&txn).unwrap();
    let (mut low, mut high) = (10, 89);
    while let Some(key) = both.next() {
        assert_eq!(key.unwrap(), count(low));
        assert_eq!(both.next_back().unwrap().unwrap(), count(high));
        (low, high) = (low + 1, high - 1);
    }
    assert_eq!((low, high), (50, 49));
    let keys = |range: Range<'_, u32, u32, _>| -> Vec<(u32, u64)> {
        range.keys(&txn).unwrap().map(Result::unwrap).collect()
    };
    let pairs = (Excluded((3, 0)), Included((5, 0)));
    assert_eq!(
        keys(lines.range_pairs(pairs)),
        [count(3), count(4), count(5)]
    );
}

/// The differences in a range are those of all differences that lie in it.
#[test]
fn differences_of_pairs_in_a_range() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut txn = database.begin_write().unwrap();
    let lines = txn.create_multi_table::<u16, u32>("lines").unwrap();
    // The values of some keys have trees of their own.
    let pair = |random: &mut fastrand::Rng| {
        let key = random.u16(..20);
        (
            key,
            random.u32(..if key.is_multiple_of(5) { 3000 } else { 30 }),
        )
    };
    for _ in 0..6000 {
        let (key, value) = pair(&mut random);
        lines.insert(&mut txn, key, value).unwrap();
    }
    txn.commit().unwrap();
    let older = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    for _ in 0..600 {
        let (key, value) = pair(&mut random);
        match random.bool() {
            true => drop(lines.insert(&mut txn, key, value).unwrap()),
            false => drop(lines.remove(&mut txn, key, value).unwrap()),
        }
    }
    txn.commit().unwrap();
    let newer = database.begin_read().unwrap();
    let all: Vec<_> = lines
        .differences(&older, &newer)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let pair_of = |difference: &Difference<u16, u32>| {
        let value = difference.old_value().or(difference.new_value());
        (*difference.key(), *value.unwrap())
    };
    for _ in 0..200 {
        let mut bound = || -> Bound<(u16, u32)> {
            match random.u8(..5) {
                0 => Unbounded,
                1 | 2 => Included(pair(&mut random)),
                _ => Excluded(pair(&mut random)),
            }
        };
        let bounds = (bound(), bound());
        let is_in = |difference: &&Difference<u16, u32>| {
            std::ops::RangeBounds::<(u16, u32)>::contains(&bounds, &pair_of(difference))
        };
        let expected: Vec<_> = all.iter().filter(is_in).cloned().collect();
        let found = lines
            .range_pairs(bounds)
            .differences(&older, &newer)
            .unwrap();
        let found: Vec<_> = found.map(Result::unwrap).collect();
        assert!(found == expected, "{bounds:?}");
        let of_keys = bounds.0.map(|(key, _)| key);
        let found = lines
            .range((of_keys, Unbounded))
            .differences(&older, &newer)
            .unwrap();
        let is_in = |difference: &&Difference<u16, u32>| {
            std::ops::RangeBounds::<u16>::contains(&(of_keys, Unbounded), difference.key())
        };
        assert_eq!(found.count(), all.iter().filter(is_in).count());
    }
}

/// Copying, moving and removing a range of pairs, which begins and ends among the values of keys.
#[test]
fn ranges_of_pairs_are_copied_moved_and_removed() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let from = txn.create_multi_table::<u32, u32>("from").unwrap();
    let to = txn.create_multi_table::<u32, u32>("to").unwrap();
    for key in 0..10 {
        from.insert_values(&mut txn, key, &(0..1000).collect::<Vec<_>>())
            .unwrap();
    }
    let range = from.range_pairs((2, 300)..(7, 100));
    assert_eq!(range.count(&txn).unwrap(), 4800);
    assert_eq!(range.copy_to(&mut txn, &to).unwrap(), 4800);
    let copied = to.iter(&txn).unwrap().map(Result::unwrap);
    assert!(copied.eq(range.iter(&txn).unwrap().map(Result::unwrap)));
    for part in range.split(&txn, 3).unwrap() {
        assert!(part.count(&txn).unwrap() > 500);
    }
    assert_eq!(range.move_to(&mut txn, &to).unwrap(), 4800);
    assert_eq!(
        (from.len(&txn).unwrap(), to.len(&txn).unwrap()),
        (5200, 4800)
    );
    assert_eq!(range.remove(&mut txn).unwrap(), 0);
    assert_eq!(
        to.range_pairs((4, 999)..=(5, 0)).remove(&mut txn).unwrap(),
        2
    );
}

/// The parts of a range return each key once, if no key is in two parts.
#[test]
fn parts_between_keys_return_each_key_once() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    for is_counted in [false, true] {
        let options = TableOptions::new().counted(is_counted);
        let name = if is_counted { "counted" } else { "other" };
        let lines = MultiTableDef::<u32, u32>::new(name)
            .options(options)
            .create(&mut txn)
            .unwrap();
        // Keys with one value, a few, and many.
        for (key, count) in [(1, 1), (2, 5), (3, 8000), (4, 8000), (5, 1), (6, 5)] {
            lines
                .insert_values(&mut txn, key, &(0..count).collect::<Vec<_>>())
                .unwrap();
        }
        for (range, parts) in [
            (lines.range(3..5), 2),
            (lines.range(1..=2), 2),
            (lines.range(2..3), 5),
            (lines.range(..), 2),
            (lines.range(..), 7),
        ] {
            let parts = range.split(&txn, parts).unwrap();
            assert!(parts.len() > 1);
            let is_cut = |part: &Range<'_, _, _, _>| matches!(part.low(), Included((_, Some(_))));
            let cut_count = parts.iter().filter(|part| is_cut(part)).count();
            let keys = |range: &Range<'_, u32, u32, _>| -> Vec<_> {
                range.keys(&txn).unwrap().map(Result::unwrap).collect()
            };
            let mut of_parts: Vec<_> = parts.iter().flat_map(keys).collect();
            let all = keys(&range);
            assert_eq!(of_parts.len(), all.len() + cut_count, "{range:?}");
            of_parts.dedup();
            assert_eq!(of_parts, all);
        }
    }
    let lines = txn.open_multi_table::<u32, u32>("counted").unwrap();
    let parts = lines.range(3..5).split(&txn, 2).unwrap();
    assert_eq!(parts[1].low(), Included((&4u32.to_be_bytes()[..], None)));
}

#[test]
fn encoded_bounds_have_values_only_in_multi_value_tables() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("table").unwrap();
    table.insert(&mut txn, b"a", b"b").unwrap();
    let key = Included((&b"a"[..], None));
    assert_eq!(table.range_encoded(key, key).count(&txn).unwrap(), 1);
    let range = table.range_encoded(Included((b"a", Some(b"b"))), Unbounded);
    let is_refused = |result: Result<()>| matches!(result, Err(Error::TableMismatch { .. }));
    assert!(is_refused(range.iter(&txn).map(drop)));
    assert!(is_refused(range.keys(&txn).map(drop)));
    assert!(is_refused(range.count(&txn).map(drop)));
    assert!(is_refused(range.split(&txn, 2).map(drop)));
    assert!(is_refused(range.remove(&mut txn).map(drop)));
}

#[test]
fn an_empty_range_of_pairs_has_no_keys() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let lines = txn.create_multi_table::<Str, u32>("lines").unwrap();
    lines
        .insert_many(&mut txn, &[("oak", 1), ("oak", 3), ("oak", 5)])
        .unwrap();
    let count = |range: Range<'_, _, _, _>| range.keys(&txn).unwrap().count();
    assert_eq!(count(lines.range_pairs(("oak", 5)..("oak", 2))), 0);
    assert_eq!(count(lines.range_pairs(("oak", 3)..("oak", 3))), 0);
    assert_eq!(count(lines.range_pairs(("oak", 3)..=("oak", 3))), 1);
    assert_eq!(count(lines.range_pairs(("oak", 2)..("oak", 5))), 1);
}

#[test]
fn a_range_reads_the_state_of_each_transaction() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let numbers = txn.create_table::<u64, ()>("numbers").unwrap();
    numbers.insert(&mut txn, 5, ()).unwrap();
    txn.commit().unwrap();
    let range = numbers.range(3..);
    let before = database.begin_read().unwrap();
    let mut txn = database.begin_write().unwrap();
    numbers.insert(&mut txn, 7, ()).unwrap();
    assert_eq!(
        (range.count(&before).unwrap(), range.count(&txn).unwrap()),
        (1, 2)
    );
    txn.drop_table("numbers").unwrap();
    assert!(matches!(range.iter(&txn), Err(Error::TableNotFound(_))));
}

#[test]
fn prefixes_are_refused_in_other_orders() {
    let (_directory, path) = temporary_path();
    let database = Database::open(path).unwrap();
    let mut txn = database.begin_write().unwrap();
    let options = TableOptions::new().order(KeyOrder::ReverseBytes);
    let table = TableDef::<Bytes, ()>::new("reverse")
        .options(options)
        .create(&mut txn)
        .unwrap();
    let other = txn.create_table::<Bytes, ()>("other").unwrap();
    let prefix = table.prefix(b"a");
    let is_refused = |result: Result<()>| matches!(result, Err(Error::InvalidArgument(_)));
    assert!(is_refused(prefix.iter(&txn).map(drop)));
    assert!(is_refused(prefix.keys(&txn).map(drop)));
    assert!(is_refused(prefix.count(&txn).map(drop)));
    assert!(is_refused(prefix.split(&txn, 2).map(drop)));
    assert!(is_refused(prefix.remove(&mut txn).map(drop)));
    assert!(is_refused(prefix.copy_to(&mut txn, &other).map(drop)));
}
