//! Inspecting a database without opening it: the content of its commit records.

use crate::open::slots::{KeyPresence, SlotRecords, acknowledged, refusal};
use crate::{
    Error, Geometry, Result, TransactionId,
    io::{Mapping, read_head},
    record::{Record, RecordFault, durability::Durability, probe::PROBE_LEN},
};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The result of [`inspect`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileInfo {
    /// Page size in bytes.
    pub page_size: usize,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Length of the database in bytes, according to the newest commit.
    pub database_bytes: u64,
    /// The newest commit.
    pub transaction: TransactionId,
    /// The last commit that is known to have been durable.
    pub durable_transaction: TransactionId,
    /// Time of the newest commit.
    pub committed: SystemTime,
    /// Whether the database was closed after it, so that no recovery is needed.
    pub was_closed: bool,
    /// Whether a transaction is prepared, so that nothing else can be written before it is decided.
    pub has_prepared: bool,
    /// Growth steps and size limits of the file.
    pub geometry: Geometry,
    /// The default durability of commits.
    pub durability: Durability,
    /// Descriptions of commit records that cannot be read. During a commit there may be one.
    pub unreadable_records: Vec<String>,
}

/// Reads the commit records of a database without opening or locking it. Processes that use the
/// database are not disturbed, and may have committed again when this returns. Nothing is
/// recovered: after a crash, opening may choose an older commit.
///
/// ```
/// # use teak::Database;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("x.teak");
/// let database = Database::open(&path)?;
/// database.create_snapshot("monday")?;
/// assert!(!teak::inspect(&path)?.was_closed, "something was committed since it was opened");
/// database.close()?;
/// let info = teak::inspect(&path)?;
/// assert!(info.was_closed && info.unreadable_records.is_empty());
/// assert_eq!(info.page_size, 4096);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`Error::NotFound`] if there is no file.
/// - [`Error::NotADatabase`] if the file is not a database.
/// - [`Error::UnknownFormat`] if a newer version wrote it.
/// - [`Error::Io`] if it cannot be read.
pub fn inspect(path: impl AsRef<Path>) -> Result<FileInfo> {
    let path = path.as_ref();
    let (head, file_bytes) = read_head(path, PROBE_LEN).map_err(|error| error.at(path))?;
    let mut unreadable_records = Vec::new();
    let records = records_in(&head, path, None, &mut unreadable_records)?;
    let Some(newest) = records.first() else {
        return Err(not_a_database(&RecordFault::NotARecord, path));
    };
    Ok(FileInfo {
        page_size: newest.page_size as usize,
        file_bytes,
        database_bytes: newest.page_count * u64::from(newest.page_size),
        transaction: newest.transaction,
        durable_transaction: acknowledged(&records),
        committed: UNIX_EPOCH
            .checked_add(Duration::from_millis(newest.time_ms))
            .unwrap_or(UNIX_EPOCH),
        was_closed: newest.clean_close,
        has_prepared: newest.has_prepared(),
        geometry: newest.geometry,
        durability: Durability::from_byte(newest.default_durability),
        unreadable_records,
    })
}

/// All readable records of the database that the newest record belongs to, the newest first. The
/// mapping of the file decrypts them, if it can.
pub(crate) fn records_in(
    head: &[u8],
    path: &Path,
    mapping: Option<&Mapping>,
    passed_over: &mut Vec<String>,
) -> Result<Vec<Record>> {
    let open = |image| match mapping {
        Some(mapping) => mapping.opened_record(image),
        None => image,
    };
    let key = mapping.map_or(KeyPresence::Missing, KeyPresence::of);
    let slots = SlotRecords::decode_opened(head, key, open);
    let slots = slots.map_err(|fault| not_a_database(&fault, path))?;
    let faults = slots.faults.iter();
    passed_over.extend(faults.map(|(slot, fault)| format!("page {slot}: {fault}")));
    let mut records = slots.records;
    if let Some(mapping) = mapping {
        records.retain(|record| record.reserved_per_page == mapping.reserved_len());
    }
    Ok(records)
}

/// The error for a file without a record in any of the slots.
pub(crate) fn not_a_database(fault: &RecordFault, path: &Path) -> Error {
    refusal(fault, path, "; all possible positions were checked")
}
