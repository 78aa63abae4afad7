//! Estimates, and the requirement of tables that count their records.

use crate::{
    Error, Result,
    btree::{TreeRoot, estimate},
    read::catalog,
};

/// The estimated number of records in a range; see
/// [`Range::estimate`](crate::Range::estimate).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// The estimate.
    pub records: u64,
    /// Lower bound, whatever the unread pages hold.
    pub at_least: u64,
    /// Upper bound, whatever the unread pages hold.
    pub at_most: u64,
    /// The standard deviation of the estimate, derived from how much the pages that were read
    /// differ. 0 if the estimate is exact.
    pub deviation: u64,
}

impl Estimate {
    /// Whether [`Estimate::records`] is exact.
    ///
    /// ```
    /// # use teak::Database;
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let squares = txn.create_table::<u64, u64>("squares")?;
    /// squares.insert_many(&mut txn, &[(1, 1), (2, 4), (3, 9)])?;
    /// assert!(squares.range(2..).estimate(&txn)?.is_exact());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.at_least == self.at_most
    }
}

impl From<estimate::RecordEstimate> for Estimate {
    fn from(about: estimate::RecordEstimate) -> Self {
        Self {
            records: about.records,
            at_least: about.at_least,
            at_most: about.at_most,
            deviation: about.deviation,
        }
    }
}

/// Refuses a table that is not counted, where the answer would take a walk through all records
/// before a position.
pub(super) fn check_counted(root: &TreeRoot, name: &[u8]) -> Result<()> {
    if root.counted {
        return Ok(());
    }
    let name = catalog::printable(name);
    Err(Error::InvalidArgument(format!(
        "table {name:?} does not count its records; create it with TableOptions::counted, or use Range::count, which reads all leaves of the range, or Range::estimate"
    )))
}
