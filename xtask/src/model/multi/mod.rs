//! Tables in which a key has several values: their model, and the operations on both.

pub(super) mod changes;
pub(super) mod draw;
pub(super) mod oracle;
pub(super) mod reads;
pub(super) use teak::{MultiTable, codec::Raw};

/// A table of the engine as the model uses it.
pub(super) type RawMultiTable = MultiTable<Raw, Raw>;
