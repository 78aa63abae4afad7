use super::{entry::half_number_at, *};
use std::path::{Path, PathBuf};

/// The record of a database, the same each time.
fn record() -> Record {
    static RECORD: std::sync::OnceLock<Record> = std::sync::OnceLock::new();
    let new = || {
        let disk = crate::io::sim::SimDisk::new(1 << 20);
        let settings = crate::instance::policies::Settings::default();
        crate::open::settle::format(&disk, Path::new("x"), &settings, [0; 16]).unwrap()
    };
    RECORD.get_or_init(new).clone()
}

fn change<'c>(key: &'c str, value: Option<&'c str>) -> Change<'c> {
    Change {
        table: b"words",
        key: key.as_bytes(),
        value: value.map(str::as_bytes),
    }
}

/// A log that has begun after the commit of [`record`], and its path.
fn begun() -> (tempfile::TempDir, PathBuf, Wal) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    let mut wal = Wal::create(&path, LockMode::Masked(0o600)).unwrap();
    wal.begin(&record(), None);
    (directory, path, wal)
}

/// The log that recovery finds there.
fn left_at(path: &Path, record: &Record) -> LeftWal {
    let location: Arc<dyn LogLocation> = Arc::new(path.to_path_buf());
    LeftWal::read(&location, record, None).unwrap()
}

