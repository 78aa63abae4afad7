//! The limits of a database, which depend on its page size.

use crate::{
    Error, Result,
    alloc::FIRST_PAGE,
    page::{leaf::LeafFormat, max_key_len},
    record::is_page_size,
};

/// The limits of a database. See [`limits`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The longest key and the longest table name, in bytes. Both may be empty.
    pub key_len_max: usize,
    /// The longest value in a multi-value table, in bytes. Values may be empty.
    pub multi_value_len_max: usize,
    /// A value is stored in its leaf if key, value and a few bytes of header together do not exceed
    /// this. A longer value is stored in at least one page of its own.
    pub inline_record_len_max: usize,
    /// The longest value in bytes. The largest file has no room for a longer one.
    pub value_len_max: u64,
    /// The longest file in bytes.
    pub file_bytes_max: u64,
}

/// Returns the limits of a database with this page size.
///
/// ```
/// let limits = teak::limits(4096)?;
/// assert_eq!((limits.key_len_max, limits.multi_value_len_max), (3840, 3840));
/// assert_eq!(limits.file_bytes_max, (16 << 40) - 4096);
/// assert!(teak::limits(1000).is_err());
/// # Ok::<(), teak::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] if this is not a valid page size.
pub fn limits(page_size_bytes: usize) -> Result<Limits> {
    if !u32::try_from(page_size_bytes).is_ok_and(is_page_size) {
        let text = format!(
            "pages of {page_size_bytes} bytes are not possible; the size is a power of two from 4096 to 65536"
        );
        return Err(Error::InvalidArgument(text));
    }
    // Page numbers have 32 bits.
    let page_count = u64::from(u32::MAX);
    let bytes = |pages: u64| pages * page_size_bytes as u64;
    Ok(Limits {
        key_len_max: max_key_len(page_size_bytes),
        multi_value_len_max: max_key_len(page_size_bytes),
        inline_record_len_max: LeafFormat::max_inline_record_len(page_size_bytes),
        value_len_max: bytes(page_count - u64::from(FIRST_PAGE)),
        file_bytes_max: bytes(page_count),
    })
}
