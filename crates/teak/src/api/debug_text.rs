//! Short debug texts of keys and values.

use std::fmt;

/// The most bytes that are shown.
const SHOWN: usize = 16;

/// Shows the length of a key or value, and its first bytes.
pub(super) struct ShortBytes<'b>(pub(super) &'b [u8]);

impl fmt::Debug for ShortBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.len();
        let shown = self.0[..len.min(SHOWN)].escape_ascii();
        let rest = if len > SHOWN { "..." } else { "" };
        write!(f, "{len} bytes \"{shown}{rest}\"")
    }
}
