//! Graphs that are no trees: pages with several parents, keys and names in the wrong order,
//! impossible births. All checksums are correct, so only the contents of the pages reveal the
//! forgery.

mod births;
mod counts;

use crate::{
    Checksum, CompactOptions, Database, DetachedCursor, Direction, Error, MultiTable, Options,
    PageNumber, ReadTxn, Result, Table, Transaction, TransactionId, Verification, WriteTxn,
    btree::{PageSink, PageSource, TableClass, TreeKind, TreeRoot, lookup},
    codec::Bytes,
    io::{Storage, sim::SimDisk},
    page::{
        child::Child,
        entries::RecordList,
        header::{Header, arrays_start},
        key::KeyOrder,
        value::{StoredValue, ValueKind},
    },
    testing,
    types::TypeNames,
};
use crate::{
    instance::engine::Engine,
    read::catalog,
    transaction_tests::test_kit::{
        BOOT, PAGE_SIZE, create_table, fill, insert, new_database, records, root_of,
    },
    write::transaction::WriteTransaction,
};
use std::{
    io::IoSlice,
    ops::ControlFlow,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

/// The time limit for any operation on a file with a few pages.
const LIMIT: Duration = Duration::from_secs(30);

/// The result of `work`, which must end in time.
fn within<R: Send + 'static>(label: &str, work: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    let done = receiver.recv_timeout(LIMIT);
    done.unwrap_or_else(|_| panic!("{label}: it panicked, or did not end"))
}

fn is_damage<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Corrupted { .. }))
}

/// Builds pages of a tree in a transaction, regardless of their children.
struct Forger<'t> {
    txn: &'t mut WriteTransaction,
    root: TreeRoot,
    birth: TransactionId,
}

impl<'t> Forger<'t> {
    fn new(txn: &'t mut WriteTransaction, root: TreeRoot) -> Self {
        let birth = txn.pages.transaction();
        Self { txn, root, birth }
    }

    fn allocate(&mut self) -> PageNumber {
        self.txn.pages.allocate().unwrap()
    }

    fn child(&self, page: PageNumber, separator: &[u8]) -> Child {
        Child {
            page,
            checksum: Checksum::of(self.txn.pages.page(page).unwrap()),
            records: 1,
            separator: separator.to_vec(),
        }
    }

    /// A leaf with these records, in this order.
    fn leaf<'r>(&mut self, of: impl IntoIterator<Item = (&'r [u8], StoredValue<'r>)>) -> Child {
        let mut records = RecordList::with_capacity(1, PAGE_SIZE);
        of.into_iter()
            .for_each(|(key, value)| records.push(key, value));
        let number = self.allocate();
        let format = self.root.leaf_format();
        let page = self.txn.pages.page_mut(number).unwrap();
        let built = records.build(page, number, self.birth, format, 0..records.len());
        built.unwrap();
        self.child(number, &[])
    }

    /// An inner page above these pages.
    fn inner(&mut self, level: u8, children: &[Child]) -> Child {
        let number = self.allocate();
        let (format, birth) = (self.root.inner_format(), self.birth);
        let page = self.txn.pages.page_mut(number).unwrap();
        format.build(page, number, birth, level, children).unwrap();
        self.child(number, &[])
    }

    /// An inner page with one child several times.
    fn fan(&mut self, level: u8, child: &Child, count: u8) -> Child {
        let children: Vec<_> = (0..count)
            .map(|index| Child {
                separator: vec![index],
                ..child.clone()
            })
            .collect();
        self.inner(level, &children)
    }

    /// A tree of this many levels in which each page has the one below it eight times, above a leaf
    /// of 50 records.
    fn shared(&mut self, depth: u8) -> TreeRoot {
        let keys: Vec<_> = (0..50_u32).map(u32::to_be_bytes).collect();
        let records = keys.iter().map(|key| (&key[..], StoredValue::inline(b"")));
        let mut child = self.leaf(records.collect::<Vec<_>>());
        for level in 1..depth {
            child = self.fan(level, &child, 8);
        }
        TreeRoot {
            page: child.page,
            checksum: child.checksum,
            depth,
            records: 50 << (3 * u32::from(depth - 1)).min(39),
            inner_pages: u32::from(depth) - 1,
            leaf_pages: 1,
            ..self.root
        }
    }
}

