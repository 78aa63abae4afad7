//! Readers that begin while commits are in the memtable only.

use super::*;
use crate::{SeekOp, SeekTarget, WriteOptions};

fn all(words: &Words, txn: &ReadTxn) -> Vec<String> {
    let range = words.range(..).iter(txn).unwrap();
    range.map(|record| record.unwrap().0.to_string()).collect()
}

/// Commits and merges go on beside a reader, which sees its own state in every way of reading.
#[test]
fn a_reader_keeps_its_state_while_others_are_merged() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let read = database.begin_read().unwrap();
    let id = read.id();
    let seen = |read: &ReadTxn| {
        assert_eq!(read.id(), id);
        assert_eq!(words.get(read, "fir").unwrap(), Some(&b"new"[..]));
        assert_eq!(words.get(read, "elm").unwrap(), Some(&b"a tree"[..]));
        assert!(!words.contains_key(read, "yew").unwrap());
    };
    seen(&read);
    commit_small(&database, &words, "fir", b"newer");
    commit_small(&database, &words, "yew", b"new");
    let mut txn = small(&database);
    words.remove(&mut txn, "elm").unwrap();
    txn.commit().unwrap();
    seen(&read);
    let clone = read.clone();
    let later = database.begin_read().unwrap();
    assert!(later.id() > id);
    assert_eq!(words.get(&later, "elm").unwrap(), None);
    database.sync().unwrap();
    commit_small(&database, &words, "box", b"last");
    seen(&read);
    assert_eq!(all(&words, &read), ["ash", "elm", "fir", "oak"]);
    assert_eq!(all(&words, &later), ["ash", "fir", "oak", "yew"]);
    seen(&read);
    drop(read);
    seen(&clone);
    assert_eq!(words.len(&clone).unwrap(), 4);
    let newest = database.begin_read().unwrap();
    assert_eq!(words.len(&newest).unwrap(), 5);
    check(&database);
}

/// A merge makes the state of a reader, and then fails or its process is killed.
#[test]
fn commits_after_the_state_of_a_reader_survive() {
    let (directory, database, words) = database();
    let engine = Arc::clone(database.opening.engine());
    commit_small(&database, &words, "fir", b"new");
    let read = database.begin_read().unwrap();
    commit_small(&database, &words, "fir", b"newer");
    let last = commit_small(&database, &words, "yew", b"new");
    let guard = engine.writer_lock.as_ref().unwrap().take(None).unwrap();
    if !is_filled(&database) {
        return;
    }
    let (mut txn, merging) = begin_merge(&engine, engine.held_writer_lock(guard)).unwrap();
    if merging.parts.len() < 2 {
        // Another thread has merged.
        return engine
            .finish_merge(txn, &merging, MergeReason::Limits)
            .unwrap();
    }
    txn.merge_parts(&merging).unwrap();
    let copy = left_files(directory.path());
    engine.memtable.lock().undo_merge();
    drop(txn);
    let seen = |read: &ReadTxn| {
        assert_eq!(read.id().0, last);
        assert_eq!(words.get(read, "fir").unwrap(), Some(&b"newer"[..]));
        assert_eq!(words.len(read).unwrap(), 5);
    };
    let buffered = database.begin_read().unwrap();
    assert_eq!(words.len(&read).unwrap(), 4);
    assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"new"[..]));
    for database in [open(copy.path()), database] {
        seen(&database.begin_read().unwrap());
        check(&database);
        commit_small(&database, &words, "box", b"last");
    }
    seen(&buffered);
}

