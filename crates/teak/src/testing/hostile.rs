//! All that can be done with a database, done with one that may be anything.

mod changes;
mod multi;
mod reads;
mod sample;

use super::{SimDisk, open, salvage};
use crate::{
    Database, Durability, Options, PageNumber, Result, Verification,
    record::{Record, SLOT_COUNT, probe::find_page_size},
};
use std::ops::ControlFlow;

const PAGES_MAX: u32 = 32;
const PAGE_STEP: u32 = 4;
/// A boot of the machine in which nothing was written.
const OTHER_BOOT: [u8; 16] = [0xfe; 16];
/// Bytes of a database that takes what was saved of a small one.
const SAVED_MAX: usize = 64 << 20;

/// Opens, checks, reads and changes a database that may be anything. Errors are what is expected;
/// says whether it could be opened, and was clean.
pub fn exercise(image: &[u8]) -> bool {
    let boot = boot_of(image);
    // Damage is met further down where checksums are not compared.
    let lazily = Options::new()
        .durability(Durability::Lazy)
        .verification(Verification::Off);
    save(image);
    let is_clean = open_to_write(image, &lazily, boot, |_| {});
    open_to_read(image, boot);
    open_to_read(image, OTHER_BOOT);
    let read = |database: &Database| drop(reads::read_all(database));
    open_to_write(image, &Options::new(), OTHER_BOOT, read) && is_clean
}

/// Saves what can be saved, which is a database then.
fn save(image: &[u8]) {
    let disk = SimDisk::from_image(image.to_vec(), image.len());
    let saved = SimDisk::new(SAVED_MAX);
    let _ = salvage(&disk, &saved).map(|_| {
        let saved = open(&saved, &Options::new(), false, OTHER_BOOT);
        let report = saved.and_then(|saved| saved.check(&mut |_| ControlFlow::Continue(())));
        assert!(
            report.is_ok_and(|report| report.is_clean()),
            "saved as it should be"
        );
    });
}

/// A disk that has some room.
fn disk_of(image: &[u8]) -> SimDisk {
    let room = image.len() / 2 + (256 << 10);
    SimDisk::from_image(image.to_vec(), image.len() + room)
}

fn open_to_read(image: &[u8], boot: [u8; 16]) {
    let options = Options::new().read_only(true);
    let Ok(database) = open(&disk_of(image), &options, false, boot) else {
        return;
    };
    // Once opened, it makes no difference in which boot.
    if boot != OTHER_BOOT {
        let _ = inspect(&database, image);
        let _ = reads::read_all(&database);
    }
    let _ = changes::refuse(&database);
    let _ = database.close();
}

/// Says whether the database could be opened, and was clean.
fn open_to_write(
    image: &[u8],
    options: &Options,
    boot: [u8; 16],
    after_change: impl Fn(&Database),
) -> bool {
    let disk = disk_of(image);
    let is_clean = open(&disk, options, false, boot).is_ok_and(|database| {
        let report = database.check(&mut |_| ControlFlow::Continue(()));
        let before = database.begin_read();
        let _ = changes::change(&database);
        let _ = before.and_then(|before| reads::differ(&before, &database.begin_read()?));
        after_change(&database);
        let _ = changes::drop_all(&database);
        let _ = database.check(&mut |_| ControlFlow::Continue(()));
        let _ = database.close();
        report.is_ok_and(|report| report.is_clean())
    });
    let again = open(&disk, &Options::new(), false, boot);
    drop(again.map(|database| database.check(&mut |_| ControlFlow::Continue(()))));
    is_clean
}

/// The boot in which the newest record was written, so that nothing is verified.
fn boot_of(image: &[u8]) -> [u8; 16] {
    let page_size = find_page_size(image).map_or(4096, |bytes| bytes as usize);
    let records = (0..SLOT_COUNT).filter_map(|slot| {
        let start = usize::from(slot) * page_size;
        Record::decode(image.get(start..)?, slot).ok()
    });
    records
        .max_by_key(|record| record.sequence)
        .map_or([0; 16], |record| record.boot_id)
}

fn inspect(database: &Database, image: &[u8]) -> Result<()> {
    let _ = database.stat()?;
    let _ = database.info().recovery.to_owned();
    let _ = database.page_kinds();
    // One in a few, by chance: printing takes longer than all else.
    let first = image.get(8).map_or(0, |byte| u32::from(*byte) % PAGE_STEP);
    for page in (first..PAGES_MAX).step_by(PAGE_STEP as usize) {
        let _ = database.describe_page(PageNumber(page));
    }
    Ok(())
}
