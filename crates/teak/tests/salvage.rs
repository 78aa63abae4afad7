//! The results of salvage from damaged files: all records on intact pages, and the names of the
//! lost ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use teak::{
    Database, Error, KeyOrder, Loss, PageNumber, PageUse, SalvageReport, SalvagedTable, TableDef,
    TableOptions, Transaction,
};

const PAGE: usize = 4096;
const LARGE: usize = 20_000;
/// Offsets in a commit record: the sequence, and the root of the catalog.
const SEQUENCE: usize = 88;
const CATALOG: usize = 160;

/// A database with tables of several kinds, closed, in a directory of its own.
struct Fixture {
    directory: tempfile::TempDir,
    content: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
}

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn tables() -> [(&'static str, TableOptions, u32, usize); 4] {
    let options = TableOptions::new();
    [
        ("counted", options.counted(true), 3000, 100),
        ("integers", options.order(KeyOrder::Integer), 300, 100),
        ("large", options, 5, LARGE),
        ("plain", options, 3000, 100),
    ]
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(directory.path().join("a.teak")).unwrap();
        let mut content = BTreeMap::new();
        for (name, options, count, len) in tables() {
            let mut txn = database.begin_write().unwrap();
            let table = TableDef::<Vec<u8>, Vec<u8>>::new(name)
                .options(options)
                .create(&mut txn)
                .unwrap();
            let mut records = BTreeMap::new();
            for number in 0..count {
                let value = vec![number as u8; len + number as usize % 7];
                table.insert(&mut txn, key(number), &value).unwrap();
                records.insert(key(number), value);
            }
            txn.commit().unwrap();
            content.insert(name.as_bytes().to_vec(), records);
        }
        database.close().unwrap();
        Self { directory, content }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("a.teak")
    }

    /// Changes the file without the engine.
    fn damage(&self, page: PageNumber, change: impl FnOnce(&mut [u8])) {
        let mut bytes = fs::read(self.path()).unwrap();
        let start = page.0 as usize * PAGE;
        change(&mut bytes[start..start + PAGE]);
        fs::write(self.path(), bytes).unwrap();
    }

    /// Salvages, and checks that the source is unchanged and that nothing was invented.
    fn salvage(&self) -> (SalvageReport, Database) {
        let before = fs::read(self.path()).unwrap();
        let target = self.directory.path().join("saved.teak");
        let mut done = 0;
        let report = teak::salvage(self.path(), &target, &[], &mut |progress| {
            assert!(progress.pages_done <= progress.pages_total);
            done = progress.pages_done;
            ControlFlow::Continue(())
        });
        let report = report.unwrap();
        assert!(done > 0, "progress was reported");
        assert!(
            before == fs::read(self.path()).unwrap(),
            "the source is never changed"
        );
        let saved = Database::open(&target).unwrap();
        assert!(
            saved
                .check(&mut |_| ControlFlow::Continue(()))
                .unwrap()
                .is_clean()
        );
        for table in &report.tables {
            let records = records(&saved, &table.name);
            assert_eq!(records.len() as u64, table.records);
            let known = &self.content[&table.name];
            assert_eq!(known.len() as u64, table.records_before);
            let is_known = |(key, value): (&Vec<u8>, &Vec<u8>)| known.get(key) == Some(value);
            assert!(records.iter().all(is_known));
        }
        (report, saved)
    }

    /// A page with this use that is no root: the middle one of all.
    fn page_of(&self, page_use: PageUse) -> PageNumber {
        let database = Database::open(self.path()).unwrap();
        let kinds = database.page_kinds().unwrap();
        let pages: Vec<_> = (0..kinds.len()).filter(|i| kinds[*i] == page_use).collect();
        PageNumber(pages[pages.len() / 2] as u32)
    }
}

