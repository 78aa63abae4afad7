//! The newtypes of what stands on disk: no bare integer crosses a module as a page number or a
//! transaction id.

use std::fmt;

/// The number of a page: its offset in the file divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageNumber(pub u32);

/// The id of a transaction. The empty database is transaction 0, the first commit is 1, and each
/// commit that changed something is one more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransactionId(pub u64);

/// The 64-bit XXH3 of a page (or of a large value), kept where the page is pointed to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Checksum(pub u64);

/// Pages in a row: `start` and the `len - 1` pages behind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// The first page.
    pub start: PageNumber,
    /// How many pages.
    pub len: u32,
}

impl PageNumber {
    /// The index of this page in arrays that have an element for each page.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl TransactionId {
    /// The id that the next commit will have. (Those in a file are below 2^63, so there is one; the
    /// greatest number that this type can hold has none, and stays as it is.)
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

    /// The page behind the last one, as a `u64`, since a run may end where page numbers do.
    pub(crate) fn end(self) -> u64 {
        u64::from(self.start.0) + u64::from(self.len)
    }

    /// Whether extents are sorted and share no page.
    pub(crate) fn are_apart(extents: &[Self]) -> bool {
        extents.is_sorted_by(|a, b| a.end() <= u64::from(b.start.0))
    }

    /// The pages of the run, in order.
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

/// How long the file may be, and how it grows and shrinks; all in bytes, taken in whole pages. It is kept in the file.
///
/// ```
/// use teak::{Geometry, Options};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("coins.teak");
/// let geometry = Geometry {
///     lower_limit_bytes: 1 << 20,
///     upper_limit_bytes: 8 << 30,
///     ..Geometry::default()
/// };
/// let database = Options::new().geometry(geometry).open(&path)?;
/// assert_eq!(database.geometry()?, geometry);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Geometry {
    /// The file does not become shorter than this, and the first commit that needs space makes it this long.
    pub lower_limit_bytes: u64,
    /// Nor longer: what does not fit is [`Error::Full`](crate::Error::Full). `u64::MAX` for no limit.
    pub upper_limit_bytes: u64,
    /// What the file grows by, or more if a commit needs it. 0 is the engine's choice, which follows from the size.
    pub growth_step_bytes: u64,
    /// What has to be free at the end of the file before a commit cuts it off, down to half of this. 0 is the engine's
    /// choice: an eighth of the file, and more than it grows by. `u64::MAX` for never.
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
    /// The engine's choice of what has to be free, at least.
    const SHRINK_THRESHOLD_MIN_BYTES: u64 = 1 << 20;
    /// What files that are not small grow by.
    const LARGE_STEP_BYTES: u64 = 2 << 20;

    pub(crate) fn is_possible(&self) -> bool {
        self.lower_limit_bytes <= self.upper_limit_bytes
    }

    /// What the engine chooses: more than it grows by, so that it does not undo that.
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

    /// How long a file of `bytes`, of which the last `free` are free, is to become; `None` if it stays as it is.
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
