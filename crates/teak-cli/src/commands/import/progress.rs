//! How far an import is, on terminals.

use super::plan::PlannedTable;
use crate::output::table_name;
use indicatif::{ProgressBar, ProgressStyle};

/// Records between two updates of the bar.
const INTERVAL: u64 = 10_000;

/// A progress bar for copying, then checking, then comparing. Dropping this removes it.
pub(super) struct ImportProgress {
    bar: ProgressBar,
    len: u64,
}

impl ImportProgress {
    /// The bar of a source with `len` records, or bytes if it does not know the number of records.
    pub(super) fn new(len: u64) -> Self {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
        let bar = ProgressBar::new(len);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, len }
    }

    /// Begins to copy or compare records.
    pub(super) fn begin_records(&self) {
        self.bar.reset();
        self.bar.set_length(self.len);
    }

    /// Says which table it is at.
    pub(super) fn begin_table(&self, description: &'static str, item: &PlannedTable) {
        self.bar
            .set_message(format!("{description} \"{}\"", table_name(&item.name)));
    }

    /// Says what is done with the bytes of the source.
    pub(super) fn begin_bytes(&self, description: &'static str) {
        self.begin_records();
        self.bar.set_message(description);
    }

    /// Shows how many bytes were read.
    pub(super) fn read(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Counts a record, of which there were `records` in this table before.
    pub(super) fn count(&self, records: u64) {
        if records % INTERVAL == INTERVAL - 1 {
            self.bar.inc(INTERVAL);
        }
    }

    /// Shows how many pages were checked.
    pub(super) fn checked(&self, pages: u64, of: u64) {
        self.bar.set_message("checking");
        self.bar.set_length(of);
        self.bar.set_position(pages);
    }
}

impl Drop for ImportProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
