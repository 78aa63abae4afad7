//! Pages far from the start of a file. Offsets beyond 4 GiB and beyond 4 TiB were truncated to 32
//! bits, or to 32 bits of another unit (redb).

use crate::io::FileAt;
use crate::transaction_tests::test_kit::PAGE_SIZE;
use crate::{
    Database, Options, Result, Transaction,
    codec::Bytes,
    record::{Record, SLOT_COUNT},
};
use std::{fs, path::Path};

/// Lengthens a closed database until its next pages are at `first_free`, without writing the
/// pages in between: the space log says that they were allocated.
fn lengthen(path: &Path, first_free: u32) {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut head = vec![0; usize::from(SLOT_COUNT) * PAGE_SIZE];
    file.read_exact_at(&mut head, 0).unwrap();
    let slots = head.chunks(PAGE_SIZE).zip(0..SLOT_COUNT);
    let mut newest = slots
        .filter_map(|(bytes, slot)| Record::decode(bytes, slot).ok())
        .max_by_key(|record| record.sequence)
        .unwrap();
    let first_taken = newest.page_count as u32;
    newest.transaction = newest.transaction.next();
    newest.flushed_transaction = newest.transaction;
    newest.page_count = u64::from(first_free);
    // A group of that transaction: one more than the one before, one run, no deaths.
    newest.space_log.extend([1, 1]);
    for number in [first_taken, first_free - first_taken] {
        newest.space_log.extend(varint(number));
    }
    newest.space_log.push(0);
    let len = u64::from(first_free) * PAGE_SIZE as u64;
    file.set_len(len).unwrap();
    let at = u64::from(newest.slot) * PAGE_SIZE as u64;
    file.write_all_at(&newest.encode(PAGE_SIZE), at).unwrap();
}

fn varint(number: u32) -> Vec<u8> {
    let parts: Vec<u8> = (0..5)
        .map(|part| (u64::from(number) >> (7 * part)) as u8 & 0x7f)
        .collect();
    let last = parts.iter().rposition(|part| *part != 0).unwrap_or(0);
    let more = |index: usize| if index < last { 0x80 } else { 0 };
    (0..=last).map(|index| parts[index] | more(index)).collect()
}

fn key(i: u32) -> [u8; 4] {
    i.to_be_bytes()
}

fn assert_there(database: &Database) -> Result<()> {
    let txn = database.begin_read()?;
    let table = txn.open_table::<Bytes, Bytes>("far")?;
    assert_eq!(table.get(&txn, b"large")?, Some(&[7; 50_000][..]));
    for i in 0..500 {
        assert_eq!(table.get(&txn, key(i))?, Some(&[i as u8; 100][..]));
    }
    assert_eq!(table.iter(&txn)?.filter(Result::is_ok).count(), 501);
    Ok(())
}

/// One page below the boundary at 4 GiB, and one below that at 4 TiB.
#[test]
fn pages_on_both_sides_of_4_gib_and_4_tib_are_written_and_read() -> Result<()> {
    for boundary in [4u64 << 30, 4 << 40] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a.teak");
        let database = Database::open(&path)?;
        let mut txn = database.begin_write()?;
        txn.create_table::<Bytes, Bytes>("near")?;
        txn.commit()?;
        database.close()?;
        lengthen(&path, (boundary / PAGE_SIZE as u64) as u32 - 1);

        let database = Options::new().open(&path)?;
        let mut txn = database.begin_write()?;
        let table = txn.create_table::<Bytes, Bytes>("far")?;
        for i in 0..500 {
            table.insert(&mut txn, key(i), [i as u8; 100])?;
        }
        table.insert(&mut txn, b"large", [7; 50_000])?;
        txn.commit()?;
        assert_there(&database)?;
        database.close()?;
        assert!(fs::metadata(&path).expect("it is there").len() > boundary);
        let database = Database::open(&path)?;
        assert_there(&database)?;
        let txn = database.begin_read()?;
        assert!(txn.open_table::<Bytes, Bytes>("near")?.is_empty(&txn)?);
    }
    Ok(())
}
