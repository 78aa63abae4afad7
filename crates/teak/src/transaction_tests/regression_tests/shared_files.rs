//! Bugs of several processes, which this one plays.

use super::BOOT;
use crate::{Database, Durability, Geometry, Options, codec::Bytes, io::sim::SimDisk, testing};
use std::path::PathBuf;
use tempfile::TempDir;

/// A disk, and a lock file beside which processes have it open.
struct Place {
    disk: SimDisk,
    _directory: TempDir,
    lock_file: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            disk: SimDisk::new(8 << 20),
            lock_file: directory.path().join("lock"),
            _directory: directory,
        }
    }

    /// Another process, and its handle of the disk.
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
    table.insert(&mut txn, key, &vec![7; value_len]).unwrap();
    txn.set_durability(durability);
    txn.commit().unwrap();
}

/// The last process that closes cuts the free end of the file off, and the records of the clean close are of the same
/// commit as the one before, which says that the file is longer. A process that came before that one had gone found
/// both among the records of visible states, and told the next one of the former: to that the file was too short, and it
/// could not write.
#[test]
fn who_comes_while_the_last_one_goes_tells_the_next_of_the_shorter_file() {
    // There are four places for records of visible states.
    (0..4).for_each(come_while_the_last_one_goes);
}

fn come_while_the_last_one_goes(commits: u8) {
    let place = Place::new();
    let (last, _) = place.open(true);
    commit(&last, b"large", 500_000, Durability::Durable);
    commit(&last, b"large", 5, Durability::Durable);
    for number in 0..=commits {
        commit(&last, &[number], 5, Durability::Durable);
    }
    let long = place.disk.process_crash().len();
    // It has not gone as long as somebody has a handle.
    last.clone().close().unwrap();
    assert!(place.disk.process_crash().len() < long);
    let (comes, _) = place.open(false);
    let (next, _) = place.open(false);
    commit(&next, b"next", 5, Durability::Durable);
    drop(last);
    commit(&comes, b"comes", 5, Durability::Durable);
    next.close().unwrap();
    assert!(comes.check(&mut |_| ()).unwrap().is_clean());
}
