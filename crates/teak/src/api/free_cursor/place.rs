//! The place of a free cursor among the records of its table.

/// Where a cursor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Place {
    #[default]
    Nowhere,
    BeforeFirst,
    /// At its key, or its pair.
    At,
    BehindLast,
}
