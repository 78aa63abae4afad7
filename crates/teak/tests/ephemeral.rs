//! Databases in memory and in temporary files, which end with their last handle.

use crate::shared::temporary_path;
use std::{env, fs, ops::ControlFlow, path::Path, thread, time::Duration};
use teak::{
    BulkOptions, CompactOptions, Create, Database, Durability, Error, Options, Sharing,
    Transaction,
    codec::{Bytes, Str},
};

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

/// One of each kind.
fn both(options: &Options) -> [Database; 2] {
    [
        options.open_in_memory().unwrap(),
        options.open_temporary().unwrap(),
    ]
}

fn fill(database: &Database, count: u64) {
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<u64, Bytes>("numbers").unwrap();
    for number in 0..count {
        table.insert(&mut txn, number, [7; 500]).unwrap();
    }
    txn.commit().unwrap();
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("teak-new")).collect()
}

#[test]
fn clones_and_threads_share_a_database_and_others_do_not() {
    for database in both(&Options::new()) {
        fill(&database, 10);
        let clone = database.clone();
        let counted = thread::spawn(move || {
            let txn = clone.begin_read().unwrap();
            let table = txn.open_table::<u64, Bytes>("numbers").unwrap();
            table.len(&txn).unwrap()
        });
        assert_eq!(counted.join().unwrap(), 10);
        assert!(!database.info().has_lock_file);
        drop(database);
    }
    for other in both(&Options::new()) {
        assert!(other.begin_read().unwrap().tables().unwrap().is_empty());
    }
}

#[test]
fn there_is_no_file_in_any_directory() {
    for database in both(&Options::new()) {
        fill(&database, 1000);
        assert!(!database.path().exists(), "{:?}", database.path());
        assert_eq!(names_in(&env::temp_dir()), Vec::<String>::new());
        let refused = Options::new().create(Create::Never).open(database.path());
        assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    }
}

#[test]
fn a_reader_keeps_the_database_after_its_last_handle() {
    for database in both(&Options::new()) {
        fill(&database, 10);
        let txn = database.begin_read().unwrap();
        let table = txn.open_table::<u64, Bytes>("numbers").unwrap();
        database.close().unwrap();
        assert_eq!(table.len(&txn).unwrap(), 10);
    }
}

#[test]
fn commits_of_every_durability_count_and_become_durable() {
    for durability in [Durability::Durable, Durability::Async, Durability::Lazy] {
        let options = Options::new().durability(durability);
        for database in both(&options.flush_after(Duration::from_millis(1))) {
            for _ in 0..3 {
                fill(&database, 100);
            }
            let txn = database.begin_write().unwrap();
            let ticket = txn.commit_async().unwrap();
            ticket.wait().unwrap();
            database.sync().unwrap();
            let stat = database.stat().unwrap();
            assert_eq!(stat.durable_transaction, stat.transaction);
            let report = database.check(&mut |_| ControlFlow::Continue(())).unwrap();
            assert!(report.is_clean(), "{report:?}");
        }
    }
}

#[test]
fn a_ticket_is_done_when_the_database_is_closed() {
    for database in both(&Options::new()) {
        let mut txn = database.begin_write().unwrap();
        txn.create_table::<Str, Str>("words").unwrap();
        let ticket = txn.commit_async().unwrap();
        database.close().unwrap();
        assert!(ticket.is_durable().unwrap());
    }
}

#[test]
fn large_transactions_write_early_and_the_file_shrinks() {
    for database in both(&Options::new().write_memory_bytes(1 << 20)) {
        fill(&database, 20_000);
        assert!(database.metrics().early_pages > 0);
        let longest = database.stat().unwrap().file_bytes;
        assert!(longest > 10_000_000, "{longest}");
        let mut txn = database.begin_write().unwrap();
        let table = txn.open_table::<u64, Bytes>("numbers").unwrap();
        table.clear(&mut txn).unwrap();
        txn.commit().unwrap();
        let options = CompactOptions::new();
        database.compact(&options, &mut |_| CONTINUE).unwrap();
        let left = database.stat().unwrap().file_bytes;
        assert!(left < longest / 2, "{left} of {longest}");
    }
}

#[test]
fn loads_that_need_files_find_a_directory() {
    for database in both(&Options::new()) {
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table::<u64, u64>("numbers").unwrap();
        let options = BulkOptions::new().memory_bytes(1 << 16);
        let records = (0..50_000).rev().map(|number| (number, number));
        let loaded = table.bulk_load_unsorted(&mut txn, records, options, &mut |_| ());
        loaded.unwrap();
        txn.commit().unwrap();
        let txn = database.begin_read().unwrap();
        assert_eq!(table.len(&txn).unwrap(), 50_000);
    }
}

#[test]
fn a_backup_makes_a_database_that_stays() {
    for database in both(&Options::new()) {
        fill(&database, 100);
        let (_directory, path) = temporary_path();
        database.backup(&path, None, &mut |_| CONTINUE).unwrap();
        let copy = Database::open(&path).unwrap();
        let txn = copy.begin_read().unwrap();
        let table = txn.open_table::<u64, Bytes>("numbers").unwrap();
        assert_eq!(table.len(&txn).unwrap(), 100);
    }
}

#[test]
fn the_size_limit_applies() {
    for database in both(&Options::new().size_limit_bytes(Some(1 << 20))) {
        let mut txn = database.begin_write().unwrap();
        let table = txn.create_table::<u64, Bytes>("numbers").unwrap();
        let filled = (0..4000).try_for_each(|number| {
            let inserted = table.insert(&mut txn, number, [7; 500]);
            inserted.map(drop)
        });
        let failed = filled.and_then(|()| txn.commit().map(drop));
        assert!(matches!(failed, Err(Error::Full { .. })), "{failed:?}");
    }
}

#[test]
fn options_about_a_file_that_stays_are_refused_by_name() {
    let refused = [
        (Options::new().read_only(true), "read_only"),
        (Options::new().create(Create::Never), "create"),
        (Options::new().sharing(Sharing::Unlocked), "sharing"),
        (Options::new().lock_file("lock"), "lock_file"),
        (Options::new().remove_lock_file(false), "remove_lock_file"),
        (Options::new().file_mode(0o600), "file_mode"),
        (Options::new().require_name(true), "require_name"),
        (Options::new().journal_bytes(1 << 20), "journal_bytes"),
    ];
    for (options, name) in refused {
        for opened in [options.open_in_memory(), options.open_temporary()] {
            let error = opened.unwrap_err();
            assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("`Options::{name}`")), "{text}");
        }
    }
    let allowed = Options::new().sharing(Sharing::Alone).create(Create::New);
    both(&allowed.journal_bytes(0).flush_on_close(false));
}
