use super::{
    Journal,
    entry::{HEAD_LEN, JournalEntry, RECORD},
};
use crate::commit::journal::changes::CommitChanges;
use crate::{
    Checksum, Error, TransactionId,
    commit::state::CommitState,
    instance::engine::Engine,
    io::{
        Storage,
        sim::{Call, Fault, SimDisk},
    },
    observe::recovery::Recovery,
    record::durability::Durability,
    transaction_tests::test_kit::{
        BOOT, CAPACITY, OTHER_BOOT, PAGE_SIZE, assert_clean, fill, get, key, open, open_read_only,
        put, settings_with,
    },
    write::transaction::WriteTransaction,
};
use fastrand::Rng;
use std::{path::PathBuf, sync::Arc};

const PAGES: u64 = 8;

fn opened(disk: &SimDisk, is_new: bool, boot: [u8; 16]) -> Arc<Engine> {
    let settings = settings_with(|settings| {
        settings.journal_bytes = Some(PAGES * PAGE_SIZE as u64);
    });
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let path = PathBuf::from("simulated");
    Arc::new(Engine::open_storage(storage, path, is_new, false, settings, boot).unwrap())
}

/// A database with a thousand records and an empty journal, all of it on the disk.
fn with_journal() -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(CAPACITY);
    let database = opened(&disk, true, BOOT);
    fill(&database, (0..1000).map(|n| (key(n), vec![1; 50])));
    change(&database, 0, Durability::Durable);
    change(&database, 1, Durability::Durable);
    (disk, database)
}

fn change(database: &Arc<Engine>, number: u32, durability: Durability) -> TransactionId {
    put(database, durability, [(key(number), vec![2; 50])]).unwrap()
}

fn calls_of(disk: &SimDisk, work: impl FnOnce()) -> Vec<Call> {
    let before = disk.call_kinds().len();
    work();
    let mut calls = disk.call_kinds();
    calls.drain(..before);
    calls
}

/// The disk after a power cut that lost everything that was not flushed.
fn cut(disk: &SimDisk) -> SimDisk {
    let image = disk.power_cut(&mut |_| 0, PAGE_SIZE);
    SimDisk::from_image(image, CAPACITY)
}

#[test]
fn a_small_commit_is_on_the_disk_with_one_write_to_the_journal() {
    let (disk, database) = with_journal();
    let calls = calls_of(&disk, || {
        change(&database, 500, Durability::Durable);
    });
    let count = |kind| calls.iter().filter(|call| **call == kind).count();
    assert_eq!(
        (count(Call::WriteThrough), count(Call::Flush)),
        (1, 0),
        "{calls:?}"
    );
}

#[test]
fn the_journal_is_redone_after_a_power_cut() {
    let (disk, database) = with_journal();
    for number in 10..14 {
        change(&database, number * 50, Durability::Durable);
    }
    let last = database.newest();
    // No thread waits for this commit.
    change(&database, 900, Durability::Lazy);
    let disk = cut(&disk);
    assert!(matches!(
        open_read_only(&disk),
        Err(Error::InvalidArgument(_))
    ));
    let database = open(&disk, false, OTHER_BOOT).unwrap();
    assert_eq!(*database.recovery(), Recovery::Verified { last });
    for number in [0, 1, 500, 550, 600, 650] {
        assert_eq!(get(&database, b"a", &key(number)), Some(vec![2; 50]));
    }
    assert_eq!(get(&database, b"a", &key(900)), Some(vec![1; 50]));
    assert_clean(&database);
}

#[test]
fn a_full_journal_is_flushed_and_restarts() {
    let (disk, database) = with_journal();
    let calls = calls_of(&disk, || {
        for number in 0..4 * PAGES as u32 {
            change(&database, number * 20, Durability::Durable);
        }
    });
    let flushes = calls.iter().filter(|call| **call == Call::Flush).count();
    assert!((2..=5).contains(&flushes), "{flushes} flushes");
    let image = cut(&disk);
    drop(database);
    // A thread that has ended by now told the system before each of them to begin. Elsewhere one
    // that was late did not.
    let begun = disk.write_back_count();
    assert!(begun == flushes as u64 || cfg!(any(not(unix), teak_plain)));
    let disk = image;
    let database = open(&disk, false, OTHER_BOOT).unwrap();
    for number in 0..4 * PAGES as u32 {
        assert_eq!(get(&database, b"a", &key(number * 20)), Some(vec![2; 50]));
    }
    assert_clean(&database);
}

#[test]
fn pages_of_a_commit_that_only_the_journal_has_are_not_reused() {
    let (disk, database) = with_journal();
    let last = change(&database, 500, Durability::Durable);
    // Each of these rewrites what the previous one wrote.
    for _ in 0..20 {
        change(&database, 500, Durability::Lazy);
    }
    let database = open(&cut(&disk), false, OTHER_BOOT).unwrap();
    assert_eq!(*database.recovery(), Recovery::Verified { last });
    assert_clean(&database);
}

#[test]
fn a_state_kept_by_a_name_is_flushed() {
    let (disk, database) = with_journal();
    let calls = calls_of(&disk, || {
        let mut txn = WriteTransaction::begin(&database).unwrap();
        txn.create_snapshot(b"monday").unwrap();
        txn.commit().unwrap();
    });
    assert!(calls.contains(&Call::Flush) && !calls.contains(&Call::WriteThrough));
}