/// The changes of a commit.
fn operations(changes: &[Change<'_>]) -> Operations {
    let mut operations = Operations::default();
    for change in changes {
        operations.push(*change);
    }
    operations
}

/// Appends the entry of a commit with one change.
fn append(wal: &mut Wal, change: Change<'_>) {
    let changes = operations(&[change]);
    assert!(wal.make_room(&changes, false));
    wal.append(&changes, false).unwrap();
}

/// A log with two commits, and its path.
fn written() -> (tempfile::TempDir, PathBuf) {
    let (directory, path, mut wal) = begun();
    let first = operations(&[change("ash", Some("1")), change("elm", None)]);
    assert!(wal.make_room(&first, false));
    wal.append(&first, false).unwrap();
    append(&mut wal, change("", Some("")));
    (directory, path)
}

#[test]
fn commits_are_read_back() {
    let (_directory, path) = written();
    let left = left_at(&path, &record());
    assert_eq!(left.commit_count(), 2);
    assert_eq!(left.entries[0], HEADER_LEN);
    let changes: Vec<_> = left.changes().collect();
    assert_eq!(
        changes,
        [
            change("ash", Some("1")),
            change("elm", None),
            change("", Some(""))
        ]
    );
}

/// Entries after a place are erased: in the half that is written, and in the other one.
#[test]
fn a_log_that_is_cut_ends_there() {
    for turns_over in [false, true] {
        let (_directory, path, mut wal) = begun();
        append(&mut wal, change("ash", Some("1")));
        let position = wal.position();
        append(&mut wal, change("elm", Some("2")));
        if turns_over {
            wal.turn_over(TransactionId(record().transaction.0 + 2));
            append(&mut wal, change("fir", Some("3")));
        }
        let count = || left_at(&path, &record()).commit_count();
        assert_eq!(count(), 2 + u64::from(turns_over));
        wal.cut(position);
        assert_eq!(count(), 1);
    }
}

/// The half is full to its last byte: there is no entry after it to erase.
#[test]
fn a_full_half_is_not_cut() {
    let (_directory, path, mut wal) = begun();
    let empty = |value| Change {
        table: b"words",
        key: b"ash",
        value: Some(value),
    };
    let rest = half_len() - HEADER_LEN - ENTRY_HEAD_LEN - operations(&[empty(b"")]).len();
    let value = vec![1; rest];
    append(&mut wal, empty(&value));
    assert_eq!(wal.fill(), 100);
    wal.cut(wal.position());
    let left = left_at(&path, &record());
    assert_eq!(left.commit_count(), 1);
}

/// Durable commits in the log rely on the commit that the older half follows.
#[test]
fn the_older_half_follows_an_earlier_commit() {
    let (_directory, _path, mut wal) = begun();
    let first = record().transaction;
    assert_eq!(wal.follows(), (first, first));
    append(&mut wal, change("ash", None));
    let second = TransactionId(first.0 + 1);
    wal.turn_over(second);
    assert_eq!(wal.follows(), (first, second));
    wal.turn_over(TransactionId(first.0 + 9));
    assert_eq!(wal.follows(), (first, second), "the half has no entry yet");
    append(&mut wal, change("ash", None));
    let third = TransactionId(first.0 + 2);
    wal.turn_over(third);
    assert_eq!(wal.follows(), (second, third));
}

#[test]
fn a_log_that_follows_another_commit_has_none() {
    let (_directory, path) = written();
    let later = Record {
        transaction: record().transaction.next(),
        ..record()
    };
    let other = Record {
        database_id: [7; 16],
        ..record()
    };
    for record in [later, other] {
        assert_eq!(left_at(&path, &record).commit_count(), 0);
    }
}

#[test]
fn any_changed_byte_ends_the_log_before_its_entry() {
    let (_directory, path) = written();
    let content = std::fs::read(&path).unwrap();
    let left = left_at(&path, &record());
    let last = *left.entries.last().unwrap();
    let end = last + half_number_at(&left.content, last + 8).unwrap() as usize;
    for at in 0..end + 16 {
        let mut damaged = content.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let left = left_at(&path, &record());
        let expected = match at {
            // Another random number, and so another checksum, would do as well; these bytes do not.
            ..HEADER_LEN => 0,
            _ if at >= end => 2,
            _ => left.entries.len() as u64,
        };
        assert_eq!(left.commit_count(), expected, "byte {at}");
        assert!(left.commit_count() < 2 || at >= end, "byte {at}");
    }
}

#[test]
fn a_log_that_was_cut_has_its_whole_entries() {
    let (_directory, path) = written();
    let content = std::fs::read(&path).unwrap();
    for len in 0..HEADER_LEN + 120 {
        std::fs::write(&path, &content[..len]).unwrap();
        let left = left_at(&path, &record());
        assert!(left.commit_count() <= 2);
        assert!(left.changes().count() <= 3);
    }
}

#[test]
fn entries_of_before_do_not_count_after_a_new_beginning() {
    let (_directory, path, mut wal) = begun();
    for _ in 0..3 {
        append(&mut wal, change("ash", Some("1")));
    }
    let later = Record {
        transaction: TransactionId(record().transaction.0 + 3),
        ..record()
    };
    wal.begin(&later, None);
    append(&mut wal, change("ash", Some("1")));
    assert_eq!(left_at(&path, &later).commit_count(), 1);
    // The first half is that of before, for the commit of before, until it gets an entry.
    let last = Record {
        transaction: later.transaction.next(),
        ..record()
    };
    wal.begin(&last, None);
    assert_eq!(left_at(&path, &record()).commit_count(), 3);
    append(&mut wal, change("ash", Some("1")));
    assert_eq!(left_at(&path, &record()).commit_count(), 0);
    assert_eq!(left_at(&path, &later).commit_count(), 1);
    assert_eq!(left_at(&path, &last).commit_count(), 1);
}

#[test]
fn other_files_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    std::fs::write(&path, "my notes").unwrap();
    let mut left = left_at(&path, &record());
    assert_eq!(left.commit_count(), 0);
    left.remove();
    assert!(path.exists());
    assert!(Wal::create(&path, LockMode::Masked(0o600)).is_err());
}

/// A process may be killed before it writes the first entry.
#[test]
fn a_log_without_entries_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    for len in [0, 100, 2 * half_len()] {
        std::fs::write(&path, vec![0; len]).unwrap();
        let mut left = left_at(&path, &record());
        assert_eq!(left.commit_count(), 0);
        left.remove();
        assert!(!path.exists());
    }
    Wal::create(&path, LockMode::Masked(0o600)).unwrap();
}

fn half_len() -> usize {
    PathBuf::new().half_len()
}

/// The record of the commit that merged all entries of the log so far.
fn merged(wal: &Wal, count: u64) -> Record {
    Record {
        transaction: TransactionId(record().transaction.0 + count),
        log_end: wal.position().last_entry,
        catalog_root: [9; 64],
        ..record()
    }
}

