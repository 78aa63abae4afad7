//! The options of an episode's database.

use super::process_pool::ProcessPool;
use crate::campaign::draw;
use fastrand::Rng;
use std::time::Duration;
use teak::{Database, Geometry, Options, testing, testing::SimDisk};

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
        match self.release_at_once {
            Some(pages) => options.release_at_once(pages),
            None => options,
        }
    }

    /// Opens the image of a crash without a size limit, so that it can be written to.
    pub(super) fn open_image(&self, disk: &SimDisk, boot: [u8; 16]) -> teak::Result<Database> {
        let options = Options::new().size_limit_bytes(Some(u64::MAX));
        testing::open(disk, &options, false, boot)
    }

    /// Length of the part of the file that has the commit records.
    pub(super) fn head_len(&self) -> u64 {
        4 * self.page_size as u64
    }
}
