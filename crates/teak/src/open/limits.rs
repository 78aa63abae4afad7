//! What fits into a database, by the size of its pages.

use crate::{
    Error, Result,
    alloc::FIRST_PAGE,
    page::{leaf::LeafFormat, max_key_len},
    record::is_page_size,
};

/// What fits into a database; see [`limits`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The longest key, and the longest name of a table, in bytes. The shortest has none.
    pub key_len_max: usize,
    /// The longest value of a table in which a key has several, in bytes. The shortest has none.
    pub multi_value_len_max: usize,
    /// A value stands in its leaf if key and value together have no more bytes than this, with a few for their description; a longer one
    /// stands in pages of its own, and costs at least one.
    pub inline_record_len_max: usize,
    /// No value has more bytes: the largest file has no more room.
    pub value_len_max: u64,
    /// The longest file.
    pub file_bytes_max: u64,
}

/// What fits into a database with pages of this size.
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
/// [`Error::InvalidArgument`] if no database has pages of this size.
pub fn limits(page_size_bytes: usize) -> Result<Limits> {
    if !u32::try_from(page_size_bytes).is_ok_and(is_page_size) {
        let text = format!(
            "pages of {page_size_bytes} bytes are not possible; the size is a power of two from 4096 to 65536"
        );
        return Err(Error::InvalidArgument(text));
    }
    // Pages are counted in 32 bits.
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
