//! Page walks, and whether borrowed bytes lie in a changed page.

use super::{PageVisit, ReadTxn, WriteTxn};
use crate::{Result, admin::page_walk};
use std::ops::ControlFlow;

impl ReadTxn {
    /// Passes every page of every table to `visit`, the catalog first and each page before its
    /// children, until it returns [`ControlFlow::Break`]. Reads all of these pages.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use teak::{Database, PageUse};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// txn.commit()?;
    /// let mut records = 0;
    /// database.begin_read()?.walk_pages(&mut |page| {
    ///     if page.table == Some(b"words") && page.page_use == PageUse::Leaf {
    ///         records += page.entries;
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(records, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`](crate::Error::Corrupted) with the first damaged page; all readable
    /// pages were visited then.
    pub fn walk_pages(
        &self,
        visit: &mut dyn FnMut(PageVisit<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.refuse_cancelled()?;
        page_walk::walk_pages(self.snapshot()?, visit)
    }
}

impl WriteTxn {
    /// Whether bytes that were read in this transaction, a value or a part of one, lie in a page
    /// that the transaction has written. The next change may then modify them in place, so copy
    /// them to keep them longer. Bytes from elsewhere never lie in such a page.
    ///
    /// ```
    /// # use teak::{Database, codec::Bytes};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, Bytes>("words")?;
    /// words.insert(&mut txn, "ash", b"a tree")?;
    /// assert!(txn.is_changed(words.get(&txn, "ash")?.unwrap()));
    /// txn.commit()?;
    /// let txn = database.begin_write()?;
    /// assert!(!txn.is_changed(words.get(&txn, "ash")?.unwrap()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_changed(&self, bytes: &[u8]) -> bool {
        self.has_stored(bytes)
    }
}
