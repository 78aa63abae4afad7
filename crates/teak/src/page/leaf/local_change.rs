//! In-place changes of a page: the end at which they insert, and their outcome.

/// The outcome of an attempt to insert into a leaf in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LocalChange {
    /// Done.
    Done,
    /// There is no room, or the key does not have the page's prefix: the page must be rebuilt.
    Rebuild,
}

/// An end of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LeafEnd {
    /// Before the first record.
    Before,
    /// After the last one.
    After,
}
