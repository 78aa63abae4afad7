//! The options of an episode's database.

use super::process_pool::ProcessPool;
use crate::campaign::{CampaignClock, Encoding, draw};
use fastrand::Rng;
use std::time::Duration;
use teak::{
    Database, Geometry, Options,
    testing::{self, RecordSummary, SimDisk},
};

/// The boot of the machine in which workloads run.
pub(super) const BOOT: [u8; 16] = [1; 16];

/// The size of the disk of a workload, unless the disk is supposed to become full.
const CAPACITY: usize = 8 << 20;

#[derive(Clone, Debug)]
pub(super) struct CrashSettings {
    pub(super) page_size: usize,
    pub(super) size_limit_bytes: Option<u64>,
    pub(super) write_memory_bytes: usize,
    pub(super) capacity: usize,
    geometry: Geometry,
    /// Tables with more pages are released in parts. `None` leaves this choice to the engine.
    release_at_once: Option<u64>,
    /// Size of the journal; 0 for none.
    pub(super) journal_bytes: u64,
    /// Whether closing flushes lazy commits.
    pub(super) flushes_on_close: bool,
    /// Whether small commits go to a write-ahead log.
    pub(super) has_log: bool,
    pub(super) encoding: Encoding,
    /// The clock, if it is not that of the system.
    pub(super) clock: Option<CampaignClock>,
}

impl CrashSettings {
    pub(super) fn draw(rng: &mut Rng, page_size: usize) -> Self {
        let write_memory_bytes = match rng.u8(0..3) {
            0 => 1 << rng.u32(12..18),
            _ => 1 << 20,
        };
        // Keeps the other draws the same for each seed.
        let mut other = rng.clone();
        Self {
            release_at_once: other.bool().then(|| 1 << other.u32(0..4)),
            journal_bytes: page_size as u64 * [0, 0, 3, 16, 64][other.usize(0..5)],
            flushes_on_close: other.usize(0..3) > 0,
            has_log: other.bool(),
            encoding: Encoding::Off,
            clock: None,
            page_size,
            size_limit_bytes: None,
            write_memory_bytes,
            capacity: CAPACITY,
            geometry: draw::geometry(rng, page_size),
        }
    }

    /// The disk of a new database.
    pub(super) fn new_disk(&self) -> SimDisk {
        let disk = SimDisk::new(self.capacity);
        match self.has_log {
            true => disk.with_log(Vec::new()),
            false => disk,
        }
    }

    /// Opens the database in the boot of the workload, as one of several processes if there is a
    /// pool.
    pub(super) fn open_in(
        &self,
        disk: &SimDisk,
        pool: Option<&ProcessPool>,
        is_new: bool,
    ) -> teak::Result<Database> {
        match pool {
            Some(pool) => testing::open_apart(disk, &pool.lock_file, &self.options(), is_new, BOOT),
            None => testing::open(disk, &self.options(), is_new, BOOT),
        }
    }

    fn options(&self) -> Options {
        let options = Options::new()
            .page_size(self.page_size)
            .geometry(self.geometry)
            .size_limit_bytes(self.size_limit_bytes)
            // Nothing depends on the time.
            .flush_after(Duration::MAX)
            .write_memory_bytes(self.write_memory_bytes);
        let options = options
            .journal_bytes(self.journal_bytes)
            .flush_on_close(self.flushes_on_close);
        let options = self.extended(options);
        match self.release_at_once {
            Some(pages) => options.release_at_once(pages),
            None => options,
        }
    }

    /// Options for the image of a crash, without a size limit, so that it can be written to.
    fn image_options(&self) -> Options {
        let options = Options::new().size_limit_bytes(Some(u64::MAX));
        self.extended(options)
    }

    /// The options with the key and the clock.
    fn extended(&self, options: Options) -> Options {
        let options = self.encoding.apply(options);
        match &self.clock {
            Some(clock) => clock.apply(options),
            None => options,
        }
    }

    /// Opens the image of a crash.
    pub(super) fn open_image(&self, disk: &SimDisk, boot: [u8; 16]) -> teak::Result<Database> {
        testing::open(disk, &self.image_options(), false, boot)
    }

    /// The newest record of an image, and that after the journal is redone.
    pub(super) fn newest_of(&self, file: &[u8]) -> (Option<RecordSummary>, Option<RecordSummary>) {
        if self.encoding != Encoding::Off {
            // There is no journal.
            let records = testing::decrypted_records(file, &self.image_options());
            return (testing::newest_record(&records), None);
        }
        let redone = testing::redone(file).and_then(|file| testing::newest_record(&file));
        (testing::newest_record(file), redone)
    }

    /// Length of the part of the file that has the commit records.
    pub(super) fn head_len(&self) -> u64 {
        4 * self.page_size as u64
    }
}
