//! Comparisons that come when a database is open already.

use super::Database;
use crate::{Comparison, Error, Result, page::comparison::COMPARISON_NAME_MAX};

impl Database {
    /// Brings a comparison after the database was opened, for all that have it open in this process: from then on tables in its
    /// order can be opened and made. Says `false`, and changes nothing, if there is one of this name already.
    /// [`Options::comparison`](crate::Options::comparison) says what a comparison has to be.
    ///
    /// ```
    /// use teak::{Comparison, Database, KeyOrder, TableOptions, codec::{Str, U64}};
    ///
    /// static BY_LENGTH: Comparison =
    ///     Comparison::new("length, then bytes", &|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("x.teak");
    /// let database = Database::open(&path)?;
    /// assert!(database.add_comparison(&BY_LENGTH)?);
    /// let mut txn = database.begin_write()?;
    /// let options = TableOptions::new().order(KeyOrder::Custom(&BY_LENGTH));
    /// let trees = txn.create_table_with::<Str, U64>("trees", options)?;
    /// trees.insert_many(&mut txn, &[("acacia", 1), ("oak", 2)])?;
    /// assert_eq!(trees.first(&txn)?, Some(("oak".to_owned(), 2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if its name does not have 1 to 64 bytes, or the database has been closed.
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
