//! How long a copy of a database is: its records say so, and it begins with them.

use crate::{
    Error, Result,
    record::{
        Record, RecordFault, SLOT_COUNT,
        probe::{PROBE_LEN, find_page_size},
    },
};
use std::path::Path;

/// So many bytes of a copy, or all of it, tell how long it is.
pub(crate) const HEAD_LEN: usize = PROBE_LEN;

/// The length of a copy, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CopyLength {
    /// As its newest record says.
    pub(crate) len_bytes: u64,
    /// As any of its records says: where a clean close has cut the file, older ones speak of a longer one.
    pub(crate) len_bytes_max: u64,
}

impl CopyLength {
    /// Reads the records that a copy begins with, which is called `path` in errors.
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
