//! Bounds of ranges.

#[cfg(doc)]
use super::Table;
use super::codec::EncodeAs;
use crate::{Error, Result, btree::multi::range_parts::OwnedPairBound};
use std::{
    convert::Infallible,
    ops::{self, Bound, RangeBounds},
    sync::Arc,
};

/// The bounds of a [`Range`](crate::Range) of a table: `..`, a range of the standard library, or a
/// tuple of two [`Bound`]s. The bounds may have any type that the codec of the keys encodes: see
/// [`EncodeAs`](crate::codec::EncodeAs).
///
/// ```
/// # use teak::{Database, codec::Bytes};
/// # use std::ops::Bound::{Excluded, Unbounded};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// # let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, u64>("words")?;
/// let last = String::from("oak");
/// words.range("elm"..);
/// words.range("ash".to_owned()..=last.clone());
/// words.range(..&last);
/// words.range((Excluded("ash"), Unbounded));
///
/// let blobs = txn.create_table::<Bytes, u64>("blobs")?;
/// blobs.range(b"a"..b"c");
/// blobs.range(vec![1, 2]..);
///
/// let squares = txn.create_table::<u64, u64>("squares")?;
/// squares.range(5..=7);
///
/// let points = txn.create_table::<(u32, &str), ()>("points")?;
/// points.range((1, "a")..(2, "b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The type of the bounds must be known. So neither a `K::Item` of generic code nor an
/// `impl RangeBounds` that is passed on compiles, nor `..` as a range of pairs, which is
/// `table.range(..)`. [`Table::range_encoded`] takes encoded bounds, in generic code too.
pub trait Bounds {
    /// The type of both bounds.
    type Of;

    /// The lower bound.
    fn low(&self) -> Bound<&Self::Of>;

    /// The upper bound.
    fn high(&self) -> Bound<&Self::Of>;
}

impl Bounds for ops::RangeFull {
    type Of = Infallible;

    fn low(&self) -> Bound<&Infallible> {
        Bound::Unbounded
    }

    fn high(&self) -> Bound<&Infallible> {
        Bound::Unbounded
    }
}

macro_rules! bounds {
    ($($range:ty),*) => {$(
        impl<B> Bounds for $range {
            type Of = B;

            fn low(&self) -> Bound<&B> {
                RangeBounds::<B>::start_bound(self)
            }

            fn high(&self) -> Bound<&B> {
                RangeBounds::<B>::end_bound(self)
            }
        }
    )*};
}

bounds!(
    ops::Range<B>,
    ops::RangeInclusive<B>,
    ops::RangeFrom<B>,
    ops::RangeTo<B>,
    ops::RangeToInclusive<B>,
    (Bound<B>, Bound<B>)
);

/// The encoding of an end of a range.
pub(super) fn bytes_of<C, T: EncodeAs<C>>(item: &T) -> Result<Vec<u8>> {
    Ok(item.encode_as()?.as_ref().to_vec())
}

/// Encodes a bound.
pub(super) fn encode_bound<T>(
    bound: Bound<&T>,
    encode: impl Fn(&T) -> Result<(Vec<u8>, Option<Vec<u8>>)>,
) -> Result<OwnedPairBound> {
    Ok(match bound {
        Bound::Included(item) => Bound::Included(encode(item)?),
        Bound::Excluded(item) => Bound::Excluded(encode(item)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// How a range was made.
#[derive(Clone)]
pub(super) enum RangeOrigin {
    Bounds,
    /// From a prefix, which makes sense only in byte order.
    Prefix,
    /// From a bound that could not be encoded.
    Failed(Arc<Error>),
}

/// Returns the first key after all those that begin with `prefix`; `None` if there is none.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
