//! The place of a detached cursor among the records of its table.

/// Where a cursor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum CursorPosition {
    #[default]
    Unset,
    BeforeFirst,
    /// At its key, or its pair.
    At,
    AfterLast,
}
