//! The key of a cursor, assembled from the parts that a page with a shared prefix holds.
//!
//! The parts are written to the buffer with other lengths than a check of text would read, and a
//! processor then waits until they are in its cache, for longer than a step of the cursor takes.
//! So ASCII is recognized while the parts are in registers.
//!
//! Invariant: the bytes of a [`KeyBuffer`] are ASCII if `is_ascii`.

use std::str::{self, Utf8Error};

/// The bytes of a key beyond its head that are copied at once.
const CHUNK_LEN: usize = 16;

/// The length of the buffer beyond the prefix, at least.
const ROOM: usize = 4 + CHUNK_LEN;

/// The bits which say, in a chunk whose first N bytes belong to a key, that it is not ASCII.
const HIGH_BITS: [u128; CHUNK_LEN + 1] = {
    let mut bits = [0; CHUNK_LEN + 1];
    let mut bytes = [0; CHUNK_LEN];
    let mut len = 0;
    while len < CHUNK_LEN {
        bytes[len] = 0x80;
        len += 1;
        bits[len] = u128::from_le_bytes(bytes);
    }
    bits
};

/// An assembled key.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyBuffer {
    /// At least [`ROOM`] bytes longer than the prefix, as soon as there was one.
    bytes: Vec<u8>,
    len: usize,
    prefix_len: usize,
    prefix_is_ascii: bool,
    is_ascii: bool,
}

impl KeyBuffer {
    /// Begins with the prefix of a page. There is no key then.
    pub(crate) fn set_prefix(&mut self, prefix: &[u8]) {
        let room = prefix.len() + ROOM;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let copy = &mut self.bytes[..prefix.len()];
        copy.copy_from_slice(prefix);
        // The copy counts: another process could change the page meanwhile.
        (self.prefix_len, self.prefix_is_ascii) = (prefix.len(), copy.is_ascii());
        self.clear();
    }

    /// There is no key until the next [`Self::set_rest`].
    pub(crate) fn clear(&mut self) {
        (self.len, self.is_ascii) = (0, false);
    }

    /// Sets the bytes after the prefix: `len` bytes, of which the first four are in `head` and the
    /// others are `stored`. `tail` are the bytes of the page from `stored` on. Copies a whole
    /// chunk, so bytes after the key may change too. Asks whether the key is ASCII if it `is_text`.
    #[inline(always)]
    pub(crate) fn set_rest(
        &mut self,
        (head, stored): ([u8; 4], &[u8]),
        tail: &[u8],
        len: usize,
        is_text: bool,
    ) {
        self.is_ascii = false;
        if let Some(high_bits) = HIGH_BITS.get(stored.len())
            && let Some(&chunk) = tail.first_chunk()
            && let Some(room) = self.bytes.get_mut(self.prefix_len..self.prefix_len + ROOM)
        {
            room[..4].copy_from_slice(&head);
            // A number is moved in a register, whereas bytes would be copied by a call.
            let chunk = u128::from_le_bytes(chunk);
            room[4..].copy_from_slice(&chunk.to_le_bytes());
            if is_text {
                let has_high_bits =
                    u32::from_le_bytes(head) & 0x8080_8080 != 0 || chunk & high_bits != 0;
                // Lengths that contradict each other would leave bytes unchecked.
                let is_whole = len <= 4 + stored.len();
                self.is_ascii = self.prefix_is_ascii && is_whole && !has_high_bits;
            }
        } else {
            self.set_long_rest(head, stored);
        }
        self.len = self.prefix_len + len;
        debug_assert!(self.len <= self.bytes.len(), "the key is in the buffer");
    }

    /// Sets a rest that is longer than a chunk, or that ends its page.
    #[cold]
    #[inline(never)]
    fn set_long_rest(&mut self, head: [u8; 4], stored: &[u8]) {
        self.bytes.truncate(self.prefix_len);
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(stored);
        let room = self.bytes.len().max(self.prefix_len + ROOM);
        self.bytes.resize(room, 0);
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The key of a record that a cursor has read.
#[derive(Clone, Copy, Debug)]
pub struct CursorKey<'k> {
    bytes: &'k [u8],
    is_ascii: bool,
}

impl<'k> CursorKey<'k> {
    #[inline(always)]
    pub(crate) fn in_buffer(buffer: &'k KeyBuffer) -> Self {
        let (bytes, is_ascii) = (buffer.bytes(), buffer.is_ascii);
        Self { bytes, is_ascii }
    }

    #[inline(always)]
    pub(crate) fn in_page(bytes: &'k [u8]) -> Self {
        let is_ascii = false;
        Self { bytes, is_ascii }
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> &'k [u8] {
        self.bytes
    }

    #[inline(always)]
    pub(crate) fn text(self) -> Result<&'k str, Utf8Error> {
        debug_assert!(
            !self.is_ascii || self.bytes.is_ascii(),
            "its parts are ASCII"
        );
        match self.is_ascii || is_text(self.bytes) {
            // SAFETY: checked now, or when the bytes were assembled. Nothing has changed them
            // since, because they are borrowed.
            true => Ok(unsafe { str::from_utf8_unchecked(self.bytes) }),
            false => str::from_utf8(self.bytes),
        }
    }
}

/// Whether bytes are text. Not inlined into the loops over records.
#[inline(never)]
fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
#[path = "key_buffer_tests.rs"]
mod tests;
