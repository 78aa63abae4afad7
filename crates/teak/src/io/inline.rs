//! Short bytes and short text in place.
//!
//! Invariant: an [`InlineText`] is made of whole text only, so its bytes are UTF-8.

use std::str;

/// The most bytes that are stored in place.
pub(crate) const INLINE_LEN: usize = 32;

/// Up to 32 bytes.
#[derive(Clone, Copy)]
pub(crate) struct InlineBytes {
    len: u8,
    bytes: [u8; INLINE_LEN],
}

impl InlineBytes {
    /// Copies bytes; `None` if there are too many.
    #[inline(always)]
    pub(crate) fn new(source: &[u8]) -> Option<Self> {
        let mut bytes = [0; INLINE_LEN];
        let target = bytes.get_mut(..source.len())?;
        // Two copies of a constant length, which may overlap, take two instructions each. One copy
        // of a variable length is a call.
        let is_copied = copy_ends::<16>(source, target)
            || copy_ends::<8>(source, target)
            || copy_ends::<4>(source, target);
        if !is_copied {
            let pairs = target.iter_mut().zip(source);
            pairs.for_each(|(target, source)| *target = *source);
        }
        let len = source.len() as u8;
        debug_assert!(bytes.starts_with(source), "all bytes are copied");
        Some(Self { len, bytes })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        debug_assert!(
            usize::from(self.len) <= INLINE_LEN,
            "the length is one of bytes in place"
        );
        let bytes = self.bytes.get(..usize::from(self.len));
        bytes.unwrap_or_default()
    }
}

/// Copies the first `N` and the last `N` bytes; returns whether there are so many.
#[inline(always)]
fn copy_ends<const N: usize>(source: &[u8], target: &mut [u8]) -> bool {
    let (Some(&first), Some(&last)) = (source.first_chunk::<N>(), source.last_chunk()) else {
        return false;
    };
    target
        .first_chunk_mut::<N>()
        .into_iter()
        .for_each(|chunk| *chunk = first);
    target
        .last_chunk_mut::<N>()
        .into_iter()
        .for_each(|chunk| *chunk = last);
    true
}

/// Up to 32 bytes of text.
#[derive(Clone, Copy)]
pub(crate) struct InlineText(InlineBytes);

impl InlineText {
    /// Copies text; `None` if it is too long.
    #[inline(always)]
    pub(crate) fn new(source: &str) -> Option<Self> {
        InlineBytes::new(source.as_bytes()).map(Self)
    }

    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        debug_assert!(
            str::from_utf8(self.0.as_slice()).is_ok(),
            "it is whole text"
        );
        // SAFETY: they are the bytes of a whole `str`, and nothing changes them.
        unsafe { str::from_utf8_unchecked(self.0.as_slice()) }
    }
}

#[cfg(test)]
#[path = "inline_tests.rs"]
mod tests;
