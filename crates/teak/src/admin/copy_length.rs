//! The length of a copy of a database, read from the records at its beginning.

use crate::{
    Result,
    admin::backup::hole_len,
    instance::policies::EncryptionSettings,
    io::opened,
    open::{
        encryption,
        slots::{KeyPresence, SlotRecords, refusal},
    },
    record::{Record, RecordFault, probe::PROBE_LEN},
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
    /// The number of zeros that may be left out.
    pub(crate) hole_len: usize,
}

impl CopyLength {
    /// Reads the records at the beginning of a copy. `path` is its name in errors.
    pub(crate) fn of(
        head: &[u8],
        path: &Path,
        encryption: Option<&EncryptionSettings>,
    ) -> Result<Self> {
        let refused = |fault: RecordFault| refusal(&fault, path, "");
        let codec = encryption::codec_of(head, path, encryption)?;
        let open = |image| opened(codec.as_deref(), image);
        let key = match codec {
            Some(_) => KeyPresence::Known,
            None => KeyPresence::Missing,
        };
        let records = SlotRecords::decode_opened(head, key, open)
            .map_err(refused)?
            .records;
        let newest = (records.first()).ok_or_else(|| refused(RecordFault::NotARecord))?;
        let len_of = |record: &Record| record.page_count.saturating_mul(record.page_size.into());
        Ok(Self {
            len_bytes: len_of(newest),
            len_bytes_max: records.iter().map(len_of).max().unwrap_or(0),
            hole_len: hole_len(newest.compression),
        })
    }
}
