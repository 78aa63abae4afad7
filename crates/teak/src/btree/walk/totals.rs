//! The totals of a walk.

/// The totals below a page: its own, and the number of records, if that is certain.
pub(crate) type SubtreeTotals = (Totals, Option<u64>);

/// The totals of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) records: u64,
    pub(crate) inner_pages: u64,
    pub(crate) leaf_pages: u64,
    pub(crate) value_pages: u64,
    /// Bytes of keys and values.
    pub(crate) data_bytes: u64,
}

impl Totals {
    /// Adds a large value. Its length may be forged, as may those of all others.
    pub(crate) fn add_value(&mut self, pages: u32, len_bytes: u64) {
        self.value_pages = self.value_pages.saturating_add(pages.into());
        self.add_data(len_bytes);
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self {
            records,
            inner_pages,
            leaf_pages,
            value_pages,
            data_bytes,
        } = other;
        self.records = self.records.saturating_add(records);
        self.inner_pages = self.inner_pages.saturating_add(inner_pages);
        self.leaf_pages = self.leaf_pages.saturating_add(leaf_pages);
        self.value_pages = self.value_pages.saturating_add(value_pages);
        self.add_data(data_bytes);
    }

    pub(super) fn add_data(&mut self, len_bytes: u64) {
        self.data_bytes = self.data_bytes.saturating_add(len_bytes);
    }
}
