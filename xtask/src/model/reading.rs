//! Modes of reading records: the transaction, the order, the handle.

use fastrand::Rng;
use teak::{Table, codec::Raw};

/// A table of the engine as the model uses it.
pub(crate) type RawTable = Table<Raw, Raw>;

/// The transaction that an operation reads from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReadSource {
    /// The write transaction that is open.
    Write,
    /// A reader that has been open for a while.
    Reader(usize),
    /// A reader of the newest snapshot, made for this operation.
    Newest,
}

/// The order in which a range is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
    /// From both ends, taking turns by these bits.
    Both(u64),
}

impl Direction {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        [Self::Forwards, Self::Backwards, Self::Both(rng.u64(..))][rng.usize(0..3)]
    }

    pub(crate) fn is_forwards(self, step: usize) -> bool {
        match self {
            Self::Forwards => true,
            Self::Backwards => false,
            Self::Both(bits) => bits >> (step % 64) & 1 == 0,
        }
    }
}
