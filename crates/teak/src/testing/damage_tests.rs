//! Every page of a database is damaged in every way. Reads return the written data, or an error
//! that names the page.

use super::{Mutation, live_pages, mutate};
use crate::{
    Database, DetachedCursor, Error, KeyOrder, Options, PageNumber, PageUse, ReadTxn, Result,
    SeekOp, Table, TableDef, TableOptions, Transaction, Verification,
    testing::{self, SimDisk},
};
use std::{collections::BTreeMap, iter};

const PAGE: usize = 4096;
const CAPACITY: usize = 8 << 20;
const BOOT: [u8; 16] = [1; 16];
/// Tables without records, so that the catalog has several pages.
const EMPTY_TABLES: u32 = 70;

type Raw = Table<Vec<u8>, Vec<u8>>;
type Record = (Vec<u8>, Vec<u8>);

/// The records of each table, in the order of its keys.
type Content = BTreeMap<Vec<u8>, Vec<Record>>;

struct Rng(u64);

impl Rng {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }
}

/// Tables of all kinds, how many records each has, and how long its keys and values are.
fn tables() -> Vec<(&'static str, TableOptions, u32, usize, usize)> {
    let options = TableOptions::new();
    vec![
        ("plain", options, 200, 8, 100),
        ("deep", options.order(KeyOrder::ReverseBytes), 110, 700, 40),
        ("counted", options.counted(true), 90, 20, 120),
        ("integers", options.order(KeyOrder::Integer), 60, 8, 90),
        ("whole", options.share_prefixes(false), 60, 30, 90),
        ("large", options, 4, 8, 9_000),
    ]
}

