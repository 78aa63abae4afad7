//! Lock files that a forger wrote to while several processes use the database.

use crate::{
    scratch,
    seeds::{BOOT, options},
};
use fastrand::Rng;
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
    time::Duration,
};
use teak::{
    Database, Result, Transaction,
    codec::Bytes,
    testing::{self, SimDisk},
};

/// Where a lock file has its parts, and how many bytes of them are of interest: see the table in docs/locking.md.
const PARTS: [(u64, u64); 12] = [
    (0, 80),
    (128, 8),
    (192, 8),
    (256, 8),
    (320, 24),
    (512, 256),
    (1024, 256),
    (4096, 64),
    (69_632, 512),
    (139_264, 512),
    (389_120, 128),
    (393_216, 4096),
];
/// As long as somebody waits for the writer's place, which may be anybody's as far as the file says.
const TURN_MAX: Duration = Duration::from_millis(50);

/// Opens the database as several processes do that come and go, and writes to their lock file in between.
pub(crate) fn work(rng: &mut Rng, image: &[u8]) -> io::Result<()> {
    let directory = scratch::directory()?;
    let path = directory.path().join("locked");
    let disk = SimDisk::from_image(image.to_vec(), image.len() + (4 << 20));
    let mut processes: Vec<Database> = Vec::new();
    for round in 0..3 {
        let disk = match round {
            0 => disk.clone(),
            _ => disk.for_another(),
        };
        processes.extend(testing::open_apart(&disk, &path, &options(), false, BOOT));
        if round > 0 {
            let file = OpenOptions::new().read(true).write(true).open(&path);
            let _ = file.and_then(|file| forge(rng, &file));
        }
        for database in &processes {
            let _ = use_it(database);
        }
    }
    rng.shuffle(&mut processes);
    for database in processes {
        let _ = database.close();
    }
    Ok(())
}

/// Puts other numbers into a lock file.
fn forge(rng: &mut Rng, file: &File) -> io::Result<()> {
    for _ in 0..1 + rng.usize(0..2) {
        let (start, len) = PARTS[rng.usize(0..PARTS.len())];
        let width = [1, 4, 8][rng.usize(0..3)];
        let at = start + rng.u64(0..len / width) * width;
        let mut bytes = [0; 8];
        file.read_at(&mut bytes[..width as usize], at)?;
        let old = u64::from_le_bytes(bytes);
        let new = match rng.u8(0..8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1,
            3 => old.wrapping_add(1),
            4 => old.wrapping_sub(1),
            5 => old ^ 1 << rng.u32(0..8 * width as u32),
            6 => rng.u64(0..64),
            _ => rng.u64(..),
        };
        file.write_all_at(&new.to_le_bytes()[..width as usize], at)?;
    }
    Ok(())
}

/// Reads and writes, whatever comes of it.
fn use_it(database: &Database) -> Result<()> {
    let reader = database.begin_read();
    let _ = reader
        .as_ref()
        .map(|reader| (reader.lag(), reader.tables()));
    let _ = (database.readers(), database.stat());
    if let Some(mut txn) = database.begin_write_timeout(TURN_MAX)? {
        let table = txn.create_table::<Bytes, Bytes>("locked")?;
        table.insert(&mut txn, b"key", b"value")?;
        txn.commit()?;
    }
    Ok(())
}

/// Makes what may stand where a lock file is to stand: a lock file with anything in it, or none.
pub(crate) fn stand_beside(rng: &mut Rng, lock_file: &Path) -> io::Result<()> {
    let mut bytes = vec![0; [0, 8, 80, 4096, 400_000][rng.usize(0..5)]];
    rng.fill(&mut bytes);
    if bytes.len() >= 8 && rng.bool() {
        bytes[..8].copy_from_slice(b"TeakLock");
    }
    std::fs::write(lock_file, bytes)
}