/// Whatever needs the pages of the state gets them.
#[test]
fn a_reader_of_the_memtable_does_all_that_others_do() {
    let (directory, database, words) = database();
    let first = database.begin_read().unwrap();
    let mut reads = Vec::new();
    for number in 0..9u8 {
        commit_small(&database, &words, "fir", &[number]);
        reads.push(database.begin_read().unwrap());
    }
    commit_small(&database, &words, "fir", b"last");
    let mut reads = reads.into_iter();
    let mut next = || reads.next().unwrap();

    let backup = directory.path().join("backup.teak");
    next()
        .copy_dense(&backup, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let copy = Database::open(&backup).unwrap();
    assert_eq!(
        words.get(&copy.begin_read().unwrap(), "fir").unwrap(),
        Some(&[0][..])
    );

    let second = next();
    assert_eq!(second.changed_tables(&first).unwrap().len(), 1);
    assert_eq!(words.differences(&first, &second).unwrap().count(), 1);
    assert_eq!(second.tables().unwrap()[0].stat.records, 4);
    assert_eq!(second.info().unwrap().transaction, second.id());

    let third = next();
    let id = third.id();
    let third = third.park().unwrap().resume().unwrap();
    assert_eq!(
        (third.id(), words.get(&third, "fir").unwrap()),
        (id, Some(&[2][..]))
    );

    let fourth = next();
    let clone = fourth.clone();
    assert!(fourth.park().is_err(), "there is a clone");
    assert_eq!(words.get(&clone, "fir").unwrap(), Some(&[3][..]));

    let mut fifth = next();
    assert!(fifth.lag() > 0);
    let stale = WriteOptions::new().at(&fifth);
    assert!(matches!(
        database.begin_write_with(stale),
        Err(Error::SnapshotStale { .. })
    ));
    assert!(fifth.refresh().unwrap());
    assert_eq!(words.get(&fifth, "fir").unwrap(), Some(&b"last"[..]));
    assert!(!fifth.refresh().unwrap());

    let sixth = next().reset().renew().unwrap();
    assert_eq!(sixth.id(), fifth.id());
    let seventh = next();
    assert_eq!(
        words.get_owned(&seventh, "fir").unwrap().as_deref(),
        Some(&[6][..])
    );
    let mut cursor = DetachedCursor::new(&words);
    let eighth = next();
    assert!(
        cursor
            .seek(&eighth, SeekOp::Equal, SeekTarget::Key(b"fir"))
            .unwrap()
    );
    assert_eq!(&*cursor.value(&eighth).unwrap(), [7]);
    let ninth = next();
    database.close().unwrap();
    assert_eq!(words.get_many(&ninth, &["fir"]).unwrap(), [Some(&[8][..])]);
}

/// Each reader that stays makes the next merge stop once; later ones begin with a merge.
#[test]
fn many_readers_of_the_memtable_stay() {
    let (_directory, database, words) = database();
    let mut reads = Vec::new();
    for number in 0..50u8 {
        commit_small(&database, &words, "fir", &[number]);
        reads.push(database.begin_read().unwrap());
        reads.push(database.begin_read().unwrap());
    }
    for (index, read) in reads.iter().enumerate() {
        let value = [index as u8 / 2];
        assert_eq!(words.get(read, "fir").unwrap(), Some(&value[..]));
        assert_eq!(words.get_in_order(read, "fir").unwrap(), Some(&value[..]));
        let in_trees = words.get_many(read, &["fir"]).unwrap();
        assert_eq!(in_trees, [Some(&value[..])]);
    }
    check(&database);
}

/// The merge makes the file longer, so pages of the state are outside of the one before.
#[test]
fn any_operation_may_be_the_first() {
    type Operation = fn(&Words, &ReadTxn) -> u64;
    let operations: &[Operation] = &[
        |words, read| words.iter(read).unwrap().count() as u64,
        |words, read| words.range(..).iter(read).unwrap().count() as u64,
        |words, read| words.range(..).keys(read).unwrap().count() as u64,
        |words, read| words.range(..).values(read).unwrap().count() as u64,
        |words, read| words.len(read).unwrap(),
        |words, read| words.stat(read).unwrap().records,
        |_, read| read.tables().unwrap()[0].stat.records,
        |words, read| {
            let mut cursor = words.cursor(read).unwrap();
            let mut count = 0;
            while cursor.next().unwrap() {
                count += 1;
            }
            count
        },
        |words, read| {
            let mut cursor = DetachedCursor::new(words);
            let mut count = 0;
            while cursor.next(read).unwrap() {
                count += 1;
            }
            count
        },
        |words, read| {
            let mut backup = Vec::new();
            let write = read.write_backup(&mut backup, None, &mut |_| ControlFlow::Continue(()));
            write.unwrap();
            words.len(read).unwrap()
        },
    ];
    for operation in operations {
        let (_directory, database, words) = database();
        let text = [7; 480];
        for round in 0..20 {
            let mut txn = database.begin_write().unwrap();
            for number in 0..16 {
                let word = format!("{round} {number}");
                words.insert(&mut txn, &word[..], text).unwrap();
            }
            txn.commit().unwrap();
        }
        let read = database.begin_read().unwrap();
        commit_small(&database, &words, "yew", b"new");
        assert_eq!(operation(&words, &read), 3 + 320);
        assert_eq!(words.get(&read, "0 0").unwrap(), Some(&text[..]));
        assert_eq!(words.get(&read, "yew").unwrap(), None);
    }
}

/// Readers that begin with the same commit do not share what is parked.
#[test]
fn readers_of_one_commit_can_be_parked() {
    let (_directory, database, words) = database();
    commit_small(&database, &words, "fir", b"new");
    let reads = [(); 2].map(|()| database.begin_read().unwrap());
    for read in reads {
        let read = read.park().unwrap().resume().unwrap();
        assert_eq!(words.get(&read, "fir").unwrap(), Some(&b"new"[..]));
    }
}
