//! Forged contents of the lock file while several processes use the database.

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
    Database, Result, Transaction, WriteOptions,
    codec::Raw,
    testing::{self, SimDisk},
};

/// The parts of a lock file, with the number of relevant bytes: see the table in docs/locking.md.
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
/// The slots for records of visible states: offset of the first, length, count, and offset of the
/// record in a slot.
const STATE_SLOTS: u64 = 69_632;
const STATE_SLOT_LEN: u64 = 69_632;
const STATE_SLOT_COUNT: u64 = 4;
const RECORD_IN_SLOT: u64 = 64;
const RECORD_LEN_MAX: usize = 65_536;
/// The offset of the state that new readers begin with.
const VISIBLE: u64 = 389_120;
/// The offsets of the transaction and page size in a record, and of the bytes that its checksum
/// covers and that are no lists: see docs/format.md.
const TRANSACTION: usize = 96;
const PAGE_SIZE: usize = 36;
const RECORD_FIRST_CHECKED: usize = 16;
const RECORD_HEAD_LEN: usize = 400;
/// The offsets of the numbers in a record, with the length of each.
const FIELDS: [(usize, usize); 16] = [
    (16, 4),
    (22, 1),
    (23, 1),
    (PAGE_SIZE, 4),
    (40, 2),
    (44, 4),
    (48, 4),
    (88, 8),
    (TRANSACTION, 8),
    (104, 8),
    (120, 8),
    (128, 8),
    (320, 4),
    (344, 4),
    (384, 4),
    (388, 4),
];
/// The waiting time for the writer lock, which the forged file may assign to any process.
const TURN_MAX: Duration = Duration::from_millis(50);

/// Opens the database like several processes that attach and leave, and writes to their lock file
/// in between.
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
            let _ = file.and_then(|file| match rng.u8(0..3) {
                0 => forge_record(rng, &file),
                _ => forge(rng, &file),
            });
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
        let new = another_number(rng, old, 8 * width as u32);
        file.write_all_at(&new.to_le_bytes()[..width as usize], at)?;
    }
    Ok(())
}

fn another_number(rng: &mut Rng, old: u64, bits: u32) -> u64 {
    match rng.u8(0..8) {
        0 => 0,
        1 => u64::MAX,
        2 => 1,
        3 => old.wrapping_add(1),
        4 => old.wrapping_sub(1),
        5 => old ^ 1 << rng.u32(0..bits),
        6 => rng.u64(0..64),
        _ => rng.u64(..),
    }
}

/// Puts other numbers into the record of a visible state, with a correct checksum, and sometimes
/// makes it the state that readers begin with.
pub(crate) fn forge_record(rng: &mut Rng, file: &File) -> io::Result<()> {
    let visible = read_number(file, VISIBLE)?;
    let (mut record, mut slot) = (vec![0; RECORD_LEN_MAX], 0);
    for number in 0..STATE_SLOT_COUNT {
        slot = STATE_SLOTS + number * STATE_SLOT_LEN;
        if read_number(file, slot)? == visible.wrapping_add(1) {
            break;
        }
    }
    file.read_exact_at(&mut record, slot + RECORD_IN_SLOT)?;
    for _ in 0..1 + rng.usize(0..2) {
        let (at, width) = match rng.bool() {
            true => FIELDS[rng.usize(0..FIELDS.len())],
            false => (RECORD_FIRST_CHECKED + rng.usize(0..RECORD_HEAD_LEN), 1),
        };
        let mut old = [0; 8];
        old[..width].copy_from_slice(&record[at..at + width]);
        let mut new = another_number(rng, u64::from_le_bytes(old), 8 * width as u32);
        if at == PAGE_SIZE && rng.bool() {
            new = 4096 << rng.u32(0..5);
        }
        record[at..at + width].copy_from_slice(&new.to_le_bytes()[..width]);
    }
    if rng.bool() {
        let next = visible.wrapping_add(1);
        record[TRANSACTION..TRANSACTION + 8].copy_from_slice(&next.to_le_bytes());
        testing::repair_checksum(&mut record);
        file.write_all_at(&record, slot + RECORD_IN_SLOT)?;
        file.write_all_at(&next.wrapping_add(1).to_le_bytes(), slot)?;
        file.write_all_at(&next.to_le_bytes(), VISIBLE)
    } else {
        testing::repair_checksum(&mut record);
        file.write_all_at(&record, slot + RECORD_IN_SLOT)
    }
}

fn read_number(file: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads and writes, ignoring errors.
fn use_it(database: &Database) -> Result<()> {
    let reader = database.begin_read();
    let _ = reader
        .as_ref()
        .map(|reader| (reader.lag(), reader.tables()));
    let _ = (database.readers(), database.stat());
    if let Some(mut txn) = database.begin_write_with(WriteOptions::new().timeout(TURN_MAX))? {
        let table = txn.create_table::<Raw, Raw>("locked")?;
        table.insert(&mut txn, b"key", b"value")?;
        txn.commit()?;
    }
    Ok(())
}

/// Replaces the lock file by one with random contents, or by another kind of file.
pub(crate) fn replace_lock_file(rng: &mut Rng, lock_file: &Path) -> io::Result<()> {
    let mut bytes = vec![0; [0, 8, 80, 4096, 400_000][rng.usize(0..5)]];
    rng.fill(&mut bytes);
    if bytes.len() >= 8 && rng.bool() {
        bytes[..8].copy_from_slice(b"TeakLock");
    }
    std::fs::write(lock_file, bytes)
}