fn records(database: &Database, name: &[u8]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let txn = database.begin_read().unwrap();
    let table = txn.open_table::<Vec<u8>, Vec<u8>>(name).unwrap();
    let records = table.iter(&txn).unwrap();
    records
        .map(|record| record.map(|(key, value)| (key, value.to_vec())).unwrap())
        .collect()
}

fn table<'r>(report: &'r SalvageReport, name: &str) -> &'r SalvagedTable {
    let mut tables = report.tables.iter();
    tables.find(|table| table.name == name.as_bytes()).unwrap()
}

fn is_among(key: &[u8], loss: &Loss) -> bool {
    let keys = loss.keys.as_ref().unwrap();
    let is_single = keys.low == keys.high && keys.low.is_some();
    let is_after_low = keys.low.as_ref().is_none_or(|low| low.as_slice() <= key);
    let is_before_high = keys.high.as_ref().is_none_or(|high| key < high.as_slice());
    match is_single {
        true => keys.low.as_deref() == Some(key),
        false => is_after_low && is_before_high,
    }
}

/// All records exist except some of one table, whose keys the losses name.
fn assert_lost_as_reported(
    fixture: &Fixture,
    report: &SalvageReport,
    saved: &Database,
    damaged: PageNumber,
) {
    assert!(!report.is_complete());
    let losses: Vec<_> = report.tables.iter().flat_map(|t| &t.losses).collect();
    assert_eq!(losses.len(), 1, "{report}");
    assert_eq!(losses[0].page, damaged);
    for (name, known) in &fixture.content {
        let found = records(saved, name);
        let losses = &report
            .tables
            .iter()
            .find(|t| t.name == *name)
            .unwrap()
            .losses;
        for key in known.keys() {
            let is_reported = losses.iter().any(|loss| is_among(key, loss));
            assert_eq!(found.contains_key(key), !is_reported, "{report}");
        }
        let lost = (known.len() - found.len()) as u64;
        let max = losses.iter().filter_map(|loss| loss.records_max).max();
        assert!(max.is_none_or(|max| max == lost), "{report}");
    }
}

#[test]
fn an_intact_database_is_salvaged_completely() {
    let fixture = Fixture::new();
    let (report, saved) = fixture.salvage();
    assert!(report.is_complete(), "{report}");
    assert_eq!(report.passed_over, Vec::<String>::new());
    let txn = saved.begin_read().unwrap();
    for (name, options, count, _) in tables() {
        let found = txn.open_table::<Vec<u8>, Vec<u8>>(name).unwrap();
        assert_eq!(found.options(&txn).unwrap(), options);
        assert_eq!(found.len(&txn).unwrap(), u64::from(count));
    }
}

#[test]
fn a_damaged_leaf_costs_its_own_records() {
    let fixture = Fixture::new();
    let leaf = fixture.page_of(PageUse::Leaf);
    fixture.damage(leaf, |page| page[2000] ^= 4);
    let (report, saved) = fixture.salvage();
    assert_lost_as_reported(&fixture, &report, &saved, leaf);
    assert!(
        report
            .to_string()
            .contains(&format!("page {leaf} is damaged"))
    );
}

#[test]
fn a_damaged_inner_page_costs_the_pages_below_it() {
    let fixture = Fixture::new();
    let inner = fixture.page_of(PageUse::Inner);
    fixture.damage(inner, |page| page[512..1024].fill(0));
    let (report, saved) = fixture.salvage();
    assert_lost_as_reported(&fixture, &report, &saved, inner);
}

#[test]
fn a_damaged_large_value_costs_one_record() {
    let fixture = Fixture::new();
    let value = fixture.page_of(PageUse::Value);
    fixture.damage(value, |page| page.fill(0xaa));
    let (report, saved) = fixture.salvage();
    let large = table(&report, "large");
    assert_eq!((large.records, large.records_lost()), (4, 1));
    assert_lost_as_reported(&fixture, &report, &saved, large.losses[0].page);
}

