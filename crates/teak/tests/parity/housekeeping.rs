//! Limits, and information about a database and its pages.

use super::{Fixture, TREES, fixture, table};
use std::{collections::BTreeMap, fs, ops::ControlFlow, time::Duration};
use teak::{Database, Error, Options, PageUse, codec::Bytes};

/// `mdbx_limits_*`.
#[test]
fn limits() {
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let limits = teak::limits(page_size).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.teak");
        let database = Options::new().page_size(page_size).open(path).unwrap();
        let mut txn = database.begin_write().unwrap();
        let words = txn.create_table::<Bytes, Bytes>("words").unwrap();
        let longest = vec![7; limits.key_len_max];
        words.insert(&mut txn, &longest, b"").unwrap();
        let refused = words.insert(&mut txn, vec![7; limits.key_len_max + 1], b"");
        assert!(matches!(refused, Err(Error::KeyTooLong { max, .. }) if max == limits.key_len_max));
        let several = txn.create_multi_table::<Bytes, Bytes>("several").unwrap();
        let longest = vec![7; limits.multi_value_len_max];
        several.insert(&mut txn, b"", &longest).unwrap();
        let refused = several.insert(&mut txn, b"", [&longest[..], b"7"].concat());
        assert!(matches!(refused, Err(Error::ValueTooLong { .. })));
        assert_eq!(
            limits.file_bytes_max,
            page_size as u64 * u64::from(u32::MAX)
        );
        assert!(limits.value_len_max < limits.file_bytes_max);
        // A value of this length has pages of its own.
        words.clear(&mut txn).unwrap();
        words
            .insert(&mut txn, b"", vec![7; limits.inline_record_len_max])
            .unwrap();
        assert!(words.stat(&txn).unwrap().value_pages > 0);
        words
            .insert(&mut txn, b"", vec![7; limits.inline_record_len_max - 64])
            .unwrap();
        assert_eq!(words.stat(&txn).unwrap().value_pages, 0);
    }
    for wrong in [0, 512, 5000, 131_072, usize::MAX] {
        assert!(matches!(
            teak::limits(wrong),
            Err(Error::InvalidArgument(_))
        ));
    }
}

/// `preopen_snapinfo`: also while it is open, and of other files.
#[test]
fn preopen_info() {
    let Fixture {
        database,
        path,
        _directory,
    } = fixture();
    let mut txn = database.begin_write().unwrap();
    table(&mut txn, &TREES);
    let transaction = txn.commit().unwrap();
    let info = teak::inspect(&path).unwrap();
    assert_eq!((info.transaction, info.was_closed), (transaction, false));
    assert_eq!((info.page_size, info.geometry), (4096, Default::default()));
    assert_eq!(info.file_bytes, fs::metadata(&path).unwrap().len());
    assert!(info.database_bytes <= info.file_bytes);
    database.close().unwrap();
    let info = teak::inspect(&path).unwrap();
    assert_eq!(info.durable_transaction, info.transaction);
    assert!(info.was_closed && info.unreadable_records.is_empty());

    let directory = path.parent().unwrap();
    assert!(matches!(
        teak::inspect(directory),
        Err(Error::NotADatabase { .. })
    ));
    assert!(matches!(
        teak::inspect(directory.join("none")),
        Err(Error::NotFound(_))
    ));
    let other = directory.join("other");
    for bytes in [&b""[..], b"text", &[0; 100_000]] {
        fs::write(&other, bytes).unwrap();
        assert!(matches!(
            teak::inspect(&other),
            Err(Error::NotADatabase { .. })
        ));
    }
    // One damaged record leaves others.
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let info = teak::inspect(&path).unwrap();
    assert!(info.unreadable_records.len() <= 1);
    assert!(Database::open(&path).is_ok());
}

