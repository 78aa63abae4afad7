use super::*;

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

/// A log with two commits, and its path.
fn written() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    let mut wal = Wal::create(&path, LockMode::Masked(0o600)).unwrap();
    wal.begin(&record());
    let first = [change("ash", Some("1")), change("elm", None)];
    wal.append(first.into_iter()).unwrap();
    wal.append([change("", Some(""))].into_iter()).unwrap();
    (directory, path)
}

#[test]
fn commits_are_read_back() {
    let (_directory, path) = written();
    let left = LeftWal::read(&path, &record()).unwrap();
    assert_eq!(left.commit_count(), 2);
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
        assert_eq!(LeftWal::read(&path, &record).unwrap().commit_count(), 0);
    }
}

#[test]
fn any_changed_byte_ends_the_log_before_its_entry() {
    let (_directory, path) = written();
    let content = std::fs::read(&path).unwrap();
    let end = LeftWal::read(&path, &record()).unwrap().content.len();
    for at in 0..end + 16 {
        let mut damaged = content.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let left = LeftWal::read(&path, &record()).unwrap();
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
        let left = LeftWal::read(&path, &record()).unwrap();
        assert!(left.commit_count() <= 2);
        assert!(left.changes().count() <= 3);
    }
}

#[test]
fn entries_of_before_do_not_count_after_a_new_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    let mut wal = Wal::create(&path, LockMode::Masked(0o600)).unwrap();
    wal.begin(&record());
    for _ in 0..3 {
        wal.append([change("ash", Some("1"))].into_iter()).unwrap();
    }
    let later = Record {
        transaction: TransactionId(record().transaction.0 + 3),
        ..record()
    };
    wal.begin(&later);
    // Until an entry is written, the log is the one of before, for the commit of before.
    assert_eq!(LeftWal::read(&path, &record()).unwrap().commit_count(), 3);
    wal.append([change("ash", Some("1"))].into_iter()).unwrap();
    assert_eq!(LeftWal::read(&path, &record()).unwrap().commit_count(), 0);
    assert_eq!(LeftWal::read(&path, &later).unwrap().commit_count(), 1);
}

#[test]
fn other_files_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.teak-wal");
    std::fs::write(&path, "my notes").unwrap();
    let mut left = LeftWal::read(&path, &record()).unwrap();
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
    for len in [0, 100, WAL_LEN] {
        std::fs::write(&path, vec![0; len]).unwrap();
        let mut left = LeftWal::read(&path, &record()).unwrap();
        assert_eq!(left.commit_count(), 0);
        left.remove();
        assert!(!path.exists());
    }
    Wal::create(&path, LockMode::Masked(0o600)).unwrap();
}