/// Without its newest record, a database is in the state before, which may lack pages that were
/// free then.
#[test]
fn a_damaged_newest_record_selects_the_previous_one() {
    let fixture = Fixture::new();
    for slot in newest_slots(&fixture.path(), 1) {
        fixture.damage(PageNumber(slot), |page| page[100] ^= 1);
    }
    let (report, _) = fixture.salvage();
    assert_eq!(report.passed_over.len(), 1, "{report}");
    assert!(report.is_complete(), "{report}");
}

#[test]
fn a_damaged_catalog_selects_the_previous_record() {
    let fixture = Fixture::new();
    let database = Database::open(fixture.path()).unwrap();
    let mut txn = database.begin_write().unwrap();
    let small = txn.create_table::<Vec<u8>, Vec<u8>>("small").unwrap();
    small.insert(&mut txn, b"key", b"value").unwrap();
    txn.commit().unwrap();
    database.close().unwrap();
    let catalog = catalog_page(&fixture.path());
    fixture.damage(catalog, |page| page.fill(0));
    assert!(matches!(
        Database::open(fixture.path()).and_then(|d| d.begin_read()?.tables()),
        Err(Error::Corrupted { .. })
    ));
    let (report, _) = fixture.salvage();
    assert_eq!(
        report.passed_over.len(),
        3,
        "both closing records and the commit: {report}"
    );
    assert!(report.is_complete(), "{report}");
    assert!(report.tables.iter().all(|table| table.name != b"small"));
}

#[test]
fn a_truncated_file_loses_the_records_after_its_end() {
    let fixture = Fixture::new();
    let bytes = fs::read(fixture.path()).unwrap();
    fs::write(fixture.path(), &bytes[..bytes.len() / 2]).unwrap();
    assert!(Database::open(fixture.path()).is_err());
    let (report, saved) = fixture.salvage();
    assert!(!report.is_complete());
    // The newest catalog is after the end, and the state before may lack later tables.
    assert!(!report.passed_over.is_empty(), "{report}");
    for table in report.tables.iter().filter(|t| t.name != b"integers") {
        let found = records(&saved, &table.name);
        for key in fixture.content[&table.name].keys() {
            let is_reported = table.losses.iter().any(|loss| is_among(key, loss));
            assert_eq!(found.contains_key(key), !is_reported, "{report}");
        }
    }
}

#[test]
fn salvage_needs_at_least_one_commit_record() {
    let fixture = Fixture::new();
    for slot in 0..4 {
        fixture.damage(PageNumber(slot), |page| page.fill(0));
    }
    let target = fixture.directory.path().join("saved.teak");
    let salvaged = teak::salvage(fixture.path(), &target, &[], &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(salvaged, Err(Error::NotADatabase { .. })));
    assert!(!target.exists());
}

#[test]
fn an_existing_target_is_unchanged() {
    let fixture = Fixture::new();
    let target = fixture.directory.path().join("saved.teak");
    fs::write(&target, "something").unwrap();
    let salvaged = teak::salvage(fixture.path(), &target, &[], &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(salvaged, Err(Error::AlreadyExists(_))));
    assert_eq!(fs::read(&target).unwrap(), b"something");
}

