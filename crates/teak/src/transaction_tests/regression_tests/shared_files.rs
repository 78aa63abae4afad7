//! Bugs of several processes, all played by this one.

use super::BOOT;
use crate::{Database, Durability, Geometry, Options, codec::Bytes, io::sim::SimDisk, testing};
use std::{ops::ControlFlow, path::PathBuf};
use tempfile::TempDir;

/// A disk, and the lock file by which several processes have it open.
struct Fixture {
    disk: SimDisk,
    _directory: TempDir,
    lock_file: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            disk: SimDisk::new(8 << 20),
            lock_file: directory.path().join("lock"),
            _directory: directory,
        }
    }

    /// Another process, with its handle of the disk.
    fn open(&self, is_new: bool) -> (Database, SimDisk) {
        let disk = self.disk.for_another();
        let geometry = Geometry {
            shrink_threshold_bytes: 4096,
            ..Geometry::default()
        };
        let options = Options::new().geometry(geometry);
        let database = testing::open_apart(&disk, &self.lock_file, &options, is_new, BOOT);
        (database.unwrap(), disk)
    }
}

fn commit(database: &Database, key: &[u8], value_len: usize, durability: Durability) {
    let mut txn = database.begin_write().unwrap();
    let table = txn.create_table::<Bytes, Bytes>("table").unwrap();
    table.insert(&mut txn, key, vec![7; value_len]).unwrap();
    txn.set_durability(durability);
    txn.commit().unwrap();
}

/// The last closing process truncates the free end of the file. The records of the clean close
/// belong to the same commit as the record before, which has a longer file. A process that attached
/// before the last one had left found both among the records of visible states, and passed the
/// former to the next process. The file was too short for that one, and it could not write.
#[test]
fn a_process_that_attaches_during_the_last_close_reports_the_shorter_file() {
    if !crate::io::can("locks of descriptions", |abilities| {
        abilities.locks_of_descriptions
    }) {
        return;
    }
    // There are four areas for records of visible states.
    (0..4).for_each(come_while_the_last_one_goes);
}

fn come_while_the_last_one_goes(commits: u8) {
    let fixture = Fixture::new();
    let (last, _) = fixture.open(true);
    commit(&last, b"large", 500_000, Durability::Durable);
    commit(&last, b"large", 5, Durability::Durable);
    for number in 0..=commits {
        commit(&last, &[number], 5, Durability::Durable);
    }
    let long = fixture.disk.process_crash().len();
    // It has not left as long as there is a handle.
    last.clone().close().unwrap();
    assert!(fixture.disk.process_crash().len() < long);
    let (comes, _) = fixture.open(false);
    let (next, _) = fixture.open(false);
    commit(&next, b"next", 5, Durability::Durable);
    drop(last);
    commit(&comes, b"comes", 5, Durability::Durable);
    next.close().unwrap();
    assert!(
        comes
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
}
