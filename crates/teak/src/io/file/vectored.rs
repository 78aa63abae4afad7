//! Writing many parts with few calls, with handling of partial writes.

use std::io::{self, IoSlice};

/// The most parts of one call: `IOV_MAX` of Linux and the BSDs.
const PARTS_MAX: usize = 1024;

/// Writes all `parts` contiguously from `offset` on, by calls of `write`. Each call returns how
/// many bytes it wrote, which may be fewer than given.
///
/// # Errors
///
/// - The first error of `write` except `Interrupted`.
/// - `WriteZero` if a call writes nothing.
pub(super) fn write_all(
    mut offset: u64,
    mut parts: &[IoSlice<'_>],
    mut write: impl FnMut(u64, &[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<()> {
    // Bytes of the first part that are written already.
    let mut skipped = 0;
    while let Some(first) = parts.first() {
        if first.len() == skipped {
            (parts, skipped) = (&parts[1..], 0);
            continue;
        }
        let result = if skipped == 0 {
            write(offset, &parts[..parts.len().min(PARTS_MAX)])
        } else {
            write(offset, &[IoSlice::new(&first[skipped..])])
        };
        let written = match result {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        offset += written as u64;
        (parts, skipped) = advance(parts, skipped + written);
    }
    Ok(())
}

/// The parts that remain after `len` bytes, and the used bytes of the first one.
fn advance<'a, 'b>(mut parts: &'a [IoSlice<'b>], mut len: usize) -> (&'a [IoSlice<'b>], usize) {
    while let Some(first) = parts.first()
        && len >= first.len()
    {
        len -= first.len();
        parts = &parts[1..];
    }
    assert!(
        parts.first().map_or(len == 0, |first| len < first.len()),
        "the system writes no more than it was given"
    );
    (parts, len)
}

#[cfg(test)]
#[path = "vectored_tests.rs"]
mod tests;