fn key(number: u32, len: usize) -> Vec<u8> {
    let mut key = vec![b'k'; len];
    key[len - 4..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value(number: u32, round: u32, len: usize) -> Vec<u8> {
    let seed = number.wrapping_mul(31).wrapping_add(round.wrapping_mul(7));
    (0..len as u32)
        .map(|i| (seed.wrapping_add(i / 3)) as u8)
        .collect()
}

/// A closed database, and images of it at earlier times.
struct Sample {
    image: Vec<u8>,
    before: Vec<Vec<u8>>,
    content: Content,
    live: Vec<(PageNumber, PageUse)>,
}

impl Sample {
    fn new() -> Self {
        let disk = SimDisk::new(CAPACITY);
        let database = testing::open(&disk, &Options::new(), true, BOOT).unwrap();
        let mut before = Vec::new();
        for round in 0..5 {
            write_round(&database, round).unwrap();
            before.push(disk.process_crash());
        }
        database.close().unwrap();
        let image = disk.process_crash();
        let database = open(&image, Verification::Off, true).unwrap();
        Self {
            content: content(&database).unwrap(),
            live: live_pages(&database).unwrap(),
            image,
            before,
        }
    }

    /// Images with one damaged page each.
    fn for_each_damage(&self, mut inspect: impl FnMut(&[u8], PageNumber, PageUse, Mutation)) {
        let mut rng = Rng(1);
        let mut count = 0;
        for &(page, page_use) in &self.live {
            for mutation in Mutation::ALL {
                let mut image = self.image.clone();
                let mut choice = |count| rng.below(count);
                if mutate(&mut image, PAGE, page, mutation, &self.before, &mut choice) {
                    count += 1;
                    inspect(&image, page, page_use, mutation);
                }
            }
        }
        assert!(
            count > 5 * self.live.len(),
            "most mutations change a page: {count}"
        );
    }
}

/// Rewrites each table, so that its pages change. Keys have even numbers.
fn write_round(database: &Database, round: u32) -> Result<()> {
    let mut txn = database.begin_write()?;
    for (name, options, count, key_len, value_len) in tables() {
        let table = TableDef::<Vec<u8>, Vec<u8>>::new(name)
            .options(options)
            .create(&mut txn)?;
        for number in (0..2 * count).step_by(2) {
            let value = value(number, round, value_len);
            table.insert(&mut txn, key(number, key_len), &value)?;
        }
    }
    for number in 0..EMPTY_TABLES {
        txn.create_table::<Vec<u8>, Vec<u8>>(format!("without records {number:03}"))?;
    }
    txn.commit().map(drop)
}

fn open(image: &[u8], verification: Verification, is_read_only: bool) -> Result<Database> {
    let disk = SimDisk::from_image(image.to_vec(), CAPACITY);
    let options = Options::new()
        .verification(verification)
        .read_only(is_read_only);
    testing::open(&disk, &options, false, BOOT)
}

fn content(database: &Database) -> Result<Content> {
    let txn = database.begin_read()?;
    let mut content = Content::new();
    for info in txn.tables()? {
        let table: Raw = txn.open_table(&info.name)?;
        let records = table.iter(&txn)?.map(|record| {
            let (key, value) = record?;
            Ok((key, value.to_vec()))
        });
        content.insert(info.name, records.collect::<Result<_>>()?);
    }
    Ok(content)
}

/// Reads everything through all kinds of reads, and compares it with the expected contents.
/// Collects errors.
struct Reader<'c> {
    content: &'c Content,
    errors: Vec<Error>,
}

impl Reader<'_> {
    fn accept<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    fn read(&mut self, database: &Database) {
        let txn = database.begin_read().unwrap();
        if let Some(infos) = self.accept(txn.tables()) {
            let expected = self.content.iter().map(|(name, r)| (name, r.len() as u64));
            let found = infos.iter().map(|info| (&info.name, info.stat.records));
            assert!(expected.eq(found), "tables");
        }
        for (name, records) in self.content {
            if let Some(table) = self.accept(txn.open_table::<Vec<u8>, Vec<u8>>(name)) {
                self.lookups(&txn, &table, records);
                self.ranges(&txn, &table, records);
                self.cursors(&txn, &table, records);
                self.counts(&txn, &table, records);
                self.owned(&txn, &table, records);
            }
        }
    }

    fn lookups(&mut self, txn: &ReadTxn, table: &Raw, records: &[Record]) {
        if let Some(count) = self.accept(table.len(txn)) {
            assert_eq!(count, records.len() as u64);
        }
        for (key, value) in records {
            if let Some(found) = self.accept(table.get(txn, key)) {
                assert_eq!(found, Some(&value[..]), "get");
            }
            if let Some(found) = self.accept(table.contains_key(txn, key)) {
                assert!(found, "contains");
            }
            if let Some(found) = self.accept(table.get_owned(txn, key)) {
                assert_eq!(found.as_deref(), Some(&value[..]), "get_owned");
            }
        }
        for group in records.chunks(11) {
            let keys: Vec<_> = group.iter().map(|(key, _)| &key[..]).collect();
            if let Some(found) = self.accept(table.get_many(txn, &keys)) {
                let expected = group.iter().map(|(_, value)| Some(&value[..]));
                assert!(found.into_iter().eq(expected), "get_many");
            }
        }
    }

    /// Compares the items of an iterator up to its first error with the records.
    fn sequence<'r, V: AsRef<[u8]>>(
        &mut self,
        label: &str,
        found: Result<impl Iterator<Item = Result<(Vec<u8>, V)>>>,
        expected: impl Iterator<Item = &'r Record>,
    ) {
        let Some(mut found) = self.accept(found) else {
            return;
        };
        for (key, value) in expected {
            let record = found
                .next()
                .unwrap_or_else(|| panic!("{label} ends too early"));
            let Some(record) = self.accept(record) else {
                return;
            };
            assert_eq!((&record.0, record.1.as_ref()), (key, &value[..]), "{label}");
        }
        match found.next() {
            Some(Ok(_)) => panic!("{label} returns too many"),
            Some(Err(error)) => self.errors.push(error),
            None => {}
        }
    }

    fn ranges(&mut self, txn: &ReadTxn, table: &Raw, records: &[Record]) {
        self.sequence("iter", table.iter(txn), records.iter());
        let backwards = table.iter(txn).map(Iterator::rev);
        self.sequence("iter.rev", backwards, records.iter().rev());
        let lent = table.iter(txn).map(|mut records| {
            iter::from_fn(move || {
                let lent = records.lend();
                lent.map(|lent| lent.map(|(key, value)| (key.to_vec(), value.to_vec())))
                    .transpose()
            })
        });
        self.sequence("lend", lent, records.iter());
        let owned = table.range(..).owned(txn);
        self.sequence("range_owned", owned, records.iter());
        let owned = table.range(..).owned(txn).map(Iterator::rev);
        self.sequence("range_owned.rev", owned, records.iter().rev());
        if let Some((middle, _)) = records.get(records.len() / 2) {
            let half = &records[records.len() / 2..];
            self.sequence("range", table.range(&middle[..]..).iter(txn), half.iter());
        }
        if table.options(txn).is_ok_and(|o| o.order == KeyOrder::Bytes) {
            self.sequence("prefix", table.prefix(b"k").iter(txn), records.iter());
        }
        for (found, expected) in [
            (table.first(txn), records.first()),
            (table.last(txn), records.last()),
        ] {
            if let Some(found) = self.accept(found) {
                let found = found.map(|(key, value)| (key, value.to_vec()));
                assert_eq!(found.as_ref(), expected);
            }
        }
    }

    fn cursors(&mut self, txn: &ReadTxn, table: &Raw, records: &[Record]) {
        let Some(mut cursor) = self.accept(table.cursor(txn)) else {
            return;
        };
        for (key, value) in records {
            let Some(true) = self.accept(cursor.next()) else {
                break;
            };
            assert_eq!(cursor.key(), key);
            if let Some(found) = self.accept(cursor.value()) {
                assert_eq!(found, value);
            }
        }
        for (index, (key, _)) in records.iter().enumerate().step_by(7) {
            let Some(is_found) = self.accept(cursor.seek(SeekOp::Equal, key)) else {
                continue;
            };
            assert!(is_found, "seek");
            let before = index.checked_sub(1).map(|before| &records[before].0);
            if let Some(is_found) = self.accept(cursor.prev()) {
                assert_eq!(is_found.then(|| cursor.key()), before.map(|key| &key[..]));
            }
        }
    }

    fn counts(&mut self, txn: &ReadTxn, table: &Raw, records: &[Record]) {
        let is_counted = table.options(txn).is_ok_and(|options| options.counted);
        for (index, (key, _)) in records.iter().enumerate().step_by(13) {
            let after = (records.len() - index) as u64;
            if let Some(count) = self.accept(table.range(&key[..]..).count(txn)) {
                assert_eq!(count, after, "count_range");
            }
            if let Some(about) = self.accept(table.range(&key[..]..).estimate(txn)) {
                assert!((about.at_least..=about.at_most).contains(&after));
            }
            if !is_counted {
                continue;
            }
            if let Some(rank) = self.accept(table.rank(txn, key)) {
                assert_eq!(rank, index as u64, "rank");
            }
            if let Some(record) = self.accept(table.nth(txn, index as u64)) {
                assert_eq!(record.map(|(key, _)| key).as_ref(), Some(key), "nth");
            }
        }
        if let Some(parts) = self.accept(table.range(..).split(txn, 3)) {
            let parts: Result<Vec<_>> = parts.iter().map(|part| part.iter(txn)).collect();
            let all = parts.map(|parts| parts.into_iter().flatten());
            self.sequence("split", all, records.iter());
        }
    }

    fn owned(&mut self, txn: &ReadTxn, table: &Raw, records: &[Record]) {
        let mut cursor = DetachedCursor::new(table);
        for (key, value) in records.iter().rev() {
            let Some(true) = self.accept(cursor.prev(txn)) else {
                break;
            };
            assert_eq!(cursor.key(), key);
            if let Some(found) = self.accept(cursor.value(txn)) {
                assert_eq!(*found, **value);
            }
        }
    }
}

