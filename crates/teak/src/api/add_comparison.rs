//! Registering a comparison while a database is open.

use super::Database;
use crate::{Comparison, Error, Result, page::comparison::COMPARISON_NAME_MAX};

impl Database {
    /// Registers a comparison for every handle to this database in this process. Tables in its
    /// order can be opened and created from then on. Returns `false`, and changes nothing, if a
    /// comparison of this name is already registered.
    /// [`Options::comparison`](crate::Options::comparison) lists the rules for comparisons.
    ///
    /// ```
    /// use teak::{Comparison, Database, KeyOrder, TableDef, TableOptions};
    ///
    /// static BY_LENGTH: Comparison =
    ///     Comparison::new("length, then bytes", &|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("x.teak");
    /// let database = Database::open(&path)?;
    /// assert!(database.add_comparison(&BY_LENGTH)?);
    /// let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().order(KeyOrder::Custom(&BY_LENGTH));
    /// let trees = TableDef::<&str, u64>::new("trees").options(options).create(&mut txn)?;
    /// trees.insert_many(&mut txn, &[("acacia", 1), ("oak", 2)])?;
    /// assert_eq!(trees.first(&txn)?, Some(("oak".into(), 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the name does not have 1 to 64 bytes, or if the database has
    /// been closed.
    pub fn add_comparison(&self, comparison: &'static Comparison) -> Result<bool> {
        let len = comparison.name().len();
        if !(1..=COMPARISON_NAME_MAX).contains(&len) {
            let text =
                format!("the name of a comparison has 1 to {COMPARISON_NAME_MAX} bytes, not {len}");
            return Err(Error::InvalidArgument(text));
        }
        let newest = self.opening.readable()?.begin_read()?;
        Ok(newest.comparisons().add(comparison))
    }
}
