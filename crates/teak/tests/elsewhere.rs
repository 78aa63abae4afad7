//! Past bugs of other engines, each with a small test that describes the bug. Tests that need
//! internals are next to the code that they concern; `docs/regressions.md` lists all of them.

use crate::shared::closed_len;
use std::ops::ControlFlow;
use teak::{Database, Error, Options, Table, Transaction};

type Raw = Table<Vec<u8>, Vec<u8>>;

/// Too strict checks treated valid extremes as damage (LMDB with the checks of py-lmdb, #431), and
/// others accepted records that did not fit. Keys and values of every length at a limit survive a
/// round trip, and the check finds nothing.
#[test]
fn lengths_at_every_limit_survive_a_round_trip() -> teak::Result<()> {
    for page_size in [4096, 8192, 65536] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.teak");
        let database = Options::new().page_size(page_size).open(&path)?;
        let longest = database.info().max_key_len;
        let inline = (page_size - 24) / 2;
        let borders = [1, 4, 32, inline, page_size - 24, page_size, 2 * page_size];
        let mut value_lens: Vec<usize> = borders.iter().flat_map(|b| b - 1..=b + 1).collect();
        value_lens.extend([128 << 10, (1 << 20) - 1, 1 << 20, (1 << 20) + 1]);
        let key_lens = [0, 1, 3, 4, 5, longest / 2, longest - 1, longest];
        let records = || {
            let values = value_lens.iter().enumerate();
            values.flat_map(|(i, value_len)| {
                key_lens.iter().enumerate().filter_map(move |(j, key_len)| {
                    // A few of the long ones are enough.
                    let is_left_out = *value_len > 200 << 10 && j % 4 != 0;
                    // Shorter keys cannot tell all values apart.
                    let is_double = *key_len == 0 && i > 0;
                    let key = vec![i as u8; *key_len];
                    let value = vec![(i * 8 + j) as u8; *value_len];
                    (!is_left_out && !is_double).then_some((key, value))
                })
            })
        };
        let mut txn = database.begin_write()?;
        let table: Raw = txn.create_table("lengths")?;
        for (key, value) in records() {
            table.insert(&mut txn, &key, &value)?;
        }
        let long = vec![0; longest + 1];
        let refused = table.insert(&mut txn, &long, b"");
        assert!(matches!(refused, Err(Error::KeyTooLong { .. })));
        txn.commit()?;
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))?
                .is_clean()
        );
        database.close()?;

        let database = Database::open(&path)?;
        let txn = database.begin_read()?;
        for (key, value) in records() {
            let found = table.get(&txn, &key)?;
            assert!(found == Some(&value[..]), "{} {}", key.len(), value.len());
        }
        drop(txn);
        let mut txn = database.begin_write()?;
        for (key, _) in records() {
            assert!(table.remove(&mut txn, &key)?);
        }
        assert!(table.is_empty(&txn)?);
        txn.commit()?;
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))?
                .is_clean()
        );
    }
    Ok(())
}

/// A page with 65,536 entries had a 16-bit count of zero (redb). This many of the smallest records,
/// in pages of 64 KiB, are inserted in order, in random order, and in one batch.
#[test]
fn more_small_records_than_16_bits_can_count() -> teak::Result<()> {
    const COUNT: u32 = 70_000;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = Options::new().page_size(65536);
    let database = options.open(directory.path().join("a.teak"))?;
    let key = |i: u32| (i as u16).to_be_bytes()[u32::from(i > 65_535) as usize..].to_vec();
    let mut txn = database.begin_write()?;
    let ordered: Raw = txn.create_table("in order")?;
    let scattered: Raw = txn.create_table("scattered")?;
    let loaded: Raw = txn.create_table("at once")?;
    let mut model = std::collections::BTreeSet::new();
    for i in 0..COUNT {
        model.insert(key(i));
        ordered.insert(&mut txn, key(i), b"")?;
        scattered.insert(&mut txn, key(i.wrapping_mul(40_503) % 65_536), b"")?;
    }
    loaded.bulk_load(&mut txn, model.iter().map(|key| (key, b"")))?;
    txn.commit()?;
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))?
            .is_clean()
    );
    let txn = database.begin_read()?;
    assert_eq!(scattered.len(&txn)?, 65_536);
    for table in [ordered, loaded] {
        let keys = table.iter(&txn)?.map(|record| record.map(|(key, _)| key));
        assert!(keys.collect::<teak::Result<Vec<_>>>()?.iter().eq(&model));
    }
    Ok(())
}