#[test]
fn a_failed_write_to_the_journal_is_not_retried() {
    let (disk, database) = with_journal();
    let calls = calls_of(&disk, || {
        change(&database, 500, Durability::Durable);
    });
    let index = calls
        .iter()
        .position(|call| *call == Call::WriteThrough)
        .unwrap() as u64;
    disk.fail_on(disk.calls() + index, Fault::DISK_ERROR);
    let failed = put(&database, Durability::Durable, [(key(600), vec![2; 50])]);
    assert!(matches!(
        failed,
        Err(Error::Io {
            operation: "writing to the journal",
            ..
        })
    ));
    let again = put(&database, Durability::Durable, [(key(600), vec![2; 50])]);
    assert!(matches!(again, Err(Error::Poisoned { .. })));
    assert_eq!(get(&database, b"a", &key(600)), Some(vec![1; 50]));
}

#[test]
fn a_closed_database_needs_no_redo() {
    let (disk, database) = with_journal();
    change(&database, 500, Durability::Durable);
    database.close().unwrap();
    drop(database);
    let database = open(&cut(&disk), false, OTHER_BOOT).unwrap();
    assert_eq!(*database.recovery(), Recovery::Clean);
    assert_eq!(get(&database, b"a", &key(500)), Some(vec![2; 50]));
}

#[test]
fn an_entry_has_the_bytes_that_differ() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..200 {
        let mut old = vec![0; PAGE_SIZE];
        rng.fill(&mut old);
        let mut new = old.clone();
        for _ in 0..rng.usize(0..6) {
            let start = rng.usize(0..PAGE_SIZE);
            let end = (start + rng.usize(0..300)).min(PAGE_SIZE);
            rng.fill(&mut new[start..end]);
        }
        let mut entry = JournalEntry::new(Checksum(7));
        entry.put(2, RECORD, &new, Some(&old));
        entry.put(9, 0, &new, None);
        let (bytes, checksum) = entry.finish(PAGE_SIZE);
        assert!(bytes.len() < 3 * PAGE_SIZE && bytes.len().is_multiple_of(PAGE_SIZE));
        assert_eq!(bytes[8..16], checksum.0.to_le_bytes());
        let len = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
        let mut patched = old.clone();
        let found = super::redo::patch_record(&bytes[..len], &mut patched);
        assert_eq!(found, Some((2, 2)));
        assert_eq!(patched, new);
    }
}

/// Entries with correct checksums and arbitrary contents.
#[test]
fn nonsense_in_an_entry_is_an_error() {
    let (disk, database) = with_journal();
    let last = change(&database, 500, Durability::Durable);
    let extent = database
        .begin_read()
        .unwrap()
        .record
        .journal
        .unwrap()
        .extent;
    let image = disk.power_cut(&mut |_| 0, PAGE_SIZE);
    let start = extent.start.0 as usize * PAGE_SIZE;
    let len = u32::from_le_bytes(image[start + 16..start + 20].try_into().unwrap()) as usize;
    let mut rng = Rng::with_seed(1);
    let mut outcomes = [0; 2];
    for _ in 0..2000 {
        let mut image = image.clone();
        let entry = &mut image[start..start + len];
        for _ in 0..rng.usize(1..4) {
            entry[rng.usize(HEAD_LEN..len)] = [0, 1, 0xff, rng.u8(..)][rng.usize(0..4)];
        }
        let checksum = Checksum::of(&entry[16..]);
        entry[8..16].copy_from_slice(&checksum.0.to_le_bytes());
        let disk = SimDisk::from_image(image, CAPACITY);
        match open(&disk, false, OTHER_BOOT) {
            // The difference is within a value, or there is none.
            Ok(database) => {
                outcomes[0] += 1;
                assert!(database.newest() <= last);
            }
            Err(error) => {
                outcomes[1] += 1;
                assert!(matches!(error, Error::Corrupted { .. }), "{error}");
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 20), "{outcomes:?}");
}

/// A process may attach over a commit that is not flushed, or that another process has flushed
/// meanwhile. It then knows only a part of the changes since the last durable commit.
#[test]
fn a_process_that_knows_only_a_part_of_the_new_pages_flushes() {
    let (disk, database) = with_journal();
    database.committer.flush_journaled().unwrap();
    let newest = || database.committer.commit_state.lock().newest();
    let flushed = newest();
    change(&database, 500, Durability::Lazy);
    let first = newest();
    change(&database, 501, Durability::Lazy);
    let second = newest();
    let changes_after = |base| CommitChanges {
        base,
        new_pages: Some(Vec::new()),
        deaths: Vec::new(),
        is_to_shrink: false,
        journal: database.begin_read().unwrap().record.journal,
        mapping: disk.mapping().unwrap(),
    };
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    for (begun, knows_all) in [(first, false), (flushed, true)] {
        let mut state = CommitState::new(begun, [0; 4], begun.slot);
        state.set_durable(flushed);
        state.become_leader();
        for (before, commit) in [(flushed, first), (first, second)] {
            if commit.transaction > begun.transaction {
                let changes = changes_after(before.transaction);
                state.note_changes(commit.transaction, &changes);
            }
        }
        let target = state.begin_flush(second);
        let noted = Journal::default().append(&storage, PAGE_SIZE, &target);
        assert_eq!(noted.unwrap().is_some(), knows_all);
    }
}
