//! A file that claims to have a million pages is usable.

use super::*;
use crate::{Database, Options, PageUse, Result, Table, Transaction};
use std::{ops::Range, path::PathBuf};

/// 4 GiB, almost all of them holes.
const PAGES: u64 = 1 << 20;

/// SplitMix64, of Steele, Lea and Flood.
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

fn insert(database: &Database, keys: Range<u64>) -> Result<()> {
    let mut txn = database.begin_write()?;
    let table: Table<u64, u64> = txn.create_table("numbers")?;
    for key in keys {
        table.insert(&mut txn, key, key + 1)?;
    }
    txn.commit()?;
    Ok(())
}

/// A vast file, its contents, and its path.
fn vast(directory: &Path, vast: &VastFile) -> Result<(PathBuf, VastCounts)> {
    let path = directory.join("vast");
    let database = Database::open(&path)?;
    insert(&database, 0..1000)?;
    insert(&database, 1000..2000)?;
    database.close()?;
    let counts = make_vast(&path, vast, &mut numbers(1))?;
    Ok((path, counts))
}

fn count(database: &Database, wanted: PageUse) -> Result<u64> {
    let uses = database.page_kinds()?;
    Ok(uses.iter().filter(|found| **found == wanted).count() as u64)
}

#[test]
fn the_map_has_the_requested_contents() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let asked = VastFile {
        page_count: PAGES,
        used_percent: 90,
        pending_pages: 30_000,
        free_extents: vec![256, 16_384],
    };
    let (path, counts) = vast(directory.path(), &asked)?;
    assert_eq!(counts.pending_pages, 30_000);
    assert!(counts.free_pages.abs_diff(PAGES / 10) < PAGES / 50);

    let database = Options::new().read_only(true).open(&path)?;
    let stat = database.stat()?;
    assert_eq!(stat.page_count, PAGES);
    // Some dead pages become free when the file is read.
    let unused = counts.free_pages + counts.pending_pages;
    assert_eq!(stat.free_pages + stat.pending_pages, unused);
    assert_eq!(count(&database, PageUse::Free)?, stat.free_pages);
    assert_eq!(count(&database, PageUse::SpaceMap)?, counts.map_pages);
    let longest = database
        .page_kinds()?
        .chunk_by(|a, b| a == b)
        .filter(|extent| extent[0] == PageUse::Free)
        .map(<[_]>::len)
        .max();
    // Dead pages directly after it may have become free.
    assert!(longest.is_some_and(|len| (16_384..16_400).contains(&len)));
    Ok(())
}

#[test]
fn it_can_be_written_to_and_closed() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let asked = VastFile {
        page_count: PAGES,
        used_percent: 90,
        pending_pages: 5000,
        free_extents: vec![],
    };
    let (path, counts) = vast(directory.path(), &asked)?;
    // With a journal, dead pages would wait for its flush.
    let database = Options::new().journal_bytes(0).open(&path)?;
    for key in 0..200 {
        insert(&database, 5000 + 10 * key..5000 + 10 * (key + 1))?;
    }
    // Only those of the last commit.
    assert!(database.stat()?.pending_pages < 64);
    insert(&database, 7000..7001)?;
    database.close()?;

    let database = Database::open(&path)?;
    let stat = database.stat()?;
    assert!(stat.free_pages > counts.free_pages + 4000);
    let read = database.begin_read()?;
    let table: Table<u64, u64> = read.open_table("numbers")?;
    for key in (0..2000).chain(5000..7001) {
        assert_eq!(table.get(&read, key)?, Some(key + 1));
    }
    Ok(())
}

#[test]
fn a_map_without_room_is_refused() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let asked = VastFile {
        page_count: 1000,
        used_percent: 90,
        pending_pages: 0,
        free_extents: vec![1000],
    };
    let refused = vast(directory.path(), &asked).unwrap_err();
    assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    Ok(())
}
