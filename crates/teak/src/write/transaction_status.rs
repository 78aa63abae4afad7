//! How far a write transaction is, and what kind of transaction it is.

/// What may still be done with a write transaction, and how it commits.
///
/// Invariant: after `is_broken` nothing is left but rolling back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TransactionStatus {
    /// Whether it commits also if nothing has changed, and cuts off all that is free.
    pub(crate) is_compacting: bool,
    /// Whether somebody reads the state that it makes from the moment on that the turn ends.
    pub(crate) stays: bool,
    /// Whether an error came in the middle of a change.
    pub(crate) is_broken: bool,
    pub(crate) is_ended: bool,
}
