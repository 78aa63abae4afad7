//! The result of a check.

use crate::PageNumber;
use std::ops::ControlFlow;

/// The use of a page of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PageUse {
    /// A commit record.
    Record,
    /// Free.
    Free,
    /// Dead, but a snapshot may still use it.
    Pending,
    /// Separators and children of a table or of the catalog.
    Inner,
    /// Records of a table or of the catalog.
    Leaf,
    /// A large value.
    Value,
    /// Part of the free-space map.
    SpaceMap,
    /// Part of the journal.
    Journal,
    /// No page that this version can read refers to it, and the free-space map does not list it as
    /// free.
    Unreachable,
}

/// A damage found in the database.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// The damaged page, if it is a particular page.
    pub page: Option<PageNumber>,
    /// The table that it belongs to; `None` for the catalog and the free-space map.
    pub table: Option<Vec<u8>>,
    /// The range of unreliable keys: from the first one on, and before the second.
    pub key_range: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// Description of the damage.
    pub detail: String,
}

/// Progress of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckProgress {
    /// Pages checked so far.
    pub pages_done: u64,
    /// Pages of the file.
    pub pages_total: u64,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Pages of the file.
    pub pages: u64,
    /// Number of checked tables.
    pub tables: u64,
    /// Number of records in all tables.
    pub records: u64,
    /// Names of tables that a newer version created, and that only such a version can check. Pages
    /// with no other use are assumed to belong to them.
    pub unknown_tables: Vec<Vec<u8>>,
    /// Names of tables whose comparison is missing, because the database was opened without it.
    /// Everything except the order of their keys was checked.
    pub unordered_tables: Vec<Vec<u8>>,
    /// The damages, in the order in which they were found.
    pub damages: Vec<Damage>,
    /// Number of further damages: only the first 10,000 are listed.
    pub more_damages: u64,
}

impl CheckReport {
    /// Whether no damage was found in what could be checked.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty()
    }
}

/// The progress callback of a check. It may end the check.
pub(crate) type CheckProgressFn<'t> = dyn FnMut(CheckProgress) -> ControlFlow<()> + 't;
