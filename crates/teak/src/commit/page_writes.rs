//! Writing pages to the file.

use crate::{PageNumber, TransactionId, io::Storage};
use std::{
    io::{self, IoSlice},
    sync::Arc,
};

/// The operation that errors name.
pub(crate) const WRITING_PAGES: &str = "writing pages";

/// The most parts of one write, which bounds its bookkeeping.
pub(crate) const WRITE_PARTS_MAX: usize = 512;

/// Writes sorted pages to their final positions, with one write for each run of consecutive pages,
/// split after [`WRITE_PARTS_MAX`] pages.
pub(crate) fn write_pages(
    storage: &dyn Storage,
    page_size: usize,
    pages: &[(PageNumber, &[u8])],
) -> io::Result<()> {
    let in_a_row = |a: &(PageNumber, &[u8]), b: &(PageNumber, &[u8])| a.0.0 + 1 == b.0.0;
    for stretch in pages.chunk_by(in_a_row) {
        for part in stretch.chunks(WRITE_PARTS_MAX) {
            let offset = u64::from(part[0].0.0) * page_size as u64;
            let slices: Vec<_> = part.iter().map(|(_, page)| IoSlice::new(page)).collect();
            storage.write(offset, &slices)?;
        }
    }
    Ok(())
}

/// A page that is not in the file yet.
#[derive(Clone, Debug)]
pub(crate) struct UnwrittenPage {
    pub(crate) number: PageNumber,
    pub(crate) bytes: Arc<[u8]>,
    /// The commit that wrote it.
    pub(crate) transaction: TransactionId,
}