fn plain_root() -> TreeRoot {
    TreeRoot::new(KeyOrder::Bytes, true, false, 0)
}

fn multi_root() -> TreeRoot {
    let kind = TreeKind {
        class: TableClass::Multi,
        values: Some(KeyOrder::Bytes),
        ..TreeKind::default()
    };
    TreeRoot {
        kind,
        ..plain_root()
    }
}

/// A new database in which table `a` has this root.
fn with_table(forge: impl FnOnce(&mut WriteTransaction) -> TreeRoot) -> SimDisk {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"value"));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    create_table(&mut txn, b"b");
    insert(&mut txn, b"b", b"key", b"value").unwrap();
    let root = forge(&mut txn);
    let mut catalog = txn.catalog;
    catalog::insert(
        &mut txn.pages,
        &mut catalog,
        b"a",
        &root,
        TypeNames::default(),
    )
    .unwrap();
    txn.catalog = catalog;
    txn.commit().unwrap();
    engine.close().unwrap();
    disk
}

fn open(disk: &SimDisk) -> Database {
    testing::open(disk, &Options::new(), false, BOOT).unwrap()
}

/// A database whose list of named snapshots has these names in this order, each in its own leaf if
/// requested.
fn with_names(forge: impl FnOnce(&mut Forger<'_>, &[(Vec<u8>, Vec<u8>)]) -> TreeRoot) -> SimDisk {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"value"));
    for name in [b"one", b"two"] {
        let mut txn = WriteTransaction::begin(&engine).unwrap();
        txn.create_snapshot(name).unwrap();
        txn.commit().unwrap();
    }
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let list = txn.named.list;
    let mut entries = Vec::new();
    let mut cursor = crate::btree::cursor::TreeCursor::new(&txn.pages, list);
    while cursor.next().unwrap() {
        entries.push((cursor.key().to_vec(), cursor.value().unwrap().to_vec()));
    }
    drop(cursor);
    let root = forge(&mut Forger::new(&mut txn, list), &entries);
    txn.named.list = root;
    txn.commit().unwrap();
    engine.close().unwrap();
    disk
}

/// Names of the list were looked up there, not found, and treated as dropped meanwhile, forever: by
/// `check`, which is used to inspect untrusted files, and by backups.
#[test]
fn names_of_snapshots_in_the_wrong_order_are_damage() {
    type Entries<'e> = &'e [(Vec<u8>, Vec<u8>)];
    fn of<'e>(
        forger: &mut Forger<'_>,
        entries: impl Iterator<Item = &'e (Vec<u8>, Vec<u8>)>,
    ) -> Child {
        let records = entries.map(|(key, value)| (&key[..], StoredValue::inline(value)));
        forger.leaf(records.collect::<Vec<_>>())
    }
    let in_one_leaf = |forger: &mut Forger<'_>, entries: Entries<'_>| {
        let leaf = of(forger, entries.iter().rev());
        TreeRoot {
            page: leaf.page,
            checksum: leaf.checksum,
            ..forger.root
        }
    };
    let elsewhere = |forger: &mut Forger<'_>, entries: Entries<'_>| {
        let first = of(forger, entries[..1].iter());
        let mut second = of(forger, entries[1..].iter());
        // All names come before this.
        second.separator = vec![1];
        let inner = forger.inner(1, &[first, second]);
        TreeRoot {
            page: inner.page,
            checksum: inner.checksum,
            depth: 2,
            inner_pages: 1,
            leaf_pages: 2,
            ..forger.root
        }
    };
    for disk in [with_names(in_one_leaf), with_names(elsewhere)] {
        let database = open(&disk);
        let done = within("check and backup", move || {
            let checked = database.check(&mut |_| ControlFlow::Continue(()));
            let mut copy = Vec::new();
            let txn = database.begin_read().unwrap();
            let written = txn.write_backup(&mut copy, None, &mut |_| ControlFlow::Continue(()));
            (checked.map(|report| report.is_clean()), written.map(drop))
        });
        assert!(matches!(done.0, Ok(false)), "check: {:?}", done.0);
        assert!(is_damage(&done.1), "backup: {:?}", done.1);
    }
}