/// The keys of the commits that follow the one of a record.
fn keys_after(path: &Path, record: &Record) -> Vec<String> {
    let left = left_at(path, record);
    let keys = left.changes().map(|change| change.key.to_vec());
    keys.map(|key| String::from_utf8(key).unwrap()).collect()
}

#[test]
fn commits_during_a_merge_go_to_the_other_half() {
    let (_directory, path, mut wal) = begun();
    let append = |wal: &mut Wal, key| append(wal, change(key, None));
    append(&mut wal, "1");
    append(&mut wal, "2");
    let first_merge = merged(&wal, 2);
    wal.turn_over(first_merge.transaction);
    assert_eq!(keys_after(&path, &record()), ["1", "2"]);
    append(&mut wal, "3");
    append(&mut wal, "4");
    // Killed before or after the record of the merge was written.
    assert_eq!(keys_after(&path, &record()), ["1", "2", "3", "4"]);
    assert_eq!(keys_after(&path, &first_merge), ["3", "4"]);
    let second_merge = merged(&wal, 4);
    wal.turn_over(second_merge.transaction);
    assert_eq!(keys_after(&path, &first_merge), ["3", "4"]);
    assert!(keys_after(&path, &second_merge).is_empty());
    append(&mut wal, "5");
    assert_eq!(keys_after(&path, &first_merge), ["3", "4", "5"]);
    assert_eq!(keys_after(&path, &second_merge), ["5"]);
    // The first half has others by now.
    assert!(keys_after(&path, &record()).is_empty());
    let unmarked = Record {
        log_end: Checksum(0),
        ..second_merge
    };
    assert!(keys_after(&path, &unmarked).is_empty());
}

/// An entry may be there although appending it failed. The commit is then in the trees only.
#[test]
fn commits_follow_an_entry_in_the_middle_of_a_half() {
    let (_directory, path, mut wal) = begun();
    append(&mut wal, change("1", None));
    let merge = merged(&wal, 1);
    append(&mut wal, change("2", None));
    assert_eq!(keys_after(&path, &merge), ["2"]);
    let other = Record {
        transaction: merge.transaction.next(),
        ..merge
    };
    assert!(keys_after(&path, &other).is_empty());
}

#[test]
fn a_half_without_entries_is_used_again() {
    let (_directory, path, mut wal) = begun();
    wal.turn_over(record().transaction);
    wal.begin(&record(), None);
    append(&mut wal, change("1", None));
    assert_eq!(keys_after(&path, &record()), ["1"]);
    assert!(std::fs::read(&path).unwrap().starts_with(&MAGIC));
}

#[test]
fn a_half_takes_entries_while_there_is_room() {
    let (_directory, path, mut wal) = begun();
    let value = "v".repeat(32_000);
    let mut counts = [0; 2];
    for count in &mut counts {
        while wal.make_room(&operations(&[change("key", Some(&value))]), false) {
            append(&mut wal, change("key", Some(&value)));
            *count += 1;
        }
        wal.turn_over(TransactionId(record().transaction.0 + *count));
    }
    assert_eq!(counts, [523, 523]);
    let left = left_at(&path, &record());
    assert_eq!(left.commit_count(), 1046);
    assert_eq!(
        std::fs::metadata(&path).unwrap().len(),
        2 * half_len() as u64
    );
}

/// A half gets blocks as it needs them, and keeps them when the other one is used.
#[test]
fn a_log_grows_with_its_entries() {
    let (_directory, path, mut wal) = begun();
    let len = || std::fs::metadata(&path).unwrap().len();
    assert_eq!(len(), 0);
    let value = "v".repeat(8000);
    let add = |wal: &mut Wal| {
        append(wal, change("key", Some(&value)));
    };
    add(&mut wal);
    assert_eq!(len(), FILL_LEN as u64);
    (0..FILL_LEN / 8000).for_each(|_| add(&mut wal));
    assert_eq!(len(), 2 * FILL_LEN as u64);
    wal.turn_over(TransactionId(record().transaction.0 + 33));
    add(&mut wal);
    assert_eq!(len(), (half_len() + FILL_LEN) as u64);
}

