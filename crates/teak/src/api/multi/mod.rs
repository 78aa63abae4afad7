//! Tables in which a key has several values.

mod bulk;
mod copy;
mod count;
mod differences;
mod handle;
mod owned;
mod pair_check;
mod point;
mod range;
mod read;
mod write;

pub use differences::{PairDifference, PairDifferences};
pub use handle::MultiTable;
pub use owned::{OwnedPairs, OwnedValues};
pub use range::{Keys, Pairs, Values};