type Raw = Table<Bytes, Bytes>;
type Pairs = MultiTable<Bytes, Bytes>;

/// The reads of the whole table `a`, each in its own way, with their results.
fn read_everything(database: &Database) -> Vec<(&'static str, Result<()>)> {
    let txn = database.begin_read().unwrap();
    let table: Raw = txn.open_table("a").unwrap();
    let mut done = Vec::new();
    let mut note = |label, result| done.push((label, result));
    note(
        "iter",
        table.iter(&txn).unwrap().try_for_each(|r| r.map(drop)),
    );
    note(
        "rev",
        table
            .iter(&txn)
            .unwrap()
            .rev()
            .try_for_each(|r| r.map(drop)),
    );
    let mut owned = table.range(..).owned(&txn).unwrap();
    note("owned", owned.try_for_each(|r| r.map(drop)));
    let mut cursor = table.cursor(&txn).unwrap();
    note(
        "cursor",
        (|| {
            while cursor.next()? {}
            Ok(())
        })(),
    );
    let mut cursor = table.cursor(&txn).unwrap();
    note(
        "cursor back",
        (|| {
            while cursor.prev()? {}
            Ok(())
        })(),
    );
    let mut cursor = DetachedCursor::new(&table);
    note(
        "detached cursor",
        (|| {
            while cursor.next(&txn)? {}
            Ok(())
        })(),
    );
    let mut cursor = DetachedCursor::new(&table);
    note(
        "scan",
        cursor
            .scan(&txn, Direction::Forward, |_, _| ControlFlow::Continue(()))
            .map(drop),
    );
    let mut cursor = DetachedCursor::new(&table);
    note(
        "scan back",
        cursor
            .scan(&txn, Direction::Backward, |_, _| ControlFlow::Continue(()))
            .map(drop),
    );
    let mut cursor = DetachedCursor::new(&table);
    note(
        "batches",
        (|| {
            while cursor.read_batch(&txn, 1000, |_, _| ())? {}
            Ok(())
        })(),
    );
    let mut cursor = table.cursor(&txn).unwrap();
    note(
        "skip",
        cursor.first().and_then(|_| cursor.skip(i64::MAX)).map(drop),
    );
    note("walk", txn.walk_pages(&mut |_| ControlFlow::Continue(())));
    done
}

/// 40 pages that share their children have 2^39 records: reading all of them never ended.
#[test]
fn pages_that_share_their_children_end_every_read() {
    for is_boasting in [false, true] {
        let disk = with_table(|txn| {
            let mut root = Forger::new(txn, plain_root()).shared(14);
            if is_boasting {
                (root.leaf_pages, root.inner_pages) = (u32::MAX, u32::MAX);
            }
            root
        });
        let database = open(&disk);
        let done = within("reading", move || read_everything(&database));
        for (label, result) in done {
            assert!(is_damage(&result), "{label}: {result:?}");
        }
        let database = open(&disk);
        let others = within("other ways", move || other_operations(&database));
        for (label, result) in others {
            let is_expected = result.is_ok() || is_damage(&result);
            assert!(is_expected, "{label}: {result:?}");
        }
    }
}