/// Appends the entry of a durable commit, and returns whether it is kept in memory.
fn append_durable(wal: &mut Wal, key: &str) -> bool {
    append_of(wal, key, true)
}

fn append_of(wal: &mut Wal, key: &str, is_durable: bool) -> bool {
    let is_kept = wal.keeps_next(is_durable);
    let entry = operations(&[change(key, Some("value"))]);
    assert!(wal.make_room(&entry, is_kept));
    wal.append(&entry, is_kept).unwrap();
    is_kept
}

/// Flushes the log.
fn flush(wal: &mut Wal) {
    wal.file().flush_name().unwrap();
    wal.begin_flush().unwrap().perform().unwrap();
    wal.end_flush();
}

/// A log that keeps the entries of durable commits, and how many commits it has; `None` if the file
/// system has no direct writes.
fn keeping() -> Option<(tempfile::TempDir, PathBuf, Wal, u64)> {
    let (directory, path, mut wal) = begun();
    let mut count = 0;
    loop {
        let is_kept = append_durable(&mut wal, "run");
        count += 1;
        flush(&mut wal);
        if is_kept {
            return (wal.file().is_direct()).then_some((directory, path, wal, count));
        }
        assert!(count < 100, "some durable commits in a row are enough");
    }
}

fn count_of(path: &Path) -> u64 {
    left_at(path, &record()).commit_count()
}

/// They go to the disk with a flush, several with one.
#[test]
fn entries_of_durable_commits_are_kept_until_a_flush() {
    let Some((_directory, path, mut wal, count)) = keeping() else {
        return;
    };
    assert_eq!(count_of(&path), count);
    for (number, key) in ["ash", "elm", "fir"].iter().enumerate() {
        assert!(append_durable(&mut wal, key));
        assert_eq!(count_of(&path), count, "{number} others are in memory");
    }
    flush(&mut wal);
    assert_eq!(count_of(&path), count + 3);
    let left = left_at(&path, &record());
    let keys: Vec<_> = left.changes().map(|change| change.key.to_vec()).collect();
    assert_eq!(keys[count as usize..], [b"ash", b"elm", b"fir"]);
}

/// Lazy commits are in the cache of the system at once, but for the first ones while there are
/// entries in memory, or on their way to the disk.
#[test]
fn lazy_commits_end_the_keeping() {
    let Some((_directory, path, mut wal, count)) = keeping() else {
        return;
    };
    assert!(append_durable(&mut wal, "kept"));
    let flushing = wal.begin_flush().unwrap();
    assert!(append_of(&mut wal, "meanwhile", false));
    flushing.perform().unwrap();
    wal.end_flush();
    assert_eq!(count_of(&path), count + 1);
    assert!(append_of(&mut wal, "before a flush", false));
    flush(&mut wal);
    assert_eq!(count_of(&path), count + 3);
    assert!(!append_of(&mut wal, "lazy", false));
    assert!(!append_durable(&mut wal, "durable"));
    assert_eq!(count_of(&path), count + 5);
    while !append_durable(&mut wal, "run") {}
    flush(&mut wal);
    assert!(count_of(&path) > count + 6);
}

/// Each entry is whole in one block if it fits.
#[test]
fn a_flush_of_one_small_commit_writes_one_block() {
    let Some((_directory, path, mut wal, _)) = keeping() else {
        return;
    };
    for number in 0..100 {
        append_durable(&mut wal, &"k".repeat(number % 50 + 1));
        let flushing = wal.begin_flush().unwrap();
        assert!((1..=BLOCK_LEN).contains(&flushing.len()));
        flushing.perform().unwrap();
        wal.end_flush();
    }
    // And one that does not fit.
    append_durable(&mut wal, &"k".repeat(3 * BLOCK_LEN));
    flush(&mut wal);
    let left = left_at(&path, &record());
    assert_eq!(left.changes().last().unwrap().key.len(), 3 * BLOCK_LEN);
}

