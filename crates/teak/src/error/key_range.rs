//! Key ranges in messages.

use std::fmt;

/// The number of bytes of a key that a message shows.
const SHOWN_LEN: usize = 40;

/// A range of keys: from `low` to before `high`. If both are equal, that single key.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub struct KeyRange {
    /// The first key; `None` for the beginning of the table.
    pub low: Option<Vec<u8>>,
    /// The key after the last one; `None` for the end of the table.
    pub high: Option<Vec<u8>>,
}

impl KeyRange {
    /// A range of one key.
    #[must_use]
    pub(crate) fn single(key: &[u8]) -> Self {
        Self {
            low: Some(key.to_vec()),
            high: Some(key.to_vec()),
        }
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.low, &self.high) {
            (None, None) => f.write_str("all keys"),
            (Some(low), None) => write!(f, "keys from {} on", ShortenedKey(low)),
            (None, Some(high)) => write!(f, "keys before {}", ShortenedKey(high)),
            (Some(low), Some(high)) if low == high => write!(f, "key {}", ShortenedKey(low)),
            (Some(low), Some(high)) => {
                write!(
                    f,
                    "keys from {} to before {}",
                    ShortenedKey(low),
                    ShortenedKey(high)
                )
            }
        }
    }
}

/// A key, shortened, with escapes for what is not printable.
struct ShortenedKey<'k>(&'k [u8]);

impl fmt::Display for ShortenedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_LEN)];
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "key_range_tests.rs"]
mod tests;