/// Only leaves were counted, and a scan returned more records than there are.
#[test]
fn scans_end_where_they_return_more_records_than_the_root_counts() {
    let disk = with_table(|txn| TreeRoot {
        records: 120,
        leaf_pages: u32::MAX,
        ..Forger::new(txn, plain_root()).shared(2)
    });
    let database = open(&disk);
    for (label, result) in within("reading", move || read_everything(&database)) {
        assert!(is_damage(&result), "{label}: {result:?}");
    }
    let database = open(&disk);
    let txn = database.begin_read().unwrap();
    let table: Raw = txn.open_table("a").unwrap();
    let read = table.iter(&txn).unwrap().take_while(Result::is_ok).count();
    assert_eq!(read, 100, "two leaves are within what the root counts");
}

/// Operations that need not find the damage, but must end.
fn other_operations(database: &Database) -> Vec<(&'static str, Result<()>)> {
    let txn = database.begin_read().unwrap();
    let table: Raw = txn.open_table("a").unwrap();
    let low = 3_u32.to_be_bytes();
    let done = vec![
        ("count", table.range(&low[..]..).count(&txn).map(drop)),
        ("estimate", table.range(&low[..]..).estimate(&txn).map(drop)),
        ("split", table.range(..).split(&txn, 60_000).map(drop)),
        ("kinds", database.page_kinds().map(drop)),
    ];
    let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(!report.is_clean());
    done
}

/// Sharing among the values of a key: all keys lead to one nested tree, or to trees that share
/// pages.
#[test]
fn nested_trees_that_share_their_pages_end_every_read() {
    // The root counts leaves correctly, or any number of them and too few records.
    for (is_shared_inside, counts) in [(false, None), (true, None), (false, Some((u32::MAX, 120)))]
    {
        let disk = with_table(|txn| {
            let nested = TreeRoot {
                ..multi_root().nested()
            };
            let mut forger = Forger::new(txn, nested);
            let below = forger.shared(if is_shared_inside { 13 } else { 1 });
            forger.root = multi_root();
            let bytes = below.encode();
            let keys: Vec<_> = (0..30_u32).map(u32::to_be_bytes).collect();
            let value = StoredValue {
                kind: ValueKind::Tree,
                bytes: &bytes,
            };
            let leaf = forger.leaf(keys.iter().map(|key| (&key[..], value)).collect::<Vec<_>>());
            let (leaf_pages, records) = counts.unwrap_or((2, 30 * below.records));
            TreeRoot {
                page: leaf.page,
                checksum: leaf.checksum,
                depth: 1,
                records,
                inner_pages: below.inner_pages,
                leaf_pages,
                ..multi_root()
            }
        });
        let database = open(&disk);
        let done = within("pairs", move || read_pairs(&database));
        for (label, result) in done {
            assert!(is_damage(&result), "{label}: {result:?}");
        }
    }
}

fn read_pairs(database: &Database) -> Vec<(&'static str, Result<()>)> {
    let txn = database.begin_read().unwrap();
    let table: Pairs = txn.open_multi_table("a").unwrap();
    let mut done = Vec::new();
    done.push((
        "iter",
        table.iter(&txn).unwrap().try_for_each(|r| r.map(drop)),
    ));
    done.push((
        "rev",
        table
            .iter(&txn)
            .unwrap()
            .rev()
            .try_for_each(|r| r.map(drop)),
    ));
    let mut cursor = table.cursor(&txn).unwrap();
    done.push((
        "cursor",
        (|| {
            while cursor.next()? {}
            Ok(())
        })(),
    ));
    let mut cursor = table.cursor(&txn).unwrap();
    done.push((
        "cursor back",
        (|| {
            while cursor.prev()? {}
            Ok(())
        })(),
    ));
    let mut cursor = DetachedCursor::new(&table);
    done.push((
        "detached cursor",
        (|| {
            while cursor.next(&txn)? {}
            Ok(())
        })(),
    ));
    let mut owned = table.range(..).owned(&txn).unwrap();
    done.push(("owned", owned.try_for_each(|r| r.map(drop))));
    done
}