/// The slots of the newest records, the newest first.
fn newest_slots(path: &Path, count: usize) -> Vec<u32> {
    let bytes = fs::read(path).unwrap();
    let sequence = |slot: &u32| {
        let at = *slot as usize * PAGE + SEQUENCE;
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    let mut slots: Vec<u32> = (0..4).collect();
    slots.sort_by_key(|slot| std::cmp::Reverse(sequence(slot)));
    slots.truncate(count);
    slots
}

/// The page of the root of the catalog of the newest record.
fn catalog_page(path: &Path) -> PageNumber {
    let bytes = fs::read(path).unwrap();
    let at = newest_slots(path, 1)[0] as usize * PAGE + CATALOG;
    PageNumber(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn named_snapshots_are_reported_as_lost() {
    let fixture = Fixture::new();
    let path = fixture.directory.path().join("a.teak");
    let database = Database::open(&path).unwrap();
    let names: Vec<_> = (0..200).map(|number| format!("day {number:03}")).collect();
    let mut txn = database.begin_write().unwrap();
    for name in names.iter().chain([&"dropped".to_owned()]) {
        txn.create_snapshot(name).unwrap();
    }
    txn.commit().unwrap();
    database.drop_snapshot("dropped").unwrap();
    let first = database.snapshots().unwrap().remove(0);
    database.close().unwrap();
    let (report, saved) = fixture.salvage();
    let lost: Vec<_> = report
        .lost_snapshots
        .iter()
        .map(|name| str::from_utf8(name).unwrap())
        .collect();
    assert_eq!(lost, names);
    assert!(!report.is_complete() && report.snapshot_list_losses.is_empty());
    assert!(report.to_string().contains("snapshot \"day 007\" is lost"));
    assert!(saved.snapshots().unwrap().is_empty());
    for (name, known) in &fixture.content {
        assert_eq!(records(&saved, name), *known);
    }
    drop(saved);

    // A leaf of the list has the transaction and the time of each. Stale copies of leaves in free
    // pages do not matter.
    let bytes = fs::read(&path).unwrap();
    let time = first.time.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let needle = [first.transaction.0.to_le_bytes(), time.to_le_bytes()].concat();
    let found = bytes
        .windows(16)
        .enumerate()
        .filter(|(_, part)| *part == needle);
    let pages: BTreeSet<usize> = found.map(|(at, _)| at / PAGE).collect();
    let mut hits = 0;
    for page in pages {
        fs::write(&path, &bytes).unwrap();
        fixture.damage(PageNumber(page as u32), |bytes| bytes[PAGE - 1] ^= 1);
        fs::remove_file(fixture.directory.path().join("saved.teak")).unwrap();
        let (report, _) = fixture.salvage();
        let [loss] = &report.snapshot_list_losses[..] else {
            continue;
        };
        hits += 1;
        for name in &names {
            let is_found = report.lost_snapshots.contains(&name.clone().into_bytes());
            assert_ne!(
                is_found,
                is_among(name.as_bytes(), loss),
                "{name}: {report}"
            );
        }
    }
    assert!(hits > 2, "{hits}");
}

#[test]
fn a_cancelled_salvage_leaves_no_file() {
    let fixture = Fixture::new();
    let target = fixture.directory.path().join("saved.teak");
    let files = || fs::read_dir(fixture.directory.path()).unwrap().count();
    let before = files();
    let pages = Database::open(fixture.path())
        .unwrap()
        .stat()
        .unwrap()
        .file_bytes
        / PAGE as u64;
    // Before the first batch of records is written, in the middle, and near the end.
    for last in [0, pages / 2, pages * 3 / 4] {
        let mut calls = 0;
        let cancelled = teak::salvage(fixture.path(), &target, &[], &mut |progress| {
            calls += 1;
            match progress.pages_done <= last {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        match cancelled {
            Err(Error::Cancelled { path, .. }) => assert_eq!(path, Some(target.clone())),
            other => panic!("{other:?}"),
        }
        assert!(calls > 0 && files() == before, "{last} of {pages} pages");
    }
    fixture.salvage();
}

#[test]
fn a_check_can_be_cancelled() {
    let fixture = Fixture::new();
    let database = Database::open(fixture.path()).unwrap();
    let mut calls = 0;
    let cancelled = database.check(&mut |progress| {
        calls += 1;
        match progress.pages_done < progress.pages_total / 2 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    match cancelled {
        Err(error @ Error::Cancelled { .. }) => {
            let text = error.to_string();
            assert!(
                text.starts_with("checking the database (") && text.contains("a.teak"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(calls > 1);
    assert!(database.readers().unwrap().is_empty());
}
