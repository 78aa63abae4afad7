//! Newtypes of on-disk values: no bare integer crosses a module as a page number or a transaction
//! id.

use std::fmt;

/// The number of a page: its offset in the file divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageNumber(pub u32);

/// The id of a transaction. A new database is at transaction 0. Each commit with changes adds one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransactionId(pub u64);

/// The 64-bit XXH3 of a page or a large value, stored next to the reference to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Checksum(pub(crate) u64);

/// Consecutive pages: `start` and the `len - 1` pages after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Extent {
    /// The first page.
    pub start: PageNumber,
    /// The number of pages.
    pub len: u32,
}

/// The names of the types of a table's keys and values, as recorded with the table. An empty name
/// stands for any type: nothing is recorded, or nothing is checked.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct TableTypes {
    /// The name of the codec of keys.
    pub keys: String,
    /// The name of the codec of values.
    pub values: String,
}

/// The names of the types of a table's keys and values. An empty name is not recorded, and stands
/// for any type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TypeNames<'b> {
    pub(crate) keys: &'b str,
    pub(crate) values: &'b str,
}

impl TypeNames<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.values.is_empty()
    }

    /// Whether a table with the one names can be used with the others.
    pub(crate) fn agree_with(&self, other: &TypeNames<'_>) -> bool {
        let agree = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        agree(self.keys, other.keys) && agree(self.values, other.values)
    }
}

impl TableTypes {
    /// Names of types, such as those that [`Codec::name`](crate::codec::Codec::name) returns.
    pub fn new(keys: impl Into<String>, values: impl Into<String>) -> Self {
        Self {
            keys: keys.into(),
            values: values.into(),
        }
    }

    pub(crate) fn names(&self) -> TypeNames<'_> {
        TypeNames {
            keys: &self.keys,
            values: &self.values,
        }
    }
}

impl From<TypeNames<'_>> for TableTypes {
    fn from(names: TypeNames<'_>) -> Self {
        Self {
            keys: names.keys.to_owned(),
            values: names.values.to_owned(),
        }
    }
}

/// The names, as `str -> u64`; `_` stands for any type.
impl fmt::Display for TableTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [keys, values] = [&self.keys, &self.values].map(|name| match name.as_str() {
            "" => "_".into(),
            name => name.escape_debug().to_string(),
        });
        write!(f, "{keys} -> {values}")
    }
}

impl PageNumber {
    /// The index of this page in arrays that have an element for each page.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl TransactionId {
    /// Returns the next id. Ids in a file are below 2^63, so there always is one. The greatest
    /// number of this type is returned unchanged.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Checksum {
    /// The checksum of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(twox_hash::XxHash3_64::oneshot(bytes))
    }
}

impl Extent {
    pub(crate) fn new(start: u32, len: u32) -> Self {
        Self {
            start: PageNumber(start),
            len,
        }
    }

    /// The number of the page after the last one. It is a `u64`, because an extent may end at the
    /// greatest page number.
    pub(crate) fn end(self) -> u64 {
        u64::from(self.start.0) + u64::from(self.len)
    }

    /// Whether extents are sorted and share no page.
    pub(crate) fn are_apart(extents: &[Self]) -> bool {
        extents.is_sorted_by(|a, b| a.end() <= u64::from(b.start.0))
    }

    /// The pages of the extent, in order.
    pub(crate) fn pages(self) -> impl Iterator<Item = PageNumber> {
        (u64::from(self.start.0)..self.end()).map(|number| PageNumber(number as u32))
    }
}

impl fmt::Debug for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}+{}", self.start.0, self.len)
    }
}