/// The changes of table `a`, each in its own transaction, with their results.
fn change_everything(database: &Database) -> Vec<(&'static str, Result<()>)> {
    type Change = fn(&mut WriteTxn, &Raw, &Raw) -> Result<()>;
    let operations: [(&'static str, Change); 8] = [
        ("clear", |txn, table, _| table.clear(txn)),
        ("drop", |txn, _, _| txn.drop_table("a").map(drop)),
        ("remove", |txn, table, _| {
            let ends = [10_u32, 30].map(u32::to_be_bytes);
            table
                .range(&ends[0][..]..&ends[1][..])
                .remove(txn)
                .map(drop)
        }),
        ("remove front", |txn, table, _| {
            table
                .range(..&30_u32.to_be_bytes()[..])
                .remove(txn)
                .map(drop)
        }),
        ("copy", |txn, table, other| {
            table.range(..).copy_to(txn, other).map(drop)
        }),
        ("move", |txn, table, other| {
            table.range(..).move_to(txn, other).map(drop)
        }),
        ("insert", |txn, table, _| {
            let records: Vec<_> = (0..3000_u32).map(u32::to_be_bytes).collect();
            let records: Vec<_> = records.iter().map(|key| (&key[..], &b"new"[..])).collect();
            table.insert_many(txn, &records).map(drop)
        }),
        ("remove many", |txn, table, _| {
            let keys: Vec<_> = (0..50_u32).map(u32::to_be_bytes).collect();
            let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
            table.remove_many(txn, &keys).map(drop)
        }),
    ];
    let change = |change: Change| {
        let mut txn = database.begin_write()?;
        let table = txn.open_table("a")?;
        let other = txn.open_table("b")?;
        change(&mut txn, &table, &other)?;
        txn.commit().map(drop)
    };
    let mut done: Vec<_> = (operations.into_iter())
        .map(|(label, operation)| (label, change(operation)))
        .collect();
    let compacted = database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()));
    done.push(("compact", compacted.map(drop)));
    done
}

/// Releasing such a tree released pages repeatedly. Changes could not be committed, or never ended.
#[test]
fn pages_that_share_their_children_end_every_change() {
    for (is_boasting, depth) in [(false, 14), (true, 14), (false, 3), (true, 3)] {
        let disk = with_table(|txn| {
            let mut root = Forger::new(txn, plain_root()).shared(depth);
            if is_boasting {
                (root.leaf_pages, root.inner_pages) = (u32::MAX, u32::MAX);
            }
            root
        });
        let database = open(&disk);
        for (label, result) in within("changing", move || change_everything(&database)) {
            let is_expected = result.is_ok() || is_damage(&result);
            assert!(is_expected, "{label}: {result:?}");
        }
        let opened = testing::open(&disk, &Options::new(), false, BOOT);
        opened.expect("what was committed can be opened");
    }
}

/// Table `a` with keys in this order, in one leaf.
fn with_keys(keys: &'static [&'static [u8]]) -> SimDisk {
    with_table(|txn| {
        let mut forger = Forger::new(txn, plain_root());
        let records = keys.iter().map(|key| (*key, StoredValue::inline(b"value")));
        let leaf = forger.leaf(records.collect::<Vec<_>>());
        TreeRoot {
            page: leaf.page,
            checksum: leaf.checksum,
            depth: 1,
            records: keys.len() as u64,
            leaf_pages: 1,
            ..plain_root()
        }
    })
}

