//! Lock files that a forger wrote to while the database is in use.

use fastrand::Rng;
use std::{fs::OpenOptions, os::unix::fs::FileExt, path::Path, time::Duration};
use teak::{Database, codec::Bytes};

/// Where a lock file has its parts, and how long they are: see the table in docs/locking.md.
const PARTS: [(u64, u64); 9] = [
    (0, 72),
    (128, 8),
    (192, 8),
    (256, 8),
    (320, 8),
    (512, 512),
    (1024, 512),
    (4096, 64),
    (348_160, 1024),
];

/// Puts other numbers into the lock file of a database that is open, and goes on with it: with limits of time, since who holds a
/// lock is what the file says.
pub(crate) fn forge(rng: &mut Rng, path: &Path, database: &Database) {
    let Ok(lock_file) = teak::lock_file_of(path) else {
        return;
    };
    let Ok(file) = OpenOptions::new().read(true).write(true).open(lock_file) else {
        return;
    };
    for _ in 0..1 + rng.usize(0..2) {
        let (start, len) = PARTS[rng.usize(0..PARTS.len())];
        let width = [1, 4, 8][rng.usize(0..3)];
        let at = start + rng.u64(0..len / width) * width;
        let value = match rng.u8(0..5) {
            0 => 0,
            1 => u64::MAX,
            2 => 1,
            3 => rng.u64(0..64),
            _ => rng.u64(..),
        };
        let bytes = &value.to_le_bytes()[..width as usize];
        let _ = file.write_all_at(bytes, at);
    }
    let second = Duration::from_millis(100);
    let _ = database.begin_read().map(|txn| txn.lag());
    if let Ok(Some(mut txn)) = database.begin_write_timeout(second) {
        let table = txn.create_table::<Bytes, Bytes>("locked");
        let _ = table.map(|table| table.insert(&mut txn, b"key", b"value"));
        txn.abort();
    }
    let _ = (database.readers(), database.stat());
}