/// The least and greatest length of the file, and the steps in which it grows and shrinks. All are
/// in bytes, rounded to whole pages, and stored in the file.
///
/// ```
/// use teak::{Geometry, Options};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// let geometry = Geometry::new()
///     .lower_limit_bytes(1 << 20)
///     .upper_limit_bytes(8 << 30);
/// let database = Options::new().geometry(geometry).open(&path)?;
/// assert_eq!(database.geometry()?, geometry);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub struct Geometry {
    /// The least length of the file. The first commit that needs space grows it to this length.
    pub lower_limit_bytes: u64,
    /// The greatest length of the file. A change that does not fit is
    /// [`Error::Full`](crate::Error::Full). `u64::MAX` for no limit.
    pub upper_limit_bytes: u64,
    /// The step in which the file grows, or more if a commit needs it. 0 is the engine's choice,
    /// which depends on the length.
    pub growth_step_bytes: u64,
    /// The free space at the end of the file that makes a commit truncate it, to half of this. 0 is
    /// the engine's choice: an eighth of the file, and more than a growth step. `u64::MAX` for
    /// never.
    pub shrink_threshold_bytes: u64,
}

impl Default for Geometry {
    /// No limits, and the engine's choices.
    fn default() -> Self {
        Self {
            lower_limit_bytes: 0,
            upper_limit_bytes: u64::MAX,
            growth_step_bytes: 0,
            shrink_threshold_bytes: 0,
        }
    }
}

impl Geometry {
    /// No limits, and the engine's choices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`Geometry::lower_limit_bytes`](field@Self::lower_limit_bytes).
    #[must_use]
    pub fn lower_limit_bytes(mut self, bytes: u64) -> Self {
        self.lower_limit_bytes = bytes;
        self
    }

    /// Sets [`Geometry::upper_limit_bytes`](field@Self::upper_limit_bytes).
    #[must_use]
    pub fn upper_limit_bytes(mut self, bytes: u64) -> Self {
        self.upper_limit_bytes = bytes;
        self
    }

    /// Sets [`Geometry::growth_step_bytes`](field@Self::growth_step_bytes).
    #[must_use]
    pub fn growth_step_bytes(mut self, bytes: u64) -> Self {
        self.growth_step_bytes = bytes;
        self
    }

    /// Sets [`Geometry::shrink_threshold_bytes`](field@Self::shrink_threshold_bytes).
    #[must_use]
    pub fn shrink_threshold_bytes(mut self, bytes: u64) -> Self {
        self.shrink_threshold_bytes = bytes;
        self
    }

    /// The least threshold that the engine chooses.
    const SHRINK_THRESHOLD_MIN_BYTES: u64 = 1 << 20;
    /// The growth step of files that are not small.
    const LARGE_STEP_BYTES: u64 = 2 << 20;

    pub(crate) fn is_possible(&self) -> bool {
        self.lower_limit_bytes <= self.upper_limit_bytes
    }

    /// The threshold that the engine chooses: more than a growth step, so that it does not undo
    /// growth.
    fn shrink_threshold_of_choice(&self, bytes: u64) -> u64 {
        let step = match bytes {
            0..0x80_0000 => 0,
            _ => Self::LARGE_STEP_BYTES,
        };
        let step = step.max(self.growth_step_bytes.min(u64::MAX / 2));
        (step + step / 2)
            .max(bytes / 8)
            .max(Self::SHRINK_THRESHOLD_MIN_BYTES)
    }

    /// The new length of a file of `bytes` whose last `free` bytes are free; `None` to keep it.
    pub(crate) fn shrunk(&self, bytes: u64, free: u64) -> Option<u64> {
        let threshold = match self.shrink_threshold_bytes {
            0 => self.shrink_threshold_of_choice(bytes),
            asked => asked,
        };
        let kept = (bytes - free).saturating_add(threshold / 2);
        let kept = kept.max(self.lower_limit_bytes);
        (free >= threshold && kept < bytes).then_some(kept)
    }
}

/// The length of what follows a large value whose pages reserve bytes: if they are encrypted, a MAC
/// for each chunk of 4 KiB, the number of the key, the birth, and a part of the nonce.
pub(crate) const fn value_trailer_len(len_bytes: u64) -> u64 {
    const CHUNK_LEN: u64 = 4096;
    const MAC_LEN: u64 = 16;
    const NONCE_LEN: u64 = 24;
    len_bytes.div_ceil(CHUNK_LEN) * MAC_LEN + NONCE_LEN
}
