//! All that can be done with a database, done with one that may be anything.

mod changes;
mod multi;
mod reads;
mod sample;

use super::{SimDisk, decrypted_records, open, salvage_with};
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
    exercise_with(image, &Options::new())
}

/// Like [`exercise`], with a database that may be encrypted with the key of these options.
pub fn exercise_with(image: &[u8], options: &Options) -> bool {
    let boot = boot_of(&decrypted_records(image, options));
    // Damage is met further down where checksums are not compared.
    let lazily = (options.clone())
        .durability(Durability::Lazy)
        .verification(Verification::Off);
    save(image, options);
    let file = HostileFile { image, options };
    let is_clean = file.open_to_write(&lazily, boot, |_| {});
    file.open_to_read(boot);
    file.open_to_read(OTHER_BOOT);
    let read = |database: &Database| drop(reads::read_all(database));
    file.open_to_write(options, OTHER_BOOT, read) && is_clean
}

/// Saves what can be saved, which is a database then.
fn save(image: &[u8], options: &Options) {
    let disk = SimDisk::from_image(image.to_vec(), image.len());
    let saved = SimDisk::new(SAVED_MAX);
    let _ = salvage_with(&disk, options, &saved).map(|_| {
        let saved = open(&saved, &Options::new(), false, OTHER_BOOT);
        let report = saved.and_then(|saved| saved.check(&mut |_| ControlFlow::Continue(())));
        assert!(
            report.is_ok_and(|report| report.is_clean()),
            "saved as it should be"
        );
    });
}

/// A file that may be anything, and the options to open it with.
struct HostileFile<'f> {
    image: &'f [u8],
    options: &'f Options,
}

impl HostileFile<'_> {
    /// A disk that has some room.
    fn disk(&self) -> SimDisk {
        let room = self.image.len() / 2 + (256 << 10);
        SimDisk::from_image(self.image.to_vec(), self.image.len() + room)
    }

    fn open_to_read(&self, boot: [u8; 16]) {
        let options = self.options.clone().read_only(true);
        let Ok(database) = open(&self.disk(), &options, false, boot) else {
            return;
        };
        // Once opened, it makes no difference in which boot.
        if boot != OTHER_BOOT {
            let _ = inspect(&database, self.image);
            let _ = reads::read_all(&database);
        }
        let _ = changes::refuse(&database);
        let _ = database.close();
    }

    /// Says whether the database could be opened, and was clean.
    fn open_to_write(
        &self,
        options: &Options,
        boot: [u8; 16],
        after_change: impl Fn(&Database),
    ) -> bool {
        let disk = self.disk();
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
        let again = open(&disk, self.options, false, boot);
        drop(again.map(|database| database.check(&mut |_| ControlFlow::Continue(()))));
        is_clean
    }
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