/// A copy continued forever after the last key that it had read, which was not the greatest. Dense
/// copies asked the caller to sort the input.
#[test]
fn copying_keys_in_the_wrong_order_is_damage_of_their_table() {
    let disk = with_keys(&[b"b", b"c", b"a"]);
    for is_move in [false, true] {
        let database = open(&disk);
        let done = within("copying", move || {
            let mut txn = database.begin_write()?;
            let (table, other): (Raw, Raw) = (txn.open_table("a")?, txn.open_table("b")?);
            match is_move {
                true => table.range(..).move_to(&mut txn, &other),
                false => table.range(..).copy_to(&mut txn, &other),
            }
        });
        assert_names(&done, "a", b"a");
    }
    let directory = tempfile::tempdir().unwrap();
    let database = open(&disk);
    let dense = database
        .begin_read()
        .unwrap()
        .copy_dense(directory.path().join("copy"), &mut |_| {
            ControlFlow::Continue(())
        });
    assert_names(&dense, "a", b"a");
}

fn assert_names<T: std::fmt::Debug>(done: &Result<T>, wanted: &str, key: &[u8]) {
    let Err(Error::Corrupted {
        table: Some(table),
        keys: Some(keys),
        ..
    }) = done
    else {
        panic!("{done:?}");
    };
    assert_eq!((&table[..], keys.low.as_deref()), (wanted, Some(key)));
}

/// A table followed in the catalog by a smaller name was moved again and again.
#[test]
fn compaction_of_a_catalog_in_the_wrong_order_ends() {
    let (disk, engine) = new_database();
    fill(&engine, records(3, b"value"));
    let mut txn = WriteTransaction::begin(&engine).unwrap();
    let catalog = txn.catalog;
    let mut forger = Forger::new(&mut txn, catalog);
    let root = plain_root().encode();
    let value = StoredValue {
        kind: ValueKind::Tree,
        bytes: &root,
    };
    let leaf = forger.leaf([(&b"b"[..], value), (b"c", value), (b"a", value)]);
    txn.catalog = TreeRoot {
        page: leaf.page,
        checksum: leaf.checksum,
        records: 3,
        ..catalog
    };
    txn.commit().unwrap();
    engine.close().unwrap();
    let database = open(&disk);
    let done = within("compacting", move || {
        database.compact(&CompactOptions::new(), &mut |_| ControlFlow::Continue(()))
    });
    assert!(done.is_ok() || is_damage(&done), "{done:?}");
}

/// The separators of an inner page shared their bytes, so that they did not fit into a new layout:
/// a panic.
#[test]
fn separators_that_share_their_bytes_are_an_error_in_their_layout() {
    const COUNT: usize = 40;
    let disk = with_table(|txn| {
        let mut forger = Forger::new(txn, plain_root());
        let keys: Vec<_> = (0..50_u32).map(|i| (i << 24).to_be_bytes()).collect();
        let records = keys.iter().map(|key| (&key[..], StoredValue::inline(b"")));
        let leaf = forger.leaf(records.collect::<Vec<_>>());
        let inner = forger.fan(1, &leaf, COUNT as u8);
        let page = forger.txn.pages.page_mut(inner.page).unwrap();
        let mut header = Header::read(page);
        let node = PAGE_SIZE - 802;
        header.heap_len = 802;
        header.write(page);
        page[node..node + 2].copy_from_slice(&800_u16.to_le_bytes());
        page[node + 2..].fill(b'x');
        let heads = arrays_start(0);
        let offsets = heads + 16 * COUNT;
        for index in 1..COUNT {
            let head = ((index as u32) << 24).to_le_bytes();
            page[heads + 4 * index..][..4].copy_from_slice(&head);
            page[offsets + 2 * index..][..2].copy_from_slice(&(node as u16).to_le_bytes());
        }
        let inner = forger.child(inner.page, &[]);
        TreeRoot {
            page: inner.page,
            checksum: inner.checksum,
            depth: 2,
            records: 50 * COUNT as u64,
            inner_pages: 1,
            leaf_pages: COUNT as u32,
            ..plain_root()
        }
    });
    let database = open(&disk);
    let mut txn = database.begin_write().unwrap();
    let table: Raw = txn.open_table("a").unwrap();
    let removed = table
        .range(..&(1_u32 << 24).to_be_bytes()[..])
        .remove(&mut txn);
    assert!(is_damage(&removed), "{removed:?}");
}