/// Reads everything. Every error must name this page, or the extent of a large value that contains
/// it.
fn errors_of(database: &Database, content: &Content, page: PageNumber) -> usize {
    let mut reader = Reader {
        content,
        errors: Vec::new(),
    };
    reader.read(database);
    for error in &reader.errors {
        match error {
            Error::Corrupted { page: named, .. } => {
                let is_in_extent = (named.0..named.0 + 4).contains(&page.0);
                assert!(is_in_extent, "page {page} is damaged: {error}");
            }
            // A cursor or iterator that found damage has no position.
            Error::InvalidArgument(_) => {}
            other => panic!("page {page} is damaged: {other}"),
        }
    }
    reader.errors.len()
}

#[test]
fn a_valid_database_gives_no_error() {
    let sample = Sample::new();
    let has = |wanted| sample.live.iter().filter(|(_, u)| *u == wanted).count();
    assert!(has(PageUse::Inner) > 6 && has(PageUse::Leaf) > 30 && has(PageUse::Value) > 8);
    for verification in [
        Verification::Off,
        Verification::FirstTouch,
        Verification::Always,
    ] {
        let database = open(&sample.image, verification, true).unwrap();
        assert_eq!(errors_of(&database, &sample.content, PageNumber(0)), 0);
    }
}