/// `env_pgwalk`.
#[test]
fn page_walk() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    for number in 0..5000u32 {
        words
            .insert(&mut txn, number.to_be_bytes(), [7; 100])
            .unwrap();
    }
    words.insert(&mut txn, b"large", [7; 10_000]).unwrap();
    txn.commit().unwrap();
    let txn = database.begin_read().unwrap();
    let stat = words.stat(&txn).unwrap();
    let mut counts: BTreeMap<(bool, String), u64> = BTreeMap::new();
    let mut records = 0;
    let count = &mut |page: teak::PageVisit<'_>| {
        let kind = (page.table.is_some(), format!("{:?}", page.page_use));
        *counts.entry(kind).or_default() += u64::from(page.extent.len);
        assert!(page.used_bytes > 0 && page.birth <= stat.changed);
        assert!(page.used_bytes <= u64::from(page.extent.len) * 4096);
        if page.table == Some(b"words") && page.page_use == PageUse::Leaf {
            assert_eq!(page.level, 0);
            records += page.entries as u64;
        }
        ControlFlow::Continue(())
    };
    txn.walk_pages(count).unwrap();
    assert_eq!(records, stat.records);
    let of_table = |name: &str| counts[&(true, name.to_owned())];
    assert_eq!(of_table("Leaf"), stat.leaf_pages);
    assert_eq!(of_table("Inner"), stat.inner_pages);
    assert_eq!(of_table("Value"), stat.value_pages);
    assert_eq!(counts[&(false, "Leaf".to_owned())], 1);

    let mut seen = 0;
    let stop = &mut |_: teak::PageVisit<'_>| {
        seen += 1;
        match seen {
            7 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    txn.walk_pages(stop).unwrap();
    assert_eq!(seen, 7);
}

/// `is_dirty`: exact, and for any bytes.
#[test]
fn is_dirty() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.insert(&mut txn, b"large", [7; 100_000]).unwrap();
    for number in 0..2000u32 {
        words
            .insert(&mut txn, number.to_be_bytes(), [7; 100])
            .unwrap();
    }
    let value = |txn: &teak::WriteTxn, key: &[u8]| {
        let value = words.get(txn, key).unwrap().unwrap();
        (
            txn.is_changed(value),
            txn.is_changed(&value[value.len() / 2..]),
        )
    };
    assert_eq!(value(&txn, b"ash"), (true, true));
    assert_eq!(value(&txn, b"large"), (true, true));
    assert!(!txn.is_changed(b"elsewhere") && !txn.is_changed(&[]));
    txn.commit().unwrap();
    for durability in [teak::Durability::Durable, teak::Durability::Lazy] {
        let mut txn = database.begin_write().unwrap();
        txn.set_durability(durability);
        assert_eq!(value(&txn, b"ash"), (false, false));
        assert_eq!(value(&txn, b"large"), (false, false));
        words
            .insert(&mut txn, b"ash", format!("{durability:?}").as_bytes())
            .unwrap();
        assert_eq!(value(&txn, b"ash"), (true, true));
        assert_eq!(value(&txn, &5u32.to_be_bytes()), (false, false));
        assert_eq!(value(&txn, b"large"), (false, false));
        txn.commit().unwrap();
    }
}

/// `env_warmup`.
#[test]
fn warm_up() {
    let Fixture { database, .. } = &fixture();
    let mut txn = database.begin_write().unwrap();
    let words = table(&mut txn, &TREES);
    words.insert(&mut txn, b"large", vec![7; 20 << 20]).unwrap();
    txn.commit().unwrap();
    let used = |database: &Database| {
        let stat = database.stat().unwrap();
        (stat.page_count - stat.free_pages) * 4096
    };
    for method in [teak::WarmUp::Ask, teak::WarmUp::Read] {
        let warmed = database.warm_up(method, Duration::from_secs(3600)).unwrap();
        assert!(warmed.is_whole);
        assert!((20 << 20..=used(database)).contains(&warmed.bytes));
        let warmed = database.warm_up(method, Duration::ZERO).unwrap();
        assert!(!warmed.is_whole && warmed.bytes == 0);
    }
    let mut txn = database.begin_write().unwrap();
    words.remove(&mut txn, b"large").unwrap();
    txn.commit().unwrap();
    let mut txn = database.begin_write().unwrap();
    words.insert(&mut txn, b"small", b"").unwrap();
    txn.commit().unwrap();
    let warmed = database
        .warm_up(teak::WarmUp::Read, Duration::from_secs(3600))
        .unwrap();
    assert!(warmed.is_whole && warmed.bytes < 1 << 20);
}

/// The counts of `env_info`.
#[test]
fn metrics() {
    let Fixture { database, .. } = &fixture();
    assert_eq!(database.metrics().commits, 0);
    let mut txn = database.begin_write().unwrap();
    table(&mut txn, &TREES);
    txn.commit().unwrap();
    database.begin_write().unwrap().commit().unwrap();
    let metrics = database.metrics();
    assert_eq!(
        (metrics.commits, metrics.flushes, metrics.dead_pages),
        (1, 1, 0)
    );
    assert!(metrics.taken_pages >= 2);
    let mut txn = database.begin_write().unwrap();
    txn.drop_table("words").unwrap();
    txn.set_durability(teak::Durability::Lazy);
    txn.commit().unwrap();
    let metrics = database.metrics();
    assert_eq!((metrics.commits, metrics.flushes), (2, 1));
    assert!(metrics.dead_pages >= 2);
}