/// A table that was renamed or deleted in the transaction that had changed it, or a savepoint
/// rolled back after changes, leaked pages or led to those of another table (redb 4.1).
#[test]
fn a_table_is_changed_renamed_dropped_and_restored_in_one_transaction() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = Database::open(directory.path().join("a.teak"))?;
    let fill = |txn: &mut teak::WriteTxn, name: &str, byte: u8| -> teak::Result<Raw> {
        let table: Raw = txn.create_table(name)?;
        for i in 0..300u32 {
            table.insert(txn, i.to_be_bytes(), [byte; 100])?;
        }
        table.insert(txn, b"large", [byte; 20_000])?;
        Ok(table)
    };
    let content = |txn: &teak::ReadTxn| -> teak::Result<Vec<(Vec<u8>, u8, u64)>> {
        let describe = |info: teak::TableInfo| {
            let table: Raw = txn.open_table(&info.name)?;
            let byte = table.get(txn, b"large")?.map_or(0, |value| value[0]);
            Ok((info.name, byte, table.len(txn)?))
        };
        txn.tables()?.into_iter().map(describe).collect()
    };
    for round in 0..4u8 {
        let mut txn = database.begin_write()?;
        fill(&mut txn, "a", round)?;
        txn.rename_table("a", "b")?;
        fill(&mut txn, "a", 10 + round)?;
        let outer = txn.savepoint()?;
        fill(&mut txn, "b", 99)?;
        assert!(txn.drop_table("a")?);
        txn.rename_table("b", "a")?;
        let inner = txn.savepoint()?;
        fill(&mut txn, "a", 98)?;
        assert!(txn.drop_table("a")?);
        txn.rollback_to(&inner)?;
        let a: Raw = txn.open_table("a")?;
        assert_eq!(a.get(&txn, b"large")?, Some(&[99; 20_000][..]));
        if round % 2 == 0 {
            txn.rollback_to(&outer)?;
        } else {
            fill(&mut txn, "b", round)?;
            fill(&mut txn, "a", 10 + round)?;
        }
        txn.commit()?;
        let expected = [
            (b"a".to_vec(), 10 + round, 301),
            (b"b".to_vec(), round, 301),
        ];
        assert_eq!(content(&database.begin_read()?)?, expected);
        let report = database.check(&mut |_| ControlFlow::Continue(()))?;
        assert!(report.is_clean(), "{:#?}", report.damages);
        let mut txn = database.begin_write()?;
        assert!(txn.drop_table("b")?);
        txn.rename_table("a", "c")?;
        assert!(txn.drop_table("c")?);
        txn.commit()?;
        assert!(database.begin_read()?.tables()?.is_empty());
        assert!(
            database
                .check(&mut |_| ControlFlow::Continue(()))?
                .is_clean()
        );
    }
    Ok(())
}

/// A file that a crash had left unfinished caused a signal (bbolt). Empty files, zeros, parts of a
/// record, and truncated databases give errors, and are unchanged.
#[test]
fn an_unfinished_file_is_refused_and_unchanged() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.teak");
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table: Raw = txn.create_table("values")?;
    table.insert(&mut txn, b"large", [1; 30_000])?;
    txn.commit()?;
    database.close()?;
    // It may become as short as its commit only now.
    closed_len(&path);
    let whole = std::fs::read(&path).expect("reads");
    let mut halves: Vec<Vec<u8>> = [0, 1, 511, 512, 4095, 4096, 4 * 4096, 1 << 20]
        .map(|len| vec![0; len])
        .into();
    halves.extend(
        (0..whole.len())
            .step_by(512)
            .map(|len| whole[..len].to_vec()),
    );
    for half in halves {
        std::fs::write(&path, &half).expect("writes");
        for is_read_only in [false, true] {
            // These are treated as files made for the database: see `tests/access.rs`,
            // `open/open_database_tests.rs`.
            if [0, 4 * 4096].contains(&half.len())
                && half.iter().all(|byte| *byte == 0)
                && !is_read_only
            {
                continue;
            }
            let opened = Options::new().read_only(is_read_only).open(&path);
            let is_expected = matches!(
                opened,
                Err(Error::NotADatabase { .. } | Error::Corrupted { .. })
            );
            assert!(is_expected, "{} bytes: {opened:?}", half.len());
        }
        assert!(std::fs::read(&path).expect("reads") == half);
    }
    Ok(())
}

/// With all metas unusable, or a bad one that a read-only open would repair, there was a signal
/// (libmdbx). A read-only open uses the record before, and writes nothing.
#[test]
fn opening_read_only_repairs_nothing() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.teak");
    let database = Database::open(&path)?;
    for i in 0..6u32 {
        let mut txn = database.begin_write()?;
        let table: Raw = txn.create_table("values")?;
        table.insert(&mut txn, i.to_be_bytes(), b"value")?;
        txn.commit()?;
    }
    database.close()?;
    let whole = std::fs::read(&path).expect("reads");
    let mut opened_count = 0;
    // The damaged ones among the four records.
    for mask in 0..16u8 {
        let mut image = whole.clone();
        for slot in (0..4).filter(|slot| mask >> slot & 1 == 1) {
            image[slot * 4096 + 100] ^= 1;
        }
        std::fs::write(&path, &image).expect("writes");
        match Options::new().read_only(true).open(&path) {
            Ok(database) => {
                opened_count += 1;
                let txn = database.begin_read()?;
                let table: Raw = txn.open_table("values")?;
                assert!((4..=6).contains(&table.len(&txn)?));
                assert!(matches!(database.begin_write(), Err(Error::ReadOnly)));
            }
            Err(Error::Corrupted { .. } | Error::NotADatabase { .. }) => {}
            Err(error) => return Err(error),
        }
        assert!(std::fs::read(&path).expect("reads") == image, "{mask:04b}");
    }
    assert!(
        (8..16).contains(&opened_count),
        "{opened_count} were opened"
    );
    Ok(())
}

