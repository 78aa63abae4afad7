//! The interface of engines for the workloads of `compare`: ordered records of any length, read and
//! written in transactions.
//!
//! Workloads are generic over these traits and compiled per engine, so that they call the engine
//! directly. An engine with a call for several records overrides the loop here.

use super::{KeyOrder, Space};
use anyhow::Result;
use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// A key and its value.
pub(crate) type StorePair<'p> = (&'p [u8], &'p [u8]);

/// Records per transaction of a load, unless the workload says otherwise.
const LOAD_BATCH: usize = 10_000;

/// The size of the data, and of an engine's own cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheBudget {
    /// The approximate bytes of records.
    pub(crate) data_bytes: u64,
    #[cfg_attr(
        not(any(
            feature = "redb",
            feature = "fjall",
            feature = "canopydb",
            feature = "sqlite",
            feature = "rocksdb",
            feature = "leveldb",
            feature = "berkeleydb",
            feature = "wiredtiger"
        )),
        expect(dead_code, reason = "engines that map their files have no cache")
    )]
    pub(crate) cache_bytes: u64,
    /// The memory of a write transaction, if memory is limited and the engine has such a setting.
    pub(crate) write_bytes: Option<u64>,
    pub(crate) keys: KeyOrder,
}

/// An open database, which threads share.
pub(crate) trait Store: Sync + Sized {
    /// A thread's connection.
    type Connection<'s>: Connection
    where
        Self: 's;

    /// Connects a thread.
    fn connect(&self) -> Result<Self::Connection<'_>>;

    /// Flushes all commits.
    fn sync(&self) -> Result<()>;

    /// Completes the work that the engine would do in the background. Nothing to do for engines
    /// without any.
    fn rest(&self) -> Result<()> {
        Ok(())
    }

    /// Bytes of pages in use, if the engine reports them.
    fn used_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Closes it.
    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// A thread's connection to a database.
pub(crate) trait Connection {
    type Read<'r>: Read
    where
        Self: 'r;
    type Write<'w>: Write
    where
        Self: 'w;

    /// Begins a read transaction, or takes a snapshot that serves as one.
    fn read(&mut self) -> Result<Self::Read<'_>>;

    /// Begins a write transaction, or a batch that serves as one.
    fn write(&mut self) -> Result<Self::Write<'_>>;

    /// Loads records in any order into the empty database, with the engine's best call.
    fn load(&mut self, records: &mut dyn RecordBatches) -> Result<()> {
        while let Some(batch) = records.next_batch(LOAD_BATCH) {
            let mut transaction = self.write()?;
            transaction.put_all(&batch)?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// Waits until this thread's commits are as durable as the mode promises.
    fn wait(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Records that are generated on demand.
pub(crate) trait RecordBatches {
    /// The next records, at most `most`; `None` at the end.
    fn next_batch(&mut self, most: usize) -> Option<Vec<StorePair<'_>>>;
}

/// The start and the direction of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScanDirection<'k> {
    /// From the first record on.
    Forwards,
    /// From the last record back.
    Backwards,
    /// Forwards from the first record at or after this key.
    From(&'k [u8]),
}

/// A transaction that looks up records.
pub(crate) trait LookupTransaction {
    /// Looks up a key, and passes its value to `see` if it exists.
    fn get(&mut self, key: &[u8], see: impl FnMut(&[u8])) -> Result<bool>;
}

/// A read transaction. Ends when it is dropped.
pub(crate) trait Read: LookupTransaction {
    /// Looks up keys, and passes the values of the existing ones to `see`, in the order of the
    /// keys.
    fn get_many(&mut self, keys: &[&[u8]], mut see: impl FnMut(&[u8])) -> Result<()> {
        for key in keys {
            self.get(key, &mut see)?;
        }
        Ok(())
    }

    /// Shows up to `most` records, in order.
    fn scan(
        &mut self,
        direction: ScanDirection<'_>,
        most: u64,
        see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()>;
}

/// A write transaction. Dropping it discards the changes. If it is a batch, lookups do not see its
/// changes.
pub(crate) trait Write: LookupTransaction {
    /// Inserts or replaces a record.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Inserts or replaces records in any order.
    fn put_all(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        records
            .iter()
            .try_for_each(|(key, value)| self.put(key, value))
    }

    /// Appends records after the last one, in order.
    fn append(&mut self, records: &[StorePair<'_>]) -> Result<()> {
        self.put_all(records)
    }

    /// Removes an existing record.
    fn remove(&mut self, key: &[u8]) -> Result<()>;

    /// Removes existing records, in any order.
    fn remove_all(&mut self, keys: &[&[u8]]) -> Result<()> {
        keys.iter().try_for_each(|key| self.remove(key))
    }

    /// Commits, as durably as the database was opened for.
    fn commit(self) -> Result<()>;
}

/// The size of all files in `directory`: their lengths, and the space allocated for them.
pub(crate) fn size_of_files(directory: &Path, used_bytes: u64) -> Result<Space> {
    let mut space = Space {
        file_bytes: 0,
        allocated_bytes: 0,
        used_bytes,
    };
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            // A file may disappear while others are counted: engines remove files in background
            // threads.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                directories.push(entry.path());
            } else {
                space.file_bytes += metadata.len();
                space.allocated_bytes += metadata.blocks() * 512;
            }
        }
    }
    Ok(space)
}

/// Waits until the engine's own threads are idle: they use no processor time and write nothing.
#[cfg(any(
    feature = "fjall",
    feature = "canopydb",
    feature = "rocksdb",
    feature = "leveldb",
    feature = "berkeleydb",
    feature = "wiredtiger"
))]
pub(crate) fn wait_until_quiet() -> Result<()> {
    use rustix::time::{ClockId, clock_gettime};
    use std::{thread, time::Duration};

    const CHECK_EVERY: Duration = Duration::from_millis(50);
    const BUSY: Duration = Duration::from_millis(2);
    const CHECKS_MAX: u32 = 20 * 600;
    let measure = || -> Result<(Duration, u64)> {
        let cpu = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime))?;
        let written = crate::process::Traffic::now().written_bytes();
        Ok((cpu, written))
    };
    let (mut before, mut quiet) = (measure()?, 0);
    for _ in 0..CHECKS_MAX {
        thread::sleep(CHECK_EVERY);
        let now = measure()?;
        let is_quiet = now.0.saturating_sub(before.0) < BUSY && now.1 == before.1;
        quiet = if is_quiet { quiet + 1 } else { 0 };
        if quiet == 2 {
            return Ok(());
        }
        before = now;
    }
    anyhow::bail!("an engine does not come to rest")
}
