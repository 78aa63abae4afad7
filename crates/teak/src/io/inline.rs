//! Short bytes and short text in place, and the check that bytes are text.
//!
//! Invariant: an [`InlineText`] is made of whole text only, so its bytes are UTF-8.

use std::str::{self, Utf8Error};

/// The most bytes that are stored in place.
pub(crate) const INLINE_LEN: usize = 32;

/// The highest bit of each byte: ASCII has none of them.
const HIGH_BITS: u128 = u128::MAX / 255 * 128;

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
        Some(Self { len, bytes })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
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
        // SAFETY: they are the bytes of a whole `str`, and nothing changes them.
        unsafe { str::from_utf8_unchecked(self.0.as_slice()) }
    }
}

/// Checks that bytes are UTF-8. Short ASCII takes a few instructions and no call.
#[inline(always)]
pub(crate) fn checked_text(bytes: &[u8]) -> Result<&str, Utf8Error> {
    match is_short_ascii(bytes) {
        // SAFETY: ASCII is UTF-8.
        true => Ok(unsafe { str::from_utf8_unchecked(bytes) }),
        false => str::from_utf8(bytes),
    }
}

/// Whether these are 4 to 32 bytes of ASCII.
#[inline(always)]
fn is_short_ascii(bytes: &[u8]) -> bool {
    let bits = match bytes.len() {
        16..=INLINE_LEN => {
            let ends = (bytes.first_chunk(), bytes.last_chunk());
            let (Some(&first), Some(&last)) = ends else {
                return false;
            };
            u128::from_ne_bytes(first) | u128::from_ne_bytes(last)
        }
        8..16 => {
            let ends = (bytes.first_chunk(), bytes.last_chunk());
            let (Some(&first), Some(&last)) = ends else {
                return false;
            };
            (u64::from_ne_bytes(first) | u64::from_ne_bytes(last)).into()
        }
        4..8 => {
            let ends = (bytes.first_chunk(), bytes.last_chunk());
            let (Some(&first), Some(&last)) = ends else {
                return false;
            };
            (u32::from_ne_bytes(first) | u32::from_ne_bytes(last)).into()
        }
        _ => return false,
    };
    bits & HIGH_BITS == 0
}

#[cfg(test)]
#[path = "inline_tests.rs"]
mod tests;