#[test]
fn damage_is_an_error_and_never_wrong_data() {
    let sample = Sample::new();
    sample.for_each_damage(|image, page, page_use, mutation| {
        for verification in [Verification::FirstTouch, Verification::Always] {
            let database = open(image, verification, true).unwrap();
            let errors = errors_of(&database, &sample.content, page);
            // The bytes after the end of a large value are unused, and reads need no space map.
            let is_read = matches!(page_use, PageUse::Inner | PageUse::Leaf);
            assert!(errors > 0 || !is_read, "{page_use:?} {page}, {mutation:?}");
        }
    });
}

/// A copied page gets a new checksum, which must not hide damage. Odd numbers between the others
/// fill the leaves, which share with their neighbours and are split. Then they get thin and merge.
#[test]
fn writes_next_to_damage_do_not_hide_it() {
    let sample = Sample::new();
    sample.for_each_damage(|image, page, page_use, mutation| {
        // Each page is damaged in only one way, because there are many operations for each.
        let verification = match (mutation, page.0 % 2) {
            (Mutation::FlipBit, 0) => Verification::FirstTouch,
            (Mutation::StaleVersion, 1) => Verification::Always,
            _ => return,
        };
        if page_use == PageUse::SpaceMap {
            return;
        }
        let database = open(image, verification, false).unwrap();
        let mut content = sample.content.clone();
        for (name, _, count, key_len, value_len) in tables() {
            for number in (1..2 * count).step_by(2) {
                let change = (number, 90, key_len, value_len);
                if change_one(&database, name, change).is_ok() {
                    note(&mut content, name, change);
                }
            }
            for number in (count / 2..count).filter(|number| number % 8 != 0) {
                let doomed = key(number, key_len);
                if remove_one(&database, name, &doomed).is_ok() {
                    let records = content.get_mut(name.as_bytes()).unwrap();
                    records.retain(|(key, _)| *key != doomed);
                }
            }
        }
        errors_of(&database, &content, page);
        database.close().unwrap();
    });
}

type Change = (u32, u32, usize, usize);

fn change_one(
    database: &Database,
    name: &str,
    (number, round, key_len, len): Change,
) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.set_durability(crate::Durability::Lazy);
    let table: Raw = txn.open_table(name)?;
    let value = value(number, round, len);
    table.insert(&mut txn, key(number, key_len), &value)?;
    txn.commit().map(drop)
}

fn remove_one(database: &Database, name: &str, key: &[u8]) -> Result<()> {
    let mut txn = database.begin_write()?;
    txn.set_durability(crate::Durability::Lazy);
    let table: Raw = txn.open_table(name)?;
    table.remove(&mut txn, key)?;
    txn.commit().map(drop)
}

fn note(content: &mut Content, name: &str, (number, round, key_len, len): Change) {
    let records = content.get_mut(name.as_bytes()).unwrap();
    let record = (key(number, key_len), value(number, round, len));
    match records.iter_mut().find(|(key, _)| *key == record.0) {
        Some(known) => *known = record,
        None => {
            records.push(record);
            sort(name, records);
        }
    }
}

/// The order of the keys of a table.
fn sort(name: &str, records: &mut [Record]) {
    records.sort_by_key(|(key, _)| {
        let mut sorted = key.clone();
        if matches!(name, "deep" | "integers") {
            sorted.reverse();
        }
        sorted
    });
}
