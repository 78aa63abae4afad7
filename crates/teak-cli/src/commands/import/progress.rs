//! How far an import is, on terminals.

use super::plan::{Item, Plan};
use crate::output::table_name;
use indicatif::{ProgressBar, ProgressStyle};

/// Records between two looks at the bar.
const INTERVAL: u64 = 10_000;

/// A bar: what was copied, then what was checked, then what was compared. It goes with this.
pub(super) struct Progress {
    bar: ProgressBar,
    records: u64,
}

impl Progress {
    pub(super) fn new(plan: &Plan) -> Self {
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
    pub(super) fn begin_table(&self, what: &'static str, item: &Item) {
        self.bar
            .set_message(format!("{what} \"{}\"", table_name(&item.name)));
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