/// If one file was opened twice in one process, and one of both was closed, the other lost its
/// lock, by the rules of POSIX locks. Here the second opening returns the same database. Opening it
/// by another name of the file is refused, and removes no lock.
#[test]
fn a_database_is_open_once_in_a_process() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.teak");
    let database = Database::open(&path)?;
    let link = directory.path().join("link.teak");
    std::fs::hard_link(&path, &link).expect("links");
    for _ in 0..3 {
        Database::open(&path)?.close()?;
        drop(std::fs::File::open(&path).expect("opens"));
    }
    assert!(matches!(Database::open(&link), Err(Error::InUse(_))));
    let reading = Options::new().read_only(true).open(&link);
    assert!(matches!(reading, Err(Error::InUse(_))));
    database.begin_read()?;
    database.close()?;
    Database::open(&link)?.close()
}

/// After an error, an iterator continued with later records, as if those in between did not exist
/// (redb 5.0 in development). After the first error, the iterator ends.
#[test]
fn an_iterator_ends_after_its_first_error() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.teak");
    let database = Database::open(&path)?;
    let mut txn = database.begin_write()?;
    let table: Raw = txn.create_table("values")?;
    for i in 0..2000u32 {
        table.insert(
            &mut txn,
            i.to_be_bytes(),
            format!("value {i:05}").as_bytes(),
        )?;
    }
    txn.commit()?;
    database.close()?;
    let mut image = std::fs::read(&path).expect("reads");
    let needle = b"value 01000";
    let offsets: Vec<usize> = (0..image.len() - needle.len())
        .filter(|at| image[*at..].starts_with(needle))
        .collect();
    offsets.iter().for_each(|at| image[*at] ^= 1);
    std::fs::write(&path, image).expect("writes");
    let database = Database::open(&path)?;
    let txn = database.begin_read()?;
    let table: Raw = txn.open_table("values")?;
    fn follow<T>(records: impl Iterator<Item = teak::Result<(Vec<u8>, T)>>) -> Vec<Option<u32>> {
        let number = |key: Vec<u8>| u32::from_be_bytes(key.try_into().expect("four bytes"));
        records
            .map(|record| record.ok().map(|(key, _)| number(key)))
            .collect()
    }
    let forwards = [
        follow(table.iter(&txn)?),
        follow(table.range(..).owned(&txn)?),
    ];
    let backwards = [
        follow(table.iter(&txn)?.rev()),
        follow(table.range(..).owned(&txn)?.rev()),
    ];
    for (met, is_forwards) in forwards
        .iter()
        .map(|m| (m, true))
        .chain(backwards.iter().map(|m| (m, false)))
    {
        let (last, before) = met.split_last().expect("something came");
        assert_eq!(*last, None, "the error is the last item");
        assert!(before.len() > 500 && before.len() < 1000);
        for (i, found) in (0..).zip(before) {
            assert_eq!(*found, Some(if is_forwards { i } else { 1999 - i }));
        }
    }
    Ok(())
}

/// Deleting all values of the only key damaged the table (libmdbx). Here a table is emptied in each
/// possible way, and filled again: nothing is left over, and the file does not grow.
#[test]
fn emptied_tables_are_filled_again() -> teak::Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let database = Database::open(directory.path().join("a.teak"))?;
    let mut len_max = 0;
    for round in 0..24u32 {
        let mut txn = database.begin_write()?;
        let table: Raw = txn.create_table("values")?;
        for i in 0..400u32 {
            let value = vec![round as u8; if i % 50 == 0 { 9000 } else { 90 }];
            table.insert(&mut txn, i.to_be_bytes(), &value)?;
        }
        txn.commit()?;
        let mut txn = database.begin_write()?;
        match round % 4 {
            0 => table.clear(&mut txn)?,
            1 => assert_eq!(table.range(..).remove(&mut txn)?, 400),
            2 => assert!(txn.drop_table("values")?),
            _ => {
                for i in 0..400u32 {
                    assert!(table.remove(&mut txn, i.to_be_bytes())?);
                }
            }
        }
        txn.commit()?;
        let report = database.check(&mut |_| ControlFlow::Continue(()))?;
        assert!(report.is_clean(), "{round}: {:#?}", report.damages);
        assert_eq!(report.records, 0);
        match round {
            0..8 => len_max = len_max.max(database.stat()?.file_bytes),
            _ => assert!(database.stat()?.file_bytes <= len_max, "round {round}"),
        }
    }
    Ok(())
}
