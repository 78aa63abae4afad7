//! The position of a detached cursor among the records of its table.

/// The position of a cursor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum CursorPosition {
    #[default]
    Unset,
    BeforeFirst,
    /// At its key, or its pair.
    At,
    AfterLast,
}
