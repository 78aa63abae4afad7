//! How far an import is, on terminals.

use super::plan::{ImportPlan, PlannedTable};
use crate::output::table_name;
use indicatif::{ProgressBar, ProgressStyle};

/// Records between two updates of the bar.
const INTERVAL: u64 = 10_000;

/// A progress bar for copying, then checking, then comparing. Dropping this removes it.
pub(super) struct ImportProgress {
    bar: ProgressBar,
    records: u64,
}

impl ImportProgress {
    pub(super) fn new(plan: &ImportPlan) -> Self {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} %, {eta} left");
        let bar = ProgressBar::new(plan.records());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            records: plan.records(),
        }
    }

    /// Begins to copy or compare records.
    pub(super) fn begin_records(&self) {
        self.bar.reset();
        self.bar.set_length(self.records);
    }

    /// Says which table it is at.
    pub(super) fn begin_table(&self, description: &'static str, item: &PlannedTable) {
        self.bar
            .set_message(format!("{description} \"{}\"", table_name(&item.name)));
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