/// A log whose entries have to go into the cache, because a merge begins: one is in memory. A flush
/// of one before that has ended meanwhile.
fn before_merge() -> Option<(tempfile::TempDir, PathBuf, Wal, u64)> {
    let (directory, path, mut wal, count) = keeping()?;
    assert!(append_durable(&mut wal, "ash"));
    let flushing = wal.begin_flush().unwrap();
    assert!(append_durable(&mut wal, "elm"));
    wal.write_out().unwrap();
    assert!(wal.is_pending(), "a flush has to end before");
    flushing.perform().unwrap();
    wal.end_flush();
    assert_eq!(count_of(&path), count + 1);
    Some((directory, path, wal, count + 1))
}

#[test]
fn a_merge_begins_with_all_entries_in_the_cache() {
    let Some((_directory, path, mut wal, count)) = before_merge() else {
        return;
    };
    wal.write_out().unwrap();
    assert!(!wal.is_pending());
    assert_eq!(count_of(&path), count + 1);
    assert!(!append_durable(&mut wal, "fir"));
    assert_eq!(count_of(&path), count + 2);
    let merge = merged(&wal, count + 2);
    wal.begin_merge();
    wal.turn_over(merge.transaction);
    assert!(append_durable(&mut wal, "oak"));
    assert!(keys_after(&path, &merge).is_empty());
    flush(&mut wal);
    assert_eq!(keys_after(&path, &merge), ["oak"]);
    assert_eq!(count_of(&path), count + 3);
}

/// A flush that begins before a merge writes entries into the cache too.
#[test]
fn a_flush_before_a_merge_goes_through_the_cache() {
    let Some((_directory, path, mut wal, count)) = before_merge() else {
        return;
    };
    let flushing = wal.begin_flush().unwrap();
    assert_eq!(flushing.len(), 0);
    assert_eq!(count_of(&path), count + 1, "before it is performed");
    assert!(!wal.is_pending());
    flushing.perform().unwrap();
}

#[test]
fn a_log_with_entries_in_memory_is_cut() {
    let Some((_directory, path, mut wal, count)) = keeping() else {
        return;
    };
    for is_flushed in [false, true] {
        let position = wal.position();
        assert!(append_durable(&mut wal, &"ash".repeat(150)));
        assert!(append_durable(&mut wal, "elm"));
        if is_flushed {
            flush(&mut wal);
            assert_eq!(count_of(&path), count + 2);
        }
        wal.cut(position);
        assert_eq!(count_of(&path), count);
        wal.end = position.end;
        (wal.last, wal.last_entry) = (position.last_entry, position.last_entry);
    }
}

/// Each block of a flush that a power cut interrupted is there or not.
#[test]
fn a_torn_flush_leaves_the_commits_before_it_and_some_of_its_own() {
    let Some((directory, path, mut wal, count)) = keeping() else {
        return;
    };
    assert!(append_durable(&mut wal, "before"));
    flush(&mut wal);
    let before = std::fs::read(&path).unwrap();
    for number in 0..20 {
        assert!(append_durable(&mut wal, &"k".repeat(40 + number)));
    }
    flush(&mut wal);
    let after = std::fs::read(&path).unwrap();
    let changed = (0..before.len() / BLOCK_LEN).filter(|block| {
        let range = block * BLOCK_LEN..(block + 1) * BLOCK_LEN;
        before[range.clone()] != after[range]
    });
    let changed: Vec<_> = changed.collect();
    assert!((3..10).contains(&changed.len()), "{changed:?}");
    for lost in 0..1usize << changed.len() {
        let mut torn = after.clone();
        for (index, block) in changed.iter().enumerate() {
            let range = block * BLOCK_LEN..(block + 1) * BLOCK_LEN;
            if lost >> index & 1 == 1 {
                torn[range.clone()].copy_from_slice(&before[range]);
            }
        }
        let copy = directory.path().join("torn");
        std::fs::write(&copy, torn).unwrap();
        let found = count_of(&copy);
        let whole = (lost == 0).then_some(count + 21);
        assert!((count + 1..=whole.unwrap_or(count + 20)).contains(&found));
        assert!(whole.is_none_or(|whole| found == whole));
    }
}
