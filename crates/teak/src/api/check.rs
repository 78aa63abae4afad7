//! The check of a database, and what each of its pages is used for.

use super::{CheckProgress, CheckReport, Database, PageUse};
use crate::{
    Error, PageNumber, Result,
    admin::{check, page_usage},
    btree::PageSource,
};
use std::{io, ops::ControlFlow};

impl Database {
    /// Checks everything that the newest commit holds: the checksum of each page, key order,
    /// reachability, double use, and the free-space map. Readers and the writer continue meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the database has been closed; [`Error::Cancelled`] if
    /// `progress` breaks; [`Error::SnapshotLost`] if the reader of this check is cancelled;
    /// [`Error::Io`] if a function that reads the file failed. Damage is not an error; it is in the
    /// report.
    pub fn check(
        &self,
        progress: &mut dyn FnMut(CheckProgress) -> ControlFlow<()>,
    ) -> Result<CheckReport> {
        let (state, named, faults) = self.opening.readable()?.begin_read_sound()?;
        let failed_reads = state.mapping.failed_reads();
        let mut ending = Error::cancelled("checking the database").at(self.path());
        let report = check::check(&state, (&named, &faults), &mut |done| match state
            .hold()
            .refuse_cancelled()
        {
            Ok(()) => progress(done),
            Err(lost) => {
                ending = lost;
                ControlFlow::Break(())
            }
        });
        if state.mapping.failed_reads() != failed_reads {
            let text = "a part of the file could not be read; check it again";
            return Err(Error::io("checking the database")(io::Error::other(text)));
        }
        report.ok_or(ending)
    }

    /// Returns what each page of the file is used for.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if the free-space map cannot be read.
    pub fn page_kinds(&self) -> Result<Vec<PageUse>> {
        page_usage::page_uses(&*self.opening.readable()?.begin_read()?)
    }

    /// Describes a page as text of many lines.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such page.
    pub fn describe_page(&self, page: PageNumber) -> Result<String> {
        let snapshot = self.opening.readable()?.begin_read()?;
        if u64::from(page.0) >= snapshot.page_count() {
            let count = snapshot.page_count();
            let text = format!(
                "there is no page {page}; the pages of this database are 0 to {}",
                count - 1
            );
            return Err(Error::InvalidArgument(text));
        }
        page_usage::describe(&snapshot, page)
    }
}
