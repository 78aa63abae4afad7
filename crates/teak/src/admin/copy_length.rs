//! The length of a copy of a database, read from the records at its beginning.

use crate::{
    Error, Result,
    record::{
        Record, RecordFault, SLOT_COUNT,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::path::Path;

/// Bytes at the beginning of a copy that are needed to determine its length.
pub(crate) const HEAD_LEN: usize = PROBE_LEN;

/// The length of a copy, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CopyLength {
    /// According to its newest record.
    pub(crate) len_bytes: u64,
    /// According to any of its records: after a truncation at a clean close, older ones refer to a
    /// longer file.
    pub(crate) len_bytes_max: u64,
}

impl CopyLength {
    /// Reads the records at the beginning of a copy. `path` is its name in errors.
    pub(crate) fn of(head: &[u8], path: &Path) -> Result<Self> {
        let refused = |fault: RecordFault| match fault {
            RecordFault::UnknownVersion(_) | RecordFault::UnknownFeatures(_) => {
                Error::UnknownFormat(fault.to_string())
            }
            fault => Error::NotADatabase {
                path: path.to_path_buf(),
                reason: fault.to_string(),
            },
        };
        let page_size = find_page_size(head).map_err(refused)?;
        let records = (0..SLOT_COUNT).filter_map(|slot| {
            let at = head.get(usize::from(slot) * page_size as usize..)?;
            let record = Record::decode(at, slot).ok()?;
            (record.page_size == page_size).then_some(record)
        });
        let len_of = |record: &Record| record.page_count.saturating_mul(page_size.into());
        let (mut newest, mut len_bytes_max) = (None, 0);
        for record in records {
            len_bytes_max = len_bytes_max.max(len_of(&record));
            newest = newest.max(Some((record.sequence, len_of(&record))));
        }
        let (_, len_bytes) = newest.ok_or_else(|| refused(RecordFault::NotARecord))?;
        Ok(Self {
            len_bytes,
            len_bytes_max,
        })
    }
}
